"""The Findings screen: crashes, hangs and differences, by signature."""
