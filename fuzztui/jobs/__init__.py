"""Bags of jobs on a place: local slots, or the workers of a dask.distributed cluster.

A *job* is a command that runs under a guard process and prints JSON lines; the last one is its
result. The *queue* of a bag is ours, and journalled on disk; a place only holds what runs
(docs/cluster.md).
"""
