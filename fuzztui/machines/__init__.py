"""Campaigns on several machines: hosts, synchronised corpora, merged runs."""
