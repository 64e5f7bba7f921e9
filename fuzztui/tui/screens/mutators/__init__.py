"""The Operators screen: text mutators and their mixture."""
