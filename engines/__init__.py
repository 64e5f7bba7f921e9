"""In-process engines: they run under the interpreter of the project under test.

Standard library only, and nothing of fuzztui but the wire. Started as
``python -P -m fuzztui.engines SPEC.json`` (engines/README.md).
"""
