"""``fuzztui adopt``: take a fleet of afl-fuzz that was started by hand under supervision."""
