"""Every command that runs inputs makes of their bytes what the campaign made: the target itself
writes down its arguments, for each kind of engine.
"""

import ast
import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from homes import Home, covered, logged, of_trials

from fuzztui.kernel.wire.events import InputShown
from fuzztui.testing.replay import Replay

pytestmark = pytest.mark.slow

APP = """\
WORDS = ("frobnicate", "quux-quux", "xyzzy-plugh")

def check(text):
    if text == WORDS[0]:
        raise KeyError("found")
    if text == WORDS[1]:
        raise ValueError("invalid")
    if text == WORDS[2]:
        return 2
    if text > "mmmm":
        return 3
    return len(text)
"""
HARNESS = """\
import json
from pathlib import Path
from app import check

SEEN = Path(__file__).with_name("seen")

def target(text: str):
    with SEEN.open("a") as file:
        file.write(json.dumps(text) + "\\n")
    return check(text)

def make(source):
    return source.text("abcdefghijklmnopqrstuvwxyz-", 1, 30)
"""
TEST = """\
from harness import target
from hypothesis import given, strategies as st

@given(st.text("abcdefghijklmnopqrstuvwxyz-", min_size=1, max_size=30))
def test_check(text):
    try:
        target(text)
    except ValueError:
        pass
"""
GENERATOR = 'generator = "harness.py:make"'
TARGET, A_TEST = "harness.py:target", "props.py:test_check"
DRAWS = "constants = true"
FIRST = (
    '[mutants]\nsources = ["app"]\nper_mutant = "30 trials"\nlisted = 4\noracle = "output"\n'
    "[text]\nhavoc = 0.5\n"
)
KINDS = {
    "zest": ("zest", TARGET, GENERATOR, DRAWS),
    "mu2": ("mu2", TARGET, GENERATOR, DRAWS),
    "spoton": ("spoton", TARGET, GENERATOR, ""),
    "spoton of a test": ("spoton", A_TEST, "", ""),
    "suite": ("zest", "tests/", "", DRAWS),
    "bytes": ("zest", TARGET, "", 'seeds = ["seeds"]'),
    "text": ("text", TARGET, "", 'seeds = ["seeds"]'),
    "mutants first": ("zest", TARGET, GENERATOR, DRAWS + "\n" + FIRST.partition("[text]")[0]),
}


IN_CI = ("zest", "mu2", "suite", "bytes", "text")


class Decoded(Home):
    """A finished campaign, and what its target is called with."""

    def __init__(self, path: Path, name: str) -> None:
        super().__init__(path)
        self.name = name
        kind, function, generator, more = KINDS[name]
        for file, text in {
            "app.py": APP, "harness.py": HARNESS, "props.py": TEST, "tests/test_app.py": TEST,
            "seeds/1": "frobnicate", "seeds/2": "xyzzy-plugh", "seeds/3": "quux-quux",
        }.items():  # fmt: skip
            (path / file).parent.mkdir(exist_ok=True)
            (path / file).write_text(text)
        target = f'{generator}\ninclude = ["app"]\nexpected = ["ValueError"]'
        engine = f"comparisons = false\n{more}"
        self.file.write_text(of_trials(function, kind, 600, target=target, engine=engine))
        self(str(self.file), "--headless", code=None)
        self.seen()
        shown = logged(self.run, InputShown)
        texts = {(event.instance, event.row): _text(event.text) for event in shown}
        self.made: dict[Path, str] = {}
        for file in [*self.run.glob("out/*/queue/id:*"), *self.run.glob("out/*/crashes/id:*")]:
            row = file.name[3:9].lstrip("0") or "0"
            row = row if file.parent.name == "queue" else f"crashes/{file.name}"
            plain = None if shown else file.read_bytes().decode("utf-8", "replace")
            text = texts.get((file.parents[1].name, row), plain)
            if text is not None:  # else the generator rejects its choices
                self.made[file] = text
        _, lines = covered(self.run)
        self.lines = {(name, n) for name, f in lines.files.items() for n in f.first}

    def __call__(self, *args: str, timeout: float = 350, **more: Any) -> str:
        return super().__call__(*args, timeout=timeout, **more)

    @property
    def queue(self) -> list[Path]:
        return [file for file in self.made if file.parent.name == "queue"]

    @property
    def finding(self) -> Path:
        return next(file for file in self.made if file.parent.name == "crashes")

    def made_of(self, files: list[Path]) -> set[str]:
        return {self.made[file] for file in files}

    def seen(self) -> set[str]:
        """What the target was called with since the last call of this method."""
        file = self.path / "seen"
        found = {*map(json.loads, file.read_text().splitlines())} if file.exists() else set()
        file.unlink(missing_ok=True)
        return found


