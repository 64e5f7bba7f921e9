"""The control socket: one supervisor, any number of people steering it."""
