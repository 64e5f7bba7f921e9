"""The spoton engine as a process: what it leaves, repeats, survives, and reaches sooner."""

import json
import re
import statistics
import sys
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, kill, names, reason, stats, timeless, worker_of
from spoton_lab import document, write_document
from waiting import DEADLINE_S, wait_until

APP = """\
import datetime
import os
import time
from dataclasses import dataclass


class Image:
    def __init__(self, pixels):
        self.pixels = pixels


@dataclass
class File:
    name: str
    image: Image
    created: datetime.date
    read: datetime.date
    modified: datetime.date


def year(file):
    return file.modified.year


def run(file: File):
    if os.environ.get("SLOW"):
        time.sleep(0.002)
    if year(file) == 2008:
        if file.modified.month == 7:
            return "july"
        return file.image.pixels
    return None
"""
GENERATORS = """\
import datetime
from app import File, Image
from fuzztui.generators import Source, generator


@generator
def gen_date(r: Source) -> datetime.date:
    return datetime.date(1900 + r.below(256), 1 + r.below(12), 1 + r.below(28))


@generator
def gen_image(r: Source) -> Image:
    return Image(r.bytes(PIXELS, each=True))


@generator
def gen_file(r: Source) -> File:
    name = r.text("abcdef", 1, 8)
    return File(name, gen_image(r), gen_date(r), gen_date(r), gen_date(r))
"""
YEAR, MONTH = (
    APP[: APP.index(text)].count("\n") + 1 for text in ("if year(file)", "if file.modified")
)
TYPES = {
    YEAR: {"datetime.date": 1, "app.File": 2},
    MONTH: {"datetime.date": 0, "app.File": 1},
}


def write(lab: Lab, pixels: int = 40, **more: Any) -> Path:
    lab.write("app.py", APP)
    lab.write("gens.py", GENERATORS.replace("PIXELS", str(pixels)))
    return write_document(lab.root / "targets.json", document("app", APP, TYPES, **more))


def spec(
    lab: Lab, file: Path | str, instance: str = "main", kind: str = "spoton", **top: Any
) -> Path:
    engine = {"kind": kind, "targets": str(file), **top.pop("engine", {})}
    target = {"generator": "gens:gen_file", **top.pop("target", {})}
    return lab.spec("app:run", instance, engine=engine, target=target, **top)


def ran(lab: Lab, file: Path, instance: str = "main", **top: Any) -> Path:
    """Run a campaign to its end. Returns its directory."""
    return lab.finish(spec(lab, file, instance, **top))


def repro(lab: Lab, file: Path) -> str:
    """What is printed when an input runs again and does not fail."""
    status, said = lab.repro(file.parent.parent / "spec.json", file)
    assert status == 0, said
    return said


def types(directory: Path) -> dict[str, Any]:
    found = json.loads((directory / ".types").read_text())
    assert isinstance(found, dict)
    return found


@pytest.mark.slow
def test_what_it_leaves(lab: Lab) -> None:
    main = ran(lab, write(lab), budget_trials=3000, engine={"third_party": True})
    assert execs(main) == 3000
    assert stats(main)["edges_third_party"] == "0"
    told = types(main)
    assert told["targets"] == 3  # the inner `if` tells of the outer one
    assert told["types"]["datetime.date"]["matches"] > 0
    assert told["asked"] == 3000 // 32
    assert told["uncovered"] == 0
    assert events(main, "instance_hello")[0]["engine"] == "spoton"
    first = main / "queue" / names(main, "queue")[-1]
    assert "input: File(name=" in repro(lab, first)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("generator", "made"),
    [("gen_image", "their choices make app.Image"), ("gen_text", "their choices have no type")],
)
def test_that_no_mutation_can_aim_is_told_once(lab: Lab, generator: str, made: str) -> None:
    file = write(lab)
    more = (
        f"{GENERATORS.replace('PIXELS', '9')}\n\ndef gen_text(r):\n    return r.text('ab', 1, 9)\n"
    )
    lab.write("gens.py", more)
    lab.write("harness.py", "import app\n\n\ndef target(thing):\n    app.year(app.File)\n")
    lab.write("app.py", APP)
    target = {"generator": f"gens:{generator}", "function": f"{lab.src}/harness.py:target"}
    target |= {"include": ["app"], "expected": ["AttributeError"]}

    def told(instance: str, trials: int) -> list[str]:
        said = lab.messages(ran(lab, file, instance, budget_trials=trials, target=target))
        return [text for text in said if "no mutation was directed at a type" in text]

    assert told("short", 499) == []
    (words,) = told("main", 500)
    assert f"type that decides (datetime.date and app.File); {made}: mutations are random" in words
    assert told("main", 700) == [words], "nor a second time after a restart"


