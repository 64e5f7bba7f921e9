"""Record outcomes of inputs as Python literals, and confirm that exported tests kill mutants."""
