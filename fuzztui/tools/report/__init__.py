"""Reports: what a run has done, or several side by side, as a page for others to read.

:mod:`.parts` is what a page is made of; :mod:`.html`, :mod:`.markdown` and :mod:`.plain` write it.
"""
