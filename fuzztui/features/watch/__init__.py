"""Watch campaigns that someone else runs: any AFL or AFL++ output directory, read only.

Nothing below such a directory is ever written, or kept locked.
"""
