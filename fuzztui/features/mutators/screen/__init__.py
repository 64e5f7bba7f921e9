"""The Mutators screen: text mutators and their mixture."""
