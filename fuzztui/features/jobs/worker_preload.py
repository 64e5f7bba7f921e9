"""Loaded into Dask's workers (``--preload``): a worker that cannot close exits.

A worker that is ended in the moment in which its scheduler dies may wait in ``Worker.close`` for
ever (seen with distributed 2026.8): it would hold its slot, and would not be started again.
"""

from __future__ import annotations

import os
import threading
import time
from typing import Any, Final

CLOSING_S: Final = 20.0
"""Seconds that a worker may take to close."""
_LOOK_S: Final = 1.0
_CLOSING: Final = ("closing", "closing_gracefully", "closed", "failed", "stopping", "stopped")
_EXIT: Final = 75


def dask_setup(worker: Any) -> None:
    """Watch a worker; called by Dask when it starts."""
    threading.Thread(target=watch, args=(worker, os._exit), daemon=True).start()


def watch(worker: Any, leave: Any, closing_s: float = CLOSING_S, look_s: float = _LOOK_S) -> None:
    """Call ``leave`` once the worker has been closing for ``closing_s``."""
    since = 0.0
    while True:
        time.sleep(look_s)
        if getattr(worker.status, "name", "") not in _CLOSING:
            since = 0.0
        elif not since:
            since = time.monotonic()
        elif time.monotonic() - since > closing_s:
            leave(_EXIT)
            return
