"""Lines of C targets: a build for gcov, and the first and smallest queue entry of each line."""
