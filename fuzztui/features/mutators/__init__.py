"""The fragment pool for splicing, updated while a campaign with text mutators runs."""
