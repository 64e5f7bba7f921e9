"""The control socket: one supervisor, any number of clients that steer the campaign."""
