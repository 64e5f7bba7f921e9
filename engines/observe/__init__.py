"""Which types un-annotated parameters have when a target runs (docs/targets.md, "Annotations")."""
