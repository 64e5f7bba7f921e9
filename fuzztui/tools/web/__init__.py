"""The screens of a run in a browser: who gets in, the server, its page."""
