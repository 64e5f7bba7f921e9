"""The Targets screen."""
