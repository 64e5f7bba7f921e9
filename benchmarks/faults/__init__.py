"""Faults that are injected into real campaigns, and the checks of what they leave (``chaos.py``).

``campaigns`` has the campaigns, ``inject`` the faults, ``series`` runs both round by round.
``fold`` reads the campaign log and ``invariants`` compares it with everything else. These two
import nothing of fuzztui: a bug in the product's reader must not hide behind itself.
"""
