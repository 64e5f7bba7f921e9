"""Reports: what a run has done, or several side by side, as a page for others to read.

A page is made of the parts of :mod:`fuzztui.kernel.base.page`; :mod:`.html`, :mod:`.markdown` and
:mod:`.plain` write it.
"""
