"""Findings: failures and their signatures, the message oracle and the differential oracle."""
