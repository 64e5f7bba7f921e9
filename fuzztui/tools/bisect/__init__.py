"""``fuzztui bisect``: git's bisect of a repository, in a worktree of its own."""
