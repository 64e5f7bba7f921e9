"""What makes any campaign run: its file, the supervisor, instances, and what watches them."""
