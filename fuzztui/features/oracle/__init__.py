"""The program oracle: ``[oracle]`` of an AFL++ campaign finds bugs besides crashes and hangs."""
