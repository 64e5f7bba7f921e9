"""Exchanging queue entries with other runs through a plain directory (docs/sync.md).

``names``: names in that directory, which are untrusted. ``queues``: writing a queue, of this run in
the directory or of a peer in ``out/``. ``peers``: reading what others have written. ``exchange``:
one pass.
"""
