"""mu2: mutation analysis in the fuzzing loop (Laybourn et al., ICSE 2023)."""
