"""The keys of campaign files for others: docs/campaign.md, and JSON schemas."""
