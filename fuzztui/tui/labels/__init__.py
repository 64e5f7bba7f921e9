"""How screens name, describe and summarise what a campaign consists of. Pure, no widgets."""
