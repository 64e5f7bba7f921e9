"""Campaigns that someone else runs: any AFL or AFL++ output directory, looked at only.

Nothing is ever written to, or kept locked, below such a directory.
"""
