"""The screens of no single feature: Overview, Log and Home."""
