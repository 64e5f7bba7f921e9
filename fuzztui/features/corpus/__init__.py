"""Corpus care: what each input covers and kills, which inputs are enough, why an entry is kept."""