def _text(shown: str) -> str:
    """The argument ``text``, of a call as a Hypothesis test is shown with."""
    try:
        call = ast.parse(shown.rpartition("::")[2], mode="eval").body
    except SyntaxError:
        return shown
    return call.keywords[0].value.value if isinstance(call, ast.Call) else shown


@pytest.fixture(scope="module", params=KINDS)
def campaign(request, tmp_path_factory) -> Decoded:
    return Decoded(tmp_path_factory.mktemp("decoded"), request.param)


@pytest.fixture
def decoded(campaign: Decoded) -> Decoded:
    campaign.seen()
    return campaign


def test_the_subject_needs_its_constants(decoded: Decoded) -> None:
    assert {"frobnicate"} == decoded.made_of([decoded.finding])
    assert {"quux-quux", "xyzzy-plugh"} <= decoded.made_of(decoded.queue)


@pytest.mark.parametrize("how", [["--format", "json"], ["--by-line"]])
def test_coverage_has_the_lines_of_the_log(decoded: Decoded, how: list[str]) -> None:
    report = json.loads(decoded("coverage", "run", *how, at=decoded.path))
    if "by_line" in report:
        lines = {(f, row[0]) for f, rows in report["by_line"].items() for row in rows["first"]}
    else:
        lines = {
            (str(decoded.path / file), n)
            for file, found in report["files"].items()
            for n in found["executed_lines"]
        }
    assert lines == decoded.lines
    assert decoded.seen() == decoded.made_of(decoded.queue)


def test_care_of_the_corpus(decoded: Decoded, tmp_path: Path) -> None:
    queue = decoded.made_of(decoded.queue)
    decoded("corpus", "minimise", "run", "--by", "edges", "-o", str(tmp_path / "edges"))
    assert decoded.seen() == queue
    # By kills, as mu2 chooses: like ``score``, with samples before the queue.
    sampled = decoded.name == "mu2"
    decoded("corpus", "minimise", "run", "-o", str(tmp_path / "small"))
    assert (seen := decoded.seen()) == queue or (sampled and seen > queue)
    kept = tmp_path / "kept"
    (kept / "inputs").mkdir(parents=True)
    decoded("corpus", "merge", str(kept), "run")
    assert (seen := decoded.seen()) == queue or (sampled and seen > queue)
    decoded("corpus", "why", "run", "0")
    assert decoded.seen() == queue
    if decoded.name in IN_CI:
        # A job of CI, which knows no run, makes the same of them; it also makes samples.
        at = tmp_path / "ci"
        shutil.copytree(decoded.path, at, ignore=shutil.ignore_patterns("run", "xdg"))
        decoded("ci", "e2e.toml", "--budget", "0", "--all", "--corpus", str(kept), at=at, code=None)
        seen = {*map(json.loads, (at / "seen").read_text().splitlines())}
        by_content = {file.read_bytes(): text for file, text in decoded.made.items()}
        assert {by_content[file.read_bytes()] for file in (kept / "inputs").iterdir()} <= seen


def test_score_and_export(decoded: Decoded, tmp_path: Path) -> None:
    queue = decoded.made_of(decoded.queue)
    decoded("score", "run", "--json", "--jobs", "1")
    assert queue <= decoded.seen()  # samples, too, that modules may be imported for
    file = decoded.path / "test_exported.py"
    refused = decoded.name in ("suite", "spoton of a test")  # tests already
    code = 1 if refused else None
    decoded("export", "run", "--pytest", str(file), "--jobs", "1", code=code)
    if refused:  # before anything runs
        assert "Hypothesis test" in decoded.stderr
        assert not decoded.seen()
        assert not file.exists()
        return
    text = file.read_text()
    assert decoded.seen()
    assert "quux-quux" in text
    assert "xyzzy-plugh" in text


def test_one_input(decoded: Decoded, tmp_path: Path) -> None:
    decoded("repro", "run", str(decoded.finding), code=10)
    assert decoded.seen() == {"frobnicate"}
    small = tmp_path / "small"
    decoded("minimise", "run", str(decoded.finding), "-o", str(small))
    assert "frobnicate" in decoded.seen()
    decoded("repro", "run", str(small), code=10)
    assert decoded.seen() == {"frobnicate"}


def test_the_corpus_as_tests(decoded: Decoded) -> None:
    if decoded.name == "suite":
        pytest.skip("pytest itself runs the tests of a suite")
    replay = Replay.of(decoded.run / "campaign.toml", decoded.queue[0].parent)
    for file in decoded.queue:
        shown = replay.shown(file)
        assert decoded.made[file] == (_text(shown) if "(" in shown else ast.literal_eval(shown))