@pytest.mark.slow
def test_that_mutations_aim_is_no_news(lab: Lab) -> None:
    main = ran(lab, write(lab), budget_trials=700)
    assert not [text for text in lab.messages(main) if "aimed" in text]


@pytest.mark.slow
def test_two_runs_are_one(lab: Lab) -> None:
    """By trials, whatever addresses and hashes are; constants among the choices."""
    constants = {"str": [{"value": "fade"}], "bytes": [], "int": [{"value": 2008}]}
    file = write(lab, constants=constants)
    for name, seed in (("a", "1"), ("b", "2")):
        place = lab.root / name
        (place / "main").mkdir(parents=True)
        lab.env["PYTHONHASHSEED"] = seed
        keys = {"sync_dir": str(place), "dir": str(place / "main")}
        ran(lab, file, budget_trials=4000, **keys)
    one, two = (timeless(lab.root / name / "main") for name in "ab")
    assert len(one) > 2
    assert one == two
    assert types(lab.root / "a" / "main")["types"] == types(lab.root / "b" / "main")["types"]


@pytest.mark.slow
def test_probes_of_covered_cells_change_no_trial_and_no_count(lab: Lab) -> None:
    """The trials whose decisions are counted run with all probes."""
    write(lab)
    app = APP.replace("== 2008", "> 0").replace("== 7", "== 13")  # a goal that stays
    lab.write("app.py", app)
    file = write_document(lab.root / "targets.json", document("app", app, TYPES))
    found = []
    for name, first in (("sparse", 150), ("full", sys.maxsize)):
        place = lab.root / name
        (place / "main").mkdir(parents=True)
        keys = {"sync_dir": str(place), "dir": str(place / "main")}
        ran(lab, file, budget_trials=3000, engine={"sparse_after": first}, **keys)
        told, figures = types(place / "main"), stats(place / "main")
        reached = {row["location"]: row["reached"] for row in told["left"]}
        found.append((timeless(place / "main"), told["types"], told["asked"], reached))
        left = int(figures["total_edges"]) - int(figures["probes_left"])
        assert (left > 0) == (name == "sparse")
    assert found[0] == found[1]
    assert found[0][-1][f"app.py:{MONTH}:then"] == 3000 // 32


@pytest.mark.slow
def test_a_worker_that_is_killed_goes_on(lab: Lab) -> None:
    file = write(lab)
    nanny = lab.start(spec(lab, file, budget_trials=1500, target={"env": {"SLOW": "1"}}))
    main = lab.out / "main"
    for _ in range(2):
        # Or it has come to its end while we looked elsewhere.
        wait_until(
            lambda: nanny.poll() is not None or (worker_of(nanny) and (main / ".types").exists())
        )
        before = worker_of(nanny)
        kill(before)
        wait_until(lambda old=before: worker_of(nanny) not in (0, old) or nanny.poll() is not None)
    assert nanny.wait(DEADLINE_S) == 0
    assert execs(main) == 1500
    assert not names(main, "crashes")
    picks = [row["picks"] for row in types(main)["types"].values()]
    assert sum(picks) > 50  # until all was covered


@pytest.mark.slow
def test_an_input_that_kills_the_worker_is_what_was_drawn(lab: Lab) -> None:
    """The journal holds the child as it was generated, not its parent's bytes."""
    file = write(lab)
    test = "if year(file) == 2008:\n"
    source = APP.replace(test, f"{test}        os.abort()\n")
    lab.write("app.py", source)
    write_document(file, document("app", source, {YEAR: TYPES[YEAR]}))
    # Other children are made from the plain sequence, which is in the journal before they run.
    engine = {"targeted": 1.0, "fresh": 0, "comparisons": False}
    main = ran(lab, file, budget_trials=2500, target={"timeout_s": 5.0}, engine=engine)
    (crash,) = names(main, "crashes")
    assert "op:typed:" in crash or "op:havoc" in crash
    lab.write("app.py", source.replace("os.abort()", "return 'the year'"))
    assert "success: 'the year'" in repro(lab, main / "crashes" / crash)


