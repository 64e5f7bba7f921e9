"""Campaigns on several machines: hosts that are reached by ssh."""
