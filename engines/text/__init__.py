"""text: fuzz programs that read text, with text mutators, fragments and havoc."""
