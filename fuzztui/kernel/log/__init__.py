"""The campaign log on disk: one writer, any number of readers, a rebuildable cache.

``log/`` of a run holds ``campaign.jsonl.gz`` (sealed gzip members, see
:mod:`~fuzztui.kernel.log.blocks`), one or a few ``tail-<first seq>.jsonl`` (plain lines,
being written or about to be sealed) and ``checkpoints.gz``.

Readers need no lock because of the order of steps: a sealed member is complete and
on the disk before its tail is unlinked, and a reader lists the tails before it looks
for new members. So a record that is not in a tail is in a member. Each line becomes
visible as a whole, with its newline.
"""
