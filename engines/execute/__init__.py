"""Execute one input: executor, fixture, guard, resource limits, and forked children."""
