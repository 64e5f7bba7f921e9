"""Joining runs of one campaign, or scores of one program, into one (docs/merge.md).

``parts``: the runs, and whether they belong together. ``renaming``: an event as the merged log has
it. ``merged_log`` and ``merged_files`` write the merged run; ``scores`` joins what ``score --json``
has printed.
"""
