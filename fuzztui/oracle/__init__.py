"""What is a bug beside crashes and hangs of a program: ``[oracle]`` of an AFL++ campaign."""
