"""The figures of a campaign for other programs: JSON, and the text format of Prometheus."""
