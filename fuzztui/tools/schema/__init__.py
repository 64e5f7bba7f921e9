"""The keys of campaign files for others: docs/campaign.md, and the JSON schema for editors."""
