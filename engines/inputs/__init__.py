"""Inputs and how they are made: choices, constants, dictionaries, reduction."""
