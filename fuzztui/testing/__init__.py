"""For tests: replay a corpus with pytest, and make a generator's input again from its choices."""

from fuzztui.testing.made import made

__all__ = ["made"]
