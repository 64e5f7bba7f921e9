"""Which code has changed: the lines of a diff, and the functions that they belong to.

``lines`` reads unified diffs, ``git`` asks git for one, ``code`` maps lines to functions.
"""
