"""Whole runs of the text engine: the same with and without C, steering, restarts, statistics."""

import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest
from engine_lab import Lab, events, execs, kill, names, reason, timeless, worker_of
from waiting import wait_until

from fuzztui.engines.text.arms import PERIOD
from fuzztui.engines.text.block import BLOCK, StatsBlock, read_block
from fuzztui.engines.text.table import ARMS
from fuzztui.kernel.wire.commands import SetMixture, WeighMutator
from fuzztui.run.campaign import load
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.run.process.library import text_library
from fuzztui.run.supervise.command_router import append
from fuzztui.run.supervise.launchers import launcher_for

CHECKER = """
import ast

def target(text: str) -> list:
    found = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.While):
            found.append(loop(node))
        elif isinstance(node, ast.If):
            found.append(branch(node))
        elif isinstance(node, ast.BinOp):
            found.append("plus" if isinstance(node.op, ast.Add) else "other")
        elif isinstance(node, ast.Call):
            found.append(call(node))
        elif isinstance(node, ast.Compare):
            found.append(type(node.ops[0]).__name__)
            if len(node.ops) > 1: found.append("chain")
        elif isinstance(node, ast.Return):
            found.append("return" if node.value else "nothing")
    return found

def loop(node):
    for inner in node.body:
        if isinstance(inner, ast.Break): return "break"
        if isinstance(inner, ast.If): return branch(inner)
    return "loop"

def branch(node):
    if node.orelse:
        if isinstance(node.orelse[0], ast.If): return "elif"
        return "else"
    if isinstance(node.test, ast.Constant): return "constant"
    return "if"

def call(node):
    if not node.args: return "no arguments"
    if len(node.args) > 2: return "many"
    if node.keywords: return "keywords"
    return "call"
"""

PROGRAMS = (
    "def f(a, b):\n    if a < b:\n        return g(a, b + 1)\n    return 0\n",
    "x = 10\nwhile x > 0:\n    x = x - 1\n    h(x, key=2)\n",
    "for i in range(3):\n    print(i * 2)\n",
)

SPLICING = {"havoc": 0.25, "text": 0.5, "splice": 0.25}


@pytest.fixture
def lab(lab: Lab) -> Lab:
    lab.write("app.py", CHECKER)
    lab.seeds(**{f"{number}.py": text.encode() for number, text in enumerate(PROGRAMS)})
    return lab


def spec_of(lab: Lab, instance: str = "main", text: Any = None, **keys: Any) -> Path:
    keys["target"] = {"expected": ["SyntaxError", "ValueError"], **keys.get("target", {})}
    keys["engine"] = {"kind": "text", "seeds": [str(lab.root / "seeds")], **keys.get("engine", {})}
    if text is not None:
        keys["text"] = text
    return lab.spec("app:target", instance, **keys)


def ran(lab: Lab, text: Any = None, trials: int = 50, **keys: Any) -> Path:
    """Run a campaign to its end. Returns its directory."""
    return lab.finish(spec_of(lab, text=text, budget_trials=trials, **keys))


def block_of(directory: Path) -> StatsBlock:
    found = read_block(directory / BLOCK)
    assert found is not None
    return found


def said(directory: Path) -> list[str]:
    return Lab.messages(directory)


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        {},
        {**SPLICING, "language": "python", "templates": ["$F($A, $B) ==> $F($B, $A)"]},
        {**SPLICING, "adaptive": True},
        {**SPLICING, "rules": True},
        {**SPLICING, "templates": ["if :[a]: ==> while :[a]:"]},
    ],
    ids=["text", "grammar", "adaptive", "rules", "templates"],
)
def test_the_same_with_and_without_the_library(lab: Lab, text: dict[str, Any]) -> None:
    if text.get("language"):
        pytest.importorskip("ast_grep_py")
    library, why = text_library()
    assert library, why
    trials = PERIOD + 500 if text.get("adaptive") else 2_500
    found = []
    for path in (str(library), ""):
        directory = ran(lab, {**text, "library": path}, trials)
        block = block_of(directory)
        assert not said(directory)
        found.append((timeless(directory), block))
        shutil.rmtree(directory)
    assert found[0] == found[1]
    queue, block = found[0]
    assert block.trials == trials - len(PROGRAMS)
    ops = {name for file in queue for name in re.findall(r"op:([a-z0-9+-]+),rep", file)}
    used = {name for op in ops for name in op.split("+")}
    assert used <= {*ARMS}
    assert "havoc" in used
    by_name = dict(zip(ARMS, block.arms, strict=True))
    for name in used:
        count = sum(name in re.findall(r"[a-z0-9-]+", file.partition("op:")[2]) for file in queue)
        assert by_name[name].found == count > 0, name
        assert by_name[name].tried >= by_name[name].applied >= count
    if text.get("adaptive"):
        assert block.adaptive
        assert (block.havoc, block.text, block.splice) != (0.25, 0.5, 0.25)
        assert len({arm.weight for arm in block.arms[:64]} - {0}) > 1, "what never applies"
    assert (by_name["fragment"].applied > 20) == bool(text.get("language"))
    assert bool(by_name["fragment"].tried) == bool(text.get("language"))
    edits = "templates" in text or "rules" in text
    assert (by_name["template"].applied > 0) == edits


