"""Verdicts of ``--score`` against the same mutants in patched copies, in fresh processes."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import patched_programs
import pytest
from caching_programs import CACHING, INPUTS
from lab.subjects import choose

import fuzztui

pytestmark = pytest.mark.slow

HTML = (
    b"<!doctype html><title>a</title><p class=x>b<b>c</p>d</b><table><td>e",
    b"<svg><g/></svg><select><option>1<option>2</select><!-- c -->&amp;&notit;",
)
JMESPATH = (
    b"a[?b > `1`].c | [0]",
    b"d.e.{x: f, y: @} || length(n)",
    b"sort_by(a, &b)",
    b"z.*.k[]",
    b"n[::-1]",
    b"a[",
)


def python(*arguments: str, cwd: Path) -> bytes:
    path = os.pathsep.join(str(p) for p in (Path(fuzztui.__file__).parent.parent, *sys.path))
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        env={**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": "0"},
        capture_output=True,
        check=True,
        cwd=cwd,
    ).stdout


def verdicts(
    directory: Path, target: dict[str, Any], inputs: tuple[bytes, ...], count: int
) -> dict[str, tuple[bool, bool]]:
    """By mutant: whether the engine kills it, and whether a fresh process shows a difference."""
    corpus = directory / "corpus"
    corpus.mkdir()
    for number, data in enumerate(inputs):
        (corpus / f"{number:02}").write_bytes(data)
    spec = directory / "spec.json"
    spec.write_text(json.dumps({
        "proto": 1, "instance": "main", "dir": str(directory), "sync_dir": str(directory),
        "seed": 7, "engine": {"kind": "mu2", "seeds": [str(corpus)]}, "target": target,
    }))  # fmt: skip
    copies = directory / "copies"
    copies.mkdir()
    python(patched_programs.__file__, str(spec), str(copies), "1", str(count), cwd=directory)
    given = directory / "inputs.json"
    given.write_text(json.dumps([data.hex() for data in inputs]))
    harness, text = target["function"], target.get("input") == "text"
    ids = json.loads((copies / "ids.json").read_text())
    empty = directory / "unchanged"
    empty.mkdir()

    def run(copy: Path) -> list[str] | None:
        return patched_programs.results(copy, harness, given, text=text, path=target["path"])

    original = run(empty)
    assert original is not None
    assert all(result.startswith(("returned", "raised")) for result in original)
    with ThreadPoolExecutor(2) as pool:
        found = pool.map(run, (copies / str(number) for number in range(len(ids))))
        truth = {id_: result != original for id_, result in zip(ids, found, strict=True)}
    output = python("-m", "fuzztui.engines", str(spec), "--jobs", "2", "--score", str(corpus),
                    cwd=directory)  # fmt: skip
    result = json.loads(output.splitlines()[-1])["result"]
    states = {mutant["id"]: mutant["state"] for mutant in result["mutants"]}
    assert result["flaky"] == 0
    assert "invalid" not in states.values()
    return {id_: (states[id_] == "killed", truth[id_]) for id_ in ids}


def agree(found: dict[str, tuple[bool, bool]]) -> None:
    missed = [id_ for id_, (engine, truth) in found.items() if truth and not engine]
    false = [id_ for id_, (engine, truth) in found.items() if engine and not truth]
    assert (missed, false) == ([], [])
    assert any(truth for _, truth in found.values())


@pytest.mark.parametrize("name", CACHING)
def test_small_programs_that_keep_what_they_made(tmp_path, name):
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "prog.py").write_text(CACHING[name])
    target = {"function": "prog:parse", "path": [str(tmp_path / "src")], "include": ["prog"]}
    agree(verdicts(tmp_path, target, INPUTS, 100))


@pytest.mark.parametrize(
    ("name", "inputs", "count"), [("html5lib", HTML, 14), ("jmespath", JMESPATH, 40)]
)
def test_libraries_that_keep_what_they_made(tmp_path, name, inputs, count):
    pytest.importorskip(name)
    (subject,) = choose(name)
    agree(verdicts(tmp_path, subject.target(timeout_s=2.0), inputs, count))
