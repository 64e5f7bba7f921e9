"""The samples that download a compiler's sources, and the benchmark over them, on the smallest."""

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from fuzztui.engines.text.table import MUTATORS

TOP = Path(__file__).resolve().parents[2]
SAMPLES = TOP / "sample_campaigns"
TARBALL = "mujs_1.3.2.orig.tar.xz"
NOWHERE = "http://127.0.0.1:9/debian"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),  # they compile MuJS, on a machine that may be busy
    pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl++ is not installed"),
]


def downloaded(script: Path, tarball: str) -> Path:
    """The sources of a sample in the user's cache, where they are from one day to the next."""
    base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    kept = base / "fuzztui/sources" / tarball
    if not kept.exists():
        words = script.read_text().split('fetch.py" ')[1].split()
        fetch = [sys.executable, "-I", SAMPLES / "debian/fetch.py", words[0], words[2]]
        done = subprocess.run([*fetch, os.devnull], check=False, capture_output=True, text=True)
        if not kept.exists():
            pytest.skip(f"{tarball} cannot be downloaded here: {done.stderr}")
    return kept


@pytest.fixture(scope="module")
def sources() -> Path:
    """MuJS's sources."""
    return downloaded(SAMPLES / "mujs/build.sh", TARBALL)


@pytest.fixture
def user(home, sources):
    """One who has a cache of their own with the tarball in it, and no network."""
    cache = home.path / "cache"
    (cache / "fuzztui/sources").mkdir(parents=True)
    shutil.copyfile(sources, cache / "fuzztui/sources" / TARBALL)
    home.env |= {"XDG_CACHE_HOME": str(cache), "FUZZTUI_DEBIAN_MIRROR": NOWHERE}
    return home


def run(home, *overrides: str, code: int = 0) -> str:
    words = [word for override in overrides for word in ("--set", override)]
    file = str(SAMPLES / "mujs-text.toml")
    home(file, "--headless", "--set", f"campaign.output={home.run}", *words, code=code, timeout=400)
    return home.stderr


@pytest.mark.nightly
def test_it_is_built_offline_and_fuzzed(user):
    run(user, "campaign.budget=10s")
    state = user.status()
    assert state["state"] == "finished"
    main = user.run / "out/main"
    stats = dict(
        [part.strip() for part in line.split(":", 1)]
        for line in (main / "fuzzer_stats").read_text().splitlines()
    )
    assert float(stats["stability"].removesuffix("%")) > 95
    assert int(stats["edges_found"]) > 1300
    # Its own text mutators made what was found, and the program tells who parses.
    queue = sorted((main / "queue").iterdir())
    made_by = {name for path in queue for name in re.split("[,+]", path.name.partition("op:")[2])}
    assert made_by & {mutator.name for mutator in MUTATORS}
    seeds = [path for path in queue if ",orig:" in path.name]
    done = subprocess.run(
        [user.run / "build/mujs", *seeds], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0
    assert done.stdout.splitlines() == [f"+ {path}" for path in seeds]
    rejected = subprocess.run([user.run / "build/mujs"], input=b"var = ", check=False)
    assert rejected.returncode == 1


def test_two_shells_differ_and_a_difference_is_made_smaller(home):
    downloaded(SAMPLES / "dash/build.sh", "dash_0.5.12.orig.tar.gz")
    home.env.pop("XDG_CACHE_HOME", None)
    file, output = SAMPLES / "dash-oracle.toml", f"campaign.output={home.run}"
    budget = "campaign.budget=30000 trials"
    home(file, "--headless", "--set", output, "--set", budget, code=10, timeout=400)
    differs = sorted((home.run / "out/oracle/crashes").glob("id:*"))
    assert differs
    shells = ([home.run / "build/dash"], ["bash", "--posix"])
    for file in differs:  # each is of the language: no file that bash would not read
        statuses = [
            subprocess.run(
                [*shell, "-n"], stdin=file.open("rb"), check=False, capture_output=True
            ).returncode
            for shell in shells
        ]
        assert sorted(statuses) == [0, 2], file.name
    smaller = home.path / "smaller.sh"
    home("minimise", home.run, differs[0], "-o", smaller, timeout=300)
    assert smaller.stat().st_size < differs[0].stat().st_size
    shown = home("repro", home.run, smaller, code=10)
    assert "dash accepted it" in shown or "bash accepted it" in shown
    assert "rejected it (exit status 2)" in shown
    accepted = {
        subprocess.run([*shell, "-n", smaller], check=False, capture_output=True).returncode == 0
        for shell in shells
    }
    assert accepted == {False, True}


def test_without_network_it_is_said_what_to_do(user):
    shutil.rmtree(user.path / "cache")
    said = run(user, code=1)
    assert f"{NOWHERE}/pool/main/m/mujs/{TARBALL} cannot be downloaded: " in said
    assert f"Put {TARBALL} (sha256 4886593f" in said
    assert f"into {user.path}/cache/fuzztui/sources, or name another mirror with " in said


def test_a_mirror_with_another_file_is_not_believed(user):
    shutil.rmtree(user.path / "cache")
    evil = user.path / "mirror/pool/main/m/mujs" / TARBALL
    evil.parent.mkdir(parents=True)
    evil.write_bytes(b"evil")
    user.env["FUZZTUI_DEBIAN_MIRROR"] = (user.path / "mirror").as_uri()
    said = run(user, code=1)
    assert "is not the file it should be" in said
    assert "not 4886593fc688b0cdccd31e5ecbe5afe7ad1bee23aa69e667b871afd5dfc640c3" in said
    assert not list((user.run / "build").iterdir())


@pytest.mark.nightly
def test_the_experiment_goes_on_where_it_was(user):
    work = user.path / "work"

    def experiment(*words: str) -> str:
        done = subprocess.run(
            [sys.executable, TOP / "experiments/text_targets.py", "--subjects", "mujs",
             "--execs", "3000", "--repeat", "1", "--work", work, *words],
            env=user.env, capture_output=True, text=True, check=False, timeout=400,
        )  # fmt: skip
        assert done.returncode == 0, done
        return done.stdout

    assert "0 runs are in " in experiment("--arms", "stock")
    assert "1 runs are in " in (said := experiment("--arms", "stock,empty"))
    assert "goal, empty: never fewer edges than stock beyond chance: met" in said
    lines = [json.loads(line) for line in (work / "runs.jsonl").read_text().splitlines()]
    assert [line["arm"] for line in lines] == ["stock", "empty"]
    assert all(0 < line["valid"] < line["inputs"] for line in lines)
    assert all(line["edges"] == sorted(line["edges"]) for line in lines)
    assert all(1300 < line["edges"][0] < line["edges"][-1] for line in lines)
    assert lines[0]["mutators"] == {}
    assert lines[1]["mutators"]["fragment"][0] > 0
    # The report is of what is there, and builds nothing.
    shutil.rmtree(work / "build")
    reported = experiment("--arms", "stock,empty", "--report")
    assert reported.partition("\n\n")[2] == said.partition("\n\n")[2]
    assert not (work / "build").exists()
