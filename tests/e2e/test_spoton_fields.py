"""Goals that a field decides, in a running engine."""

import json
import re
from pathlib import Path

import pytest
from engine_lab import Lab, names, timeless
from spoton_lab import document, write_document

APP = """\
from dataclasses import dataclass


@dataclass
class Order:
    notes: list
    title: str
    count: int


def run(order: Order):
    if sum(map(ord, order.title)) % 31 == 7:
        if order.count * 7 % 61 == 5:
            return "both"
        return "title"
    return None
"""
GENERATORS = """\
from app import Order
from fuzztui.generators import Source, generator


def word(r):
    return r.text("abcdefgh", 1, 8)


@generator
def gen_order(r: Source) -> Order:
    title = word(r)
    return Order([word(r) for _ in r.more(5, 40)], title, count=r.below(1000))
"""
TITLE, COUNT = (APP[: APP.index(text)].count("\n") + 1 for text in ("if sum", "if order.count"))
TYPES = {TITLE: {"app.Order.title": 1}, COUNT: {"app.Order.count": 1}}


def ran(lab: Lab, directory: Path) -> Path:
    """Run an engine in a directory. Returns its ``spec.json``."""
    lab.write("app.py", APP)
    lab.write("gens.py", GENERATORS)
    file = write_document(lab.root / "targets.json", document("app", APP, TYPES))
    directory.mkdir(parents=True)
    keys = {"sync_dir": str(directory.parent), "dir": str(directory), "budget_trials": 1500}
    engine = {"kind": "spoton", "targets": str(file), "comparisons": False, "constants": False}
    spec = lab.spec("app:run", engine=engine, target={"generator": "gens:gen_order"}, **keys)
    lab.finish(spec)
    return spec


def parts(lab: Lab, spec: Path, file: Path) -> dict[str, str]:
    """The fields of the order that an entry makes."""
    status, said = lab.repro(spec, file)
    found = re.search(r"Order\(notes=(.*), title=(.*), count=(.*)\)", said)
    assert status == 0 and found, said
    return dict(zip(("notes", "title", "count"), found.groups(), strict=True))


@pytest.mark.slow
def test_mutations_of_a_field_change_no_other(lab: Lab) -> None:
    main = lab.root / "a" / "main"
    spec = ran(lab, main)
    types = json.loads((main / ".types").read_text())["types"]
    assert {n: row["misses"] for n, row in types.items()} == {
        "app.Order.title": 0,
        "app.Order.count": 0,
    }
    assert types["app.Order.title"]["new_arms"] > 0
    queue = names(main, "queue")
    changed = set()
    for name in queue:
        if typed := re.search(r"src:(\d+).*op:typed:app\.Order\.(\w+)", name):
            (parent,) = (n for n in queue if n.startswith(f"id:{typed[1]}"))
            before, after = (parts(lab, spec, main / "queue" / n) for n in (parent, name))
            assert {k for k in before if before[k] != after[k]} == {typed[2]}
            changed.add(typed[2])
    assert "title" in changed


@pytest.mark.slow
def test_fields_depend_on_no_hash_seed(lab: Lab) -> None:
    found = []
    for seed in ("1", "2"):
        lab.env["PYTHONHASHSEED"] = seed
        main = lab.root / seed / "main"
        ran(lab, main)
        found.append((timeless(main), json.loads((main / ".types").read_text())["types"]))
    assert len(found[0][0]) > 2
    assert found[0] == found[1]
