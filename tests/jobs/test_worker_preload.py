"""A worker that cannot close exits; others are left alone."""

import threading
import time
from types import SimpleNamespace

from fuzztui.jobs.worker_preload import watch


def worker(status):
    return SimpleNamespace(status=SimpleNamespace(name=status))


def test_a_worker_that_closes_for_ever_exits():
    left = []
    began = time.monotonic()
    watch(worker("closing"), left.append, closing_s=0.05, look_s=0.01)
    assert left == [75]
    assert time.monotonic() - began >= 0.05


def test_a_worker_that_runs_stays():
    left, one = [], worker("running")
    thread = threading.Thread(target=watch, args=(one, left.append, 0.05, 0.01), daemon=True)
    thread.start()
    thread.join(0.2)
    assert left == []
    one.status.name = "closed"
    thread.join(10)
    assert left == [75]
