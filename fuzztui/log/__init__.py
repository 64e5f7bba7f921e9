"""The campaign log on disk: one writer, any number of readers, a rebuildable cache.

``log/`` of a run holds ``campaign.jsonl.gz`` (sealed gzip members, see
:mod:`~fuzztui.log.blocks`), one or a few ``tail-<first seq>.jsonl`` (plain lines,
being written or about to be sealed) and ``checkpoints.gz``.

The order of steps is what makes a reader right without any lock: a sealed member
is complete and on the disk before its tail is unlinked, and a reader lists the
tails before it looks for new members. So whatever it does not find in a tail is
in a member. Lines become visible as a whole, with their newline.
"""
