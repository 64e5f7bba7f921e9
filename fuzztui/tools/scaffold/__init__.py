"""``fuzztui init``: what a project has to fuzz, and the files of its first campaign."""
