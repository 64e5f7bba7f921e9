"""What ``fuzztui ci`` keeps and reports: the kept corpus, and one outcome in several formats."""
