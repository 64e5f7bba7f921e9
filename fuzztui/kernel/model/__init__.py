"""The campaign's state as a pure fold over its log. No I/O, no clock, no random."""
