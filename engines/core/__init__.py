"""The parts that every in-process engine is made of."""