@pytest.mark.slow
def test_a_generator_that_kills_the_worker(lab: Lab) -> None:
    file = write(lab)
    gens = GENERATORS.replace("PIXELS", "40").replace(
        "    return File(", "    if r.below(256) < 2:\n        os.abort()\n    return File("
    )
    lab.write("gens.py", "import os\n" + gens)
    main = ran(lab, file, budget_trials=400)
    assert execs(main) == 400
    assert len(names(main, "crashes")) == 1  # each time the same cause


@pytest.mark.slow
def test_without_targets_it_says_that_nothing_is_aimed_at(lab: Lab) -> None:
    write(lab)
    empty = write_document(
        lab.root / "none.json", document("app", APP, {}, notes=["the analysis failed: no mypy"])
    )
    main = ran(lab, empty, budget_trials=200)
    said = lab.messages(main)
    assert any("no mutation is directed at a type" in t and "no mypy" in t for t in said)
    assert types(main)["types"] == {}


@pytest.mark.slow
def test_a_module_that_has_changed(lab: Lab) -> None:
    file = write(lab)
    lab.write("app.py", APP + "\n\nMORE = 1\n")
    main = ran(lab, file, budget_trials=100)
    changed = "app.py has changed since its types were analysed: "
    assert any(text.startswith(changed) for text in lab.messages(main))
    assert types(main)["changed"] == ["app.py"]


@pytest.mark.parametrize(
    ("engine", "target", "words"),
    [
        ({}, {"generator": ""}, "target.generator is missing"),
        ({"targets": "/no/such.json"}, {}, "/no/such.json: No such file"),
        ({"targeted": 2}, {}, "engine.targeted = 2"),
        *(
            pytest.param(keys, {}, words, marks=pytest.mark.slow)
            for keys, words in (
                ({"targeted": ""}, "engine.targeted = ''"),
                ({"targeted": False}, "engine.targeted = False"),
                ({"distances": "far"}, "engine.distances"),
                ({"aliases": 7}, "engine.aliases"),
            )
        ),
    ],
)
def test_refusals(lab: Lab, engine: dict[str, Any], target: dict[str, str], words: str) -> None:
    file = write(lab)
    assert lab.run(spec(lab, file, engine=engine, target=target)) == 3
    assert words in reason(lab.out / "main")


@pytest.mark.slow
def test_what_types_decide_is_covered_sooner(lab: Lab) -> None:
    """Section II in miniature: of 1,200 choices one is the year of the file's last change."""
    file = write(lab, pixels=1200)
    # With constants few trials are enough; a fresh input may have the year by chance.
    alone = {"constants": False, "comparisons": False, "fresh": 0}

    def needed(targeted: float, most: int) -> float:
        trials = []
        for seed in range(5):
            kind = "spoton" if targeted else "zest"
            directory = lab.root / str(targeted) / f"{seed}"
            directory.mkdir(parents=True)
            keys = {"seed": seed, "budget_trials": most, "dir": str(directory)}
            engine = {**alone, "targeted": targeted}
            at = spec(lab, file, "main", kind, engine=engine, **keys)
            lab.run_until(lambda d=directory: trials_to_year(d, 0), at)
            trials.append(trials_to_year(directory, most))
        print(targeted, trials)
        return statistics.median(trials)

    twice = int(2 * needed(1.0, 2000))
    assert twice < 4000
    assert needed(0.0, twice) >= twice, "no longer than it takes to see that it is later"


def trials_to_year(directory: Path, most: int) -> int:
    """After how many trials the year's branch was taken: the second entry with new edges."""
    found = [
        re.search(r"execs:(\d+)", name) for name in names(directory, "queue") if "+cov" in name
    ]
    at = sorted(int(match[1]) for match in found if match)
    return at[1] if len(at) > 1 else most
