"""Fragments for splicing: kept fresh while a campaign that mutates text runs."""
