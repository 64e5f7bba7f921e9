"""Import the target with instrumentation: edges, loop fuel, third-party coverage."""
