"""A program that looks at clocks and random numbers in all the ways that a fixed clock covers."""

from __future__ import annotations

CLOCKED = '''
import datetime
import os
import random
import secrets
import threading
import time
import uuid
from datetime import date, datetime as Moment
from random import random as chance
from time import time as now

IMPORTED = now()
DRAWN = uuid.uuid4()


class Timer:
    clock = time.perf_counter

    def read(self, at=time.monotonic):
        return self.clock(), at()


def readings():
    """What each source shows, by its name."""
    found = {
        "import": (IMPORTED, DRAWN),
        "time": (now(), time.time_ns(), time.monotonic_ns(), time.process_time(), Timer().read()),
        "clock": (time.clock_gettime(time.CLOCK_REALTIME), time.clock_gettime_ns(1)),
        "text": (time.ctime(), time.asctime(), time.strftime("%c"), time.gmtime()),
        "now": (Moment.now(), Moment.utcnow(), Moment.today(), Moment.now(datetime.UTC)),
        "today": (date.today(), datetime.date.today()),
        "random": (chance(), random.randint(0, 9**9), random.Random().random()),
        "secrets": (secrets.token_hex(), random.SystemRandom().random(), os.urandom(9)),
        "uuid": (uuid.uuid1(), uuid.uuid4()),
    }
    began = time.monotonic()
    time.sleep(3600)
    found["slept"] = time.monotonic() - began
    random.seed()
    found["seeded"] = random.random()
    assert isinstance(found["now"][0], Moment) and type(found["now"][0]) is datetime.datetime
    assert not isinstance(found["today"][0], datetime.datetime)
    return found


def spin():
    """Wait for a moment, and for another thread."""
    until, done = time.time() + 0.01, threading.Event()
    while time.time() < until:
        pass
    threading.Timer(0.001, done.set).start()
    assert done.wait(60)


def run(text: str):
    if Moment.now().microsecond % 2:
        odd = True
    else:
        odd = False
    if chance() < 0.5:
        return len(text), odd, uuid.uuid4()
    return len(text) + 1, odd, now()
'''
"""``readings`` must run with a fixed clock: it sleeps for an hour."""
