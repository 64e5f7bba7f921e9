"""What is drawn of an input, on the screens of entries and findings."""
