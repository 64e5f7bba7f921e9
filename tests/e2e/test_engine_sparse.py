"""Runs with and without the probes of covered cells: the same trials, kept for the same reasons."""

import shutil
import sys
from typing import Any

import pytest
from engine_lab import Lab, events, stats, timeless

pytestmark = pytest.mark.slow

ALL_PROBES = sys.maxsize
FEW_TRIALS = 150
"""Trials before the first units are compiled: of a run of 3,000, five times."""
COUNTED = ("edges_found", "edges_valid", "corpus_variable", "var_byte_count", "valid_inputs",
           "invalid_inputs", "failed_inputs", "cycles_done", "max_depth")  # fmt: skip

INI = """
import configparser, io
def read(text: str):
    parser = configparser.ConfigParser()
    parser.read_file(io.StringIO(text))
    return {name: dict(parser[name]) for name in parser}
"""
HTML = """
import html.parser
def parse(text: str):
    found = []
    class Seen(html.parser.HTMLParser):
        def handle_starttag(self, tag, attrs): found.append((tag, attrs))
        def handle_data(self, data): found.append(data)
    parser = Seen()
    parser.feed(text)
    parser.close()
    return found
"""
REMEMBERS = """
import functools
_CACHE, _made = {}, []
def run(data: bytes):
    key = bytes(data[:2])
    if key not in _CACHE:
        if len(_CACHE) > 40:
            _CACHE.clear()
        _CACHE[key] = parse(key)
    if not _made or len(data) > 12:
        _made[:] = [maker(len(data))]
    return _CACHE[key], _made[0](data), depth(sum(data[:3]) % 7)
def parse(key):
    if key[:1] == b"{":
        return "open" if key[1:] == b"}" else "half"
    return [c for c in key if c > 100]
def maker(n):
    def inner(data):
        if n > 14 and data[:1] == b"[":
            raise ValueError
        return n if len(data) > n else (data[-1:] > b"m" and n + 1)
    return inner
@functools.lru_cache(maxsize=4)
def depth(n):
    return 0 if n < 2 else 1 + depth(n - 1)
"""
GENERATOR = """
def generate(r):
    return "".join(r.choose(["[a]", "\\n", "x", "=", "1", '"', "{", "}", ",", "true", "# c", "."])
                   for _ in r.more(1, 40, continues=0.9))
"""
SUBJECTS: dict[str, dict[str, Any]] = {
    "toml": {"function": "tomllib:loads", "target": {"expected": ["tomllib.TOMLDecodeError"]}},
    "generated": {"function": "tomllib:loads", "target": {"expected": ["tomllib.TOMLDecodeError"]}},
    "ini": {
        "function": "ini:read",
        "target": {"include": ["configparser"], "expected": ["configparser.Error", "ValueError"]},
    },
    "html": {"function": "page:parse", "target": {"include": ["html", "_markupbase"]}},
    "remembers": {"function": "remembers:run", "target": {"expected": ["ValueError"]}},
}


@pytest.fixture
def lab(lab: Lab) -> Lab:
    for name, source in {"ini": INI, "page": HTML, "remembers": REMEMBERS}.items():
        lab.write(f"{name}.py", source)
    lab.write("gen.py", GENERATOR)
    return lab


def run(lab: Lab, subject: str, first: int, trials: list[int], **engine: Any) -> dict[str, Any]:
    """All that a run left. ``first``: trials before units are compiled without probes."""
    keys = SUBJECTS[subject]
    target = dict(keys["target"])
    if subject == "generated":
        target["generator"] = str(lab.src / "gen.py")
    for budget in trials:
        spec = lab.spec(
            keys["function"],
            budget_trials=budget,
            target=target,
            engine={"sparse_after": first, **engine},
        )
        assert lab.run(spec) == 0
    directory = spec.parent
    figures = stats(directory)
    shown = {
        e["id"]: (e["reasons"], e["edges"], e["outcome"], e.get("kills"))
        for e in events(directory, "entry_described")
    }
    found = {
        "queue": timeless(directory),
        "crashes": timeless(directory, "crashes"),
        "hangs": timeless(directory, "hangs"),
        "entries": shown,
        "figures": {key: figures[key] for key in COUNTED},
        "left": int(figures["probes_left"]) - int(figures["total_edges"]),
        "mutants": {
            (e["id"], e["killer"], e["trial"])
            for e in events(directory, "mutant_state")
            if e["state"] == "killed"
        },
    }
    shutil.rmtree(directory)
    return found


@pytest.mark.parametrize("subject", SUBJECTS)
def test_the_same_trials(lab: Lab, subject: str) -> None:
    sparse = run(lab, subject, FEW_TRIALS, [3_000])
    full = run(lab, subject, ALL_PROBES, [3_000])
    assert full.pop("left") == 0
    assert sparse.pop("left") < -10
    assert len(full["queue"]) > 5
    assert sparse == full


def test_the_same_trials_after_a_restart(lab: Lab) -> None:
    sparse = run(lab, "toml", FEW_TRIALS, [1_000, 3_000])
    full = run(lab, "toml", ALL_PROBES, [1_000, 3_000])
    assert sparse.pop("left") < full.pop("left")
    assert sparse == full


def test_the_same_trials_of_text(lab: Lab) -> None:
    (lab.src / "seeds").mkdir()
    (lab.src / "seeds" / "one.ini").write_text("[a]\nb = 1\nc : d\n  e\n[DEFAULT]\nx = %(y)s\n")
    engine = {"kind": "text", "seeds": [str(lab.src / "seeds")]}
    sparse = run(lab, "ini", FEW_TRIALS, [2_000], **engine)
    full = run(lab, "ini", ALL_PROBES, [2_000], **engine)
    assert sparse.pop("left") < full.pop("left")
    assert sparse == full


@pytest.mark.parametrize("schedule", ["adaptive", "full"])
def test_the_same_kills(lab: Lab, schedule: str) -> None:
    """Verdicts on mutants, their killers and trials; no mutant runs in a child process."""
    engine = {"kind": "mu2", "exact": False, "schedule": schedule}
    sparse = run(lab, "ini", FEW_TRIALS, [1_000], mutate=["configparser"], **engine)
    full = run(lab, "ini", ALL_PROBES, [1_000], mutate=["configparser"], **engine)
    assert sparse.pop("left") < full.pop("left") == 0
    assert len(full["mutants"]) > 20
    assert sparse == full


def test_counts_keep_all_probes(lab: Lab) -> None:
    found = run(lab, "toml", FEW_TRIALS, [1_000], coverage="counts")
    assert found["left"] == 0
