"""Suites: campaigns with several properties (docs/suites.md).

``collect`` finds Hypothesis tests as pytest does, ``properties`` makes one target of many,
``examples`` saves failing inputs for Hypothesis.
"""
