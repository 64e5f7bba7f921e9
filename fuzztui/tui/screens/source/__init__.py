"""The Source screen."""
