"""What surrounds every screen: header, footer, dialogs, actions and the way of a command."""
