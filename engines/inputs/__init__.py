"""Inputs: forms, choices, constants, dictionaries, comparison shapes, and the reducer."""