@pytest.mark.slow
def test_a_mixture_is_obeyed_from_the_next_trial_on_and_outlives_a_restart(lab: Lab) -> None:
    spec = spec_of(lab, text=SPLICING)
    nanny = lab.start(spec)
    wait_until(lambda: execs(spec.parent) > 300)
    append(spec.parent / "control.jsonl", "c1", SetMixture(0.5, 0.6, 0.0))
    append(spec.parent / "control.jsonl", "c2", SetMixture(1.0, 0.0, 0.0))
    append(spec.parent / "control.jsonl", "c3", WeighMutator("swap-args", 3.0))
    wait_until(lambda: len(events(spec.parent, "command_applied")) == 2)
    answer, weighed = events(spec.parent, "command_applied")
    assert weighed["id"] == "c3"
    assert weighed["detail"] == "swap-args has weight 3: 1.56% -> 4.55% of text mutations"
    assert weighed["trial"] >= answer["trial"]
    (refusal,) = events(spec.parent, "command_rejected")
    assert refusal["id"] == "c1"
    assert refusal["reason"] == "havoc, text and splice add up to 1.1, not to 1"
    assert (answer["id"], answer["detail"]) == ("c2", "havoc 100%, text 0%, splice 0%")
    assert answer["trial"] >= 300
    kill(worker_of(nanny))
    wait_until(lambda: any("a new worker continues" in text for text in said(spec.parent)))
    lab.goes_on(spec.parent, 1500)
    lab.end(nanny)
    assert block_of(spec.parent).havoc == 1.0  # now that nobody is writing it
    later = [
        name
        for name in names(spec.parent, "queue")
        if int(re.findall(r"execs:(\d+)", name)[0]) > answer["trial"]
    ]
    assert all("op:havoc,rep" in name for name in later)
    spec = spec_of(lab, text=SPLICING, budget_trials=execs(spec.parent) + 50)
    assert lab.run(spec) == 0
    block = block_of(spec.parent)
    assert block.havoc == 1.0  # not what the file says
    assert block.arms[ARMS.index("swap-args")].wished == 3000
    assert len(events(spec.parent, "command_applied")) == 2


@pytest.mark.slow
def test_crashes_are_told_of_their_arms(lab: Lab) -> None:
    """Also those that killed the worker: its parent saved them."""
    (lab.root / "once").touch()
    lab.write(
        "app.py",
        "import os\n"
        f"once = {str(lab.root / 'once')!r}\n"
        "def target(text: str):\n"
        "    if '(x' in text and '(x)' not in text and os.path.exists(once):\n"
        "        os.unlink(once)\n"
        "        os._exit(7)\n"
        "    if 'if' in text and '0' not in text: raise KeyError(1)\n",
    )
    for number, text in enumerate(("if (0) (x);", "while (x) 1 < 2;", "(x)")):
        (lab.root / "seeds" / f"{number}.py").write_text(text)
    directory = ran(lab, {"havoc": 0.0, "text": 1.0, "splice": 0.0}, 400)
    found = names(directory, "crashes")
    titles = {e["title"] for e in events(directory, "finding_described")}
    assert titles == {"the process exited with status 7", "KeyError: 1"}
    block = block_of(directory)
    told = [op for file in found for op in re.findall(r"op:([a-z0-9+-]+),rep", file)]
    assert told
    for name in {name for op in told for name in op.split("+")}:
        assert block.arms[ARMS.index(name)].crashes == sum(name in op.split("+") for op in told)
    assert block.trials > 300


@pytest.mark.slow
def test_bytes_and_what_is_left_out(lab: Lab) -> None:
    lab.write("app.py", "def target(data: bytes):\n    assert type(data) is bytes\n"
              "    return len(data) > 3 and data[0] > 7 and b'x' in data\n")  # fmt: skip
    without = [name for name in ARMS[:-4] if name != "one-to-zero"]
    directory = ran(lab, {"without": without}, 500)
    block = block_of(directory)
    tried = {name for name, arm in zip(ARMS, block.arms, strict=True) if arm.tried}
    assert tried == {"one-to-zero", "havoc"}
    weight = dict(zip(ARMS, (arm.weight for arm in block.arms), strict=True))
    assert (weight["one-to-zero"], weight["swap-args"]) == (1_000_000, 0)


@pytest.mark.slow
def test_a_generator_is_refused(lab: Lab) -> None:
    lab.write("app.py", "def make(r): return str(r.below(9))\ndef target(text): pass\n")
    spec = spec_of(lab, target={"generator": "app:make"})
    assert lab.run(spec) == 3
    assert 'use engine.kind = "zest"' in reason(spec.parent)


