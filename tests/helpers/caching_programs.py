"""Programs that keep what they have made, in three ways: modules ``prog`` with ``parse(data)``."""

MEMO = '''
"""A decorator that remembers results."""
import functools


def memo(function):
    results = {}

    @functools.wraps(function)
    def remembering(*arguments):
        if arguments not in results:
            results[arguments] = function(*arguments)
        return results[arguments]

    return remembering


@memo
def rules(strict):
    found = {"open": "(", "close": ")"}
    if strict:
        found["digits"] = "0123456789"
    else:
        found["digits"] = "0123456789abcdef"
    return found


@memo
def depth(text):
    if not text:
        return 0
    here = 1 if text[0] == rules(True)["open"] else 0
    return here + depth(text[1:])


def parse(data):
    text = data.decode("latin-1")
    known = rules(len(text) > 3)
    return depth(text), [c in known["digits"] for c in text]
'''

TABLE = '''
"""A table that the first call fills, and counters in an object with slots."""
_squares = {}
_names = None


class Limits:
    __slots__ = ("high", "low")


_limits = Limits()


def _fill():
    for n in range(1, 20):
        _squares[n] = n * n
    _limits.low = 2
    _limits.high = _limits.low * 8


def name(n):
    global _names
    if _names is None:
        _names = [chr(n + 65) for n in range(26)]
    return _names[n % 26]


def parse(data):
    if not _squares:
        _fill()
    sizes = [min(max(c % 32, _limits.low), _limits.high) for c in data]
    return [_squares.get(s, -s) for s in sizes], name(len(data))
'''

SINGLETON = '''
"""An object that is made once, with closures in it and a class that is made by a function."""


class Registry:
    _one = None
    made = 0

    def __init__(self):
        self.handlers = {}
        self.seen = []
        Registry.made += 1

    @classmethod
    def one(cls):
        if cls._one is None:
            cls._one = cls()
            _register(cls._one)
        return cls._one


def _register(registry):
    offset = 3 + 4

    def shifted(c):
        return c + offset

    def folded(c):
        if c >= 97:
            return c - 32
        return c

    registry.handlers[0] = shifted
    registry.handlers[1] = folded
    registry.handlers[2] = _reader().read


def _reader():
    class Reader:
        step = 2 * 3

        def read(self, c):
            return c // self.step

    return Reader()


def parse(data):
    registry = Registry.one()
    for at, c in enumerate(data):
        if len(registry.seen) < 3:
            registry.seen.append(registry.handlers[at % 3](c))
    return registry.seen[:], registry.made
'''

ONCE = '''
"""Code that runs once in a process, because of an object that cannot be put back."""
import itertools

_calls = itertools.count()


def _check(n):
    if n * 3 != 6:
        raise LookupError("wrong")


def parse(data):
    if next(_calls) == 0:
        _check(2)
    return [c + 1 for c in data]
'''

USED_UP = '''
"""A list that can be put back, and an iterator that cannot: only together are they right."""
_todo = iter([3, 4])
_kept = []


def _twice(n):
    return n * 2


def parse(data):
    for n in _todo:
        _kept.append(_twice(n))
    return _kept[:], [c + 1 for c in data]
'''

CACHING = {"memo": MEMO, "table": TABLE, "singleton": SINGLETON, "once": ONCE, "used up": USED_UP}
INPUTS = (b"", b"a", b"((1", b"x(yz9)f", b"\x00\x10\x1f\x80\xff", b"Hello, (World) 42")
