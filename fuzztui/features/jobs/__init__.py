"""Bags of jobs on a place: local slots, or the workers of a dask.distributed cluster.

A *job* is a command that runs under a guard process and prints JSON lines; the last one is its
result. The *queue* of a bag is kept by this process, in a journal on disk; a place has only the
jobs that run (docs/cluster.md).
"""

from fuzztui.kernel.model.feature import Feature

FEATURE = Feature("jobs", table="fuzztui.features.jobs.config:TABLE")