@pytest.mark.slow
def test_what_is_not_there_is_told_and_done_without(lab: Lab) -> None:
    """No library, no parser: said once, and the engine works."""
    lab.write("ast_grep_py.py", "raise ImportError('not here')\n")
    text = {**SPLICING, "language": "c", "templates": ["a ==> b"],
            "library": "/nowhere.so", "why": ""}  # fmt: skip
    for trials in (200, 400):
        directory = ran(lab, text, trials)
    words = said(directory)
    assert len(words) == 2
    assert "text mutators run in Python, not in C: /nowhere.so: " in words[0]
    assert 'text.language = "c": the package ast-grep-py is not installed' in words[1]
    assert "brackets, quotes and lines are spliced instead and templates are left out" in words[1]
    block = block_of(directory)
    assert block.arms[ARMS.index("balanced")].applied > 20
    assert not block.arms[ARMS.index("fragment")].tried


PARSERS = """
import os
class Root:
    def children(self): return []
    def find_all(self, **_): return []
class SgRoot:
    def __init__(self, text, language):
        if "while" in text: {ends}
    def root(self): return Root()
"""


@pytest.mark.slow
@pytest.mark.parametrize("ends", ["os.kill(os.getpid(), 11)", "os._exit(0)"])
def test_a_parser_that_dies_does_so_twice(lab: Lab, ends: str) -> None:
    lab.write("ast_grep_py.py", PARSERS.format(ends=ends))
    (lab.root / "seeds" / "3.py").write_text("while 1: break\n")
    directory = ran(lab, {**SPLICING, "language": "python"}, 40)
    deadly = (directory / ".unparsed").read_text().split()
    assert deadly
    assert sorted(deadly) == sorted(2 * [*set(deadly)])
    again = [text for text in said(directory) if "a new worker continues" in text]
    assert len(again) == len(deadly)
    assert not names(directory, "crashes")
    directory = ran(lab, {**SPLICING, "language": "python"}, 41)
    assert (directory / ".unparsed").read_text().split() == deadly


@pytest.mark.slow
def test_a_template_that_is_none(lab: Lab) -> None:
    pytest.importorskip("ast_grep_py")
    text = {"language": "c", "templates": ["if ($A ==> x"]}
    directory = ran(lab, text)
    (words,) = said(directory)
    assert words.startswith("text.templates: 'if ($A ==> x' is left out: ")


@pytest.mark.slow
def test_templates_of_the_matcher_need_no_grammar(lab: Lab) -> None:
    templates = ["if :[a]: ==> while :[a]:", "goto :[a]; ==> ;", "if (:[a.]) ==> x"]
    directory = ran(lab, {**SPLICING, "templates": templates}, 400)
    block = block_of(directory)
    assert block.arms[ARMS.index("template")].applied > 5
    assert not block.arms[ARMS.index("fragment")].applied
    left_out, barren = said(directory)
    assert left_out.startswith("text.templates: 'if (:[a.]) ==> x' is left out: :[a.]) is no hole")
    assert barren.startswith("text.templates: 'goto :[a]; ==> ;' matches nothing")


@pytest.mark.slow
def test_what_has_nothing_to_do_is_told(lab: Lab) -> None:
    pytest.importorskip("ast_grep_py")
    templates = ["import $A ==> pass", "$F($A, $B) ==> $F($B, $A)"]
    text = {**SPLICING, "language": "python", "templates": templates}
    directory = ran(lab, text)
    (words,) = said(directory)
    assert words.startswith("text.templates: 'import $A ==> pass' matches nothing in the ")
    shutil.rmtree(directory)
    text = {"language": "python", "havoc": 0.25, "text": 0.75, "splice": 0.0}
    assert lab.run(spec_of(lab, text=text, engine={"seeds": []}, budget_trials=50)) == 0
    (no_seeds,) = said(directory)
    assert no_seeds.startswith("engine.seeds is empty")


def test_a_mixture_that_is_none(lab: Lab) -> None:
    spec = spec_of(lab, text={"havoc": 1.0, "text": 1.0, "splice": 0.0})
    assert lab.run(spec) == 3
    assert "[text]: havoc, text and splice add up to 2, not to 1" in reason(spec.parent)


@pytest.mark.slow
def test_sample(lab: Lab) -> None:
    """sample_campaigns/pycparser-text.toml, as the supervisor starts it."""
    pytest.importorskip("ast_grep_py")
    sample = Path(__file__).resolve().parents[2] / "sample_campaigns" / "pycparser-text.toml"
    campaign = load(sample).campaign
    directory = lab.out / "main"
    directory.mkdir(parents=True)
    write_spec(directory / "spec.json", campaign, directory, 60)
    table = json.loads((directory / "spec.json").read_text())["text"]
    assert (table["language"], Path(table["library"]).is_file(), table["why"]) == ("c", True, "")
    assert lab.run(directory / "spec.json") == 0
    assert not said(directory)
    assert len(names(directory, "queue")) > 5
    assert launcher_for("text").says_hello
    (hello,) = events(directory, "instance_hello")
    assert (hello["engine"], "mixture" in hello["capabilities"]) == ("text", True)
    assert block_of(directory).arms[ARMS.index("fragment")].tried
