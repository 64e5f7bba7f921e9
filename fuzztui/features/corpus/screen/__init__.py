"""The Corpus screen: every entry, its lineage and bytes."""
