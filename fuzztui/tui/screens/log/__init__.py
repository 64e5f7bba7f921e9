"""The Log screen: every record of the campaign."""
