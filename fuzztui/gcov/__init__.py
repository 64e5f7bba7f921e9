"""Lines of C targets: a build for gcov, and which queue entries cover which lines first."""
