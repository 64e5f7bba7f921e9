"""The evaluation of text mutators: its compilers with harnesses and seeds, and its tables."""
