"""What commands do beside a campaign: its first file, reports, exports, results for CI."""
