"""``fuzztui test``: fuzz all Hypothesis tests of a project in one campaign."""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shlex
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import tomli_w

from fuzztui.cli.made_campaign import MadeCampaign
from fuzztui.cli.origins import newest, newest_of_file
from fuzztui.cli.output import UsageError, say
from fuzztui.cli.run import load_file, run_file
from fuzztui.cli.suite_patch import print_patch
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.run.home.finding import TEST_FILE

_MARKS: Final = ("pyproject.toml", "setup.cfg", "setup.py", "tox.ini", "pytest.ini", ".git")
"""What is in the root of a project."""

_NOT_UNDER_TEST: Final = (
    "test", "tests", "testing", "doc", "docs", "bench", "benchmarks", "example", "examples",
    "scripts", "tools", "build", "dist", "setup", "conftest", "noxfile", "tasks", "runs", "venv",
)  # fmt: skip
"""Packages and modules next to the tests that are hardly what they test."""

_DEFAULT: Final = ("tests", "test")

_OPTIONS: Final = {
    "campaign.budget": "--budget",
    "target.include": "--include",
    "target.python": "--python",
    "engine.instances": "--instances",
}
"""The options that give the value of a key."""

_MAX_DIGITS: Final = 20
"""Digits of a budget in trials."""

_MAX_NAME: Final = 60
"""Characters of a selection's name."""


def test(options: argparse.Namespace) -> int:
    """Start, rejoin or resume the campaign of a project's tests, or print a patch."""
    parts = options.parts or [name for name in _DEFAULT if Path(name).is_dir()][:1]
    if not parts and options.write_examples:
        parts = ["."]  # no test is run: "." only names the run to print from
    if not parts:
        raise UsageError("there is no directory tests/ here: name the tests to fuzz")
    for part in parts:
        _refuse_missing(part)
    root = _root_of(Path(os.path.normpath(Path(parts[0].partition("::")[0]).absolute())))
    arguments = {**_OPTIONS, "target.function": shlex.join(parts)}
    made = MadeCampaign(_campaign(options, parts, root), "fuzztui test", arguments)
    file = root / TEST_FILE
    if options.write_examples:
        loaded = load_file(file, options.overrides, options.hosts, made)
        is_one = options.parts or options.mutants
        return print_patch(newest(loaded) if is_one else newest_of_file(loaded.campaign), root)
    return run_file(file, options, made)


def _refuse_missing(part: str) -> None:
    """Raise :class:`CliError` if a part of the suite names a path that does not exist."""
    if not part:  # of an empty variable; as a path it would be the whole project
        raise UsageError("one of the TESTS is an empty text: name tests, or nothing")
    if _is_function(part) and ".py:" not in part:
        return
    path = Path(part.partition(":" if _is_function(part) else "::")[0])
    if path.exists():
        return
    try:
        beside = os.listdir(path.parent)  # noqa: PTH208 - names only
    except OSError:
        beside = []
    offer = meant([str(path.with_name(name)) for name in near(path.name, beside)])
    raise UsageError(f"{part}: there is no such file or directory{offer}")


def _campaign(options: argparse.Namespace, parts: Sequence[str], root: Path) -> str:
    """The campaign file for the options. Raises :class:`CliError`."""
    source = root / "src"
    paths = [str(path) for path in (source, root) if path.is_dir()]
    include = options.include or list(dict.fromkeys(_packages(root)))
    if not include:
        raise UsageError(f"{root}: found no package under test; name it: --include PACKAGE")
    python = options.python or _python_of(root)
    say(f"tests what is in {', '.join(include)}, with {python}")
    selected = sorted({_absolute(part) for part in parts})
    tables: dict[str, dict[str, Any]] = {
        "campaign": {"name": f"{root.name}-{_name_of(selected, root, mutants=options.mutants)}"},
        "target": {
            "function": selected,
            "include": include,
            "path": paths,
            "cwd": str(root),
            "python": python,
        },
        "engine": {"kind": "mu2" if options.mutants else "zest", "instances": options.instances},
    }
    if options.examples:
        tables["target"]["examples"] = str(root / ".hypothesis" / "examples")
    if options.budget:
        trials = options.budget.removesuffix("trials").strip()
        is_number = trials.isdecimal() and len(trials) < _MAX_DIGITS
        tables["campaign"]["budget"] = int(trials) if is_number else options.budget
    return tomli_w.dumps(tables)


def _absolute(part: str) -> str:
    """A part of the suite; an existing path as an absolute one."""
    if _is_function(part) and ".py:" not in part:
        return part
    name, colons, node = part.partition("::")
    return f"{os.path.normpath(Path(name).absolute())}{colons}{node}"


def _is_function(part: str) -> bool:
    """Whether a part of the suite is a function (``package.module:name``, ``file.py:name``)."""
    return ":" in part and "::" not in part


def _name_of(parts: Sequence[str], root: Path, *, mutants: bool) -> str:
    """A name for a selection of tests, so that each selection has a run of its own.

    ``parts``: absolute and sorted. ``tests/test_a.py::test_b`` gives ``tests-test_a-test_b``. With
    ``mutants`` the name begins with ``mutants-``; that of ``tests/`` alone is ``mutants``.
    """
    inner = ["" if part == str(root) else part.removeprefix(f"{root}/") for part in parts]
    words = " ".join(re.sub(r"\.py(?=:|$)", "", part) or "all" for part in inner)
    name = re.sub(r"\W+", "-", words, flags=re.ASCII).strip("-")
    is_lossy = re.search(r"[^\w/:. -]", words, flags=re.ASCII)
    if is_lossy or len(name) > _MAX_NAME or re.search(r"-\d+$", name):  # like numbered runs
        digest = hashlib.sha256("\n".join(inner).encode(errors="surrogateescape")).hexdigest()
        name = f"{name[:_MAX_NAME].strip('-')}-x{digest[:6]}"
    if mutants:
        return "mutants" if inner == [_DEFAULT[0]] else f"mutants-{name}"
    return name


def _root_of(path: Path) -> Path:
    """The nearest directory above that looks like a project's; else the current one."""
    for folder in (path, *path.parents):
        if any((folder / mark).exists() for mark in _MARKS):
            return folder
    return Path.cwd()


def _packages(root: Path) -> Iterator[str]:
    """The packages and modules of a project, except for tests, documents and the like."""
    for folder in (root / "src", root):
        if not folder.is_dir():
            continue
        found = sorted(folder.iterdir())
        for path in found:
            name = path.stem
            is_one = (path / "__init__.py").is_file() or (path.suffix == ".py" and path.is_file())
            if is_one and name.isidentifier() and not _is_other(name):
                yield name
        if folder.name == "src" and any((path / "__init__.py").is_file() for path in found):
            return


def _is_other(name: str) -> bool:
    return name in _NOT_UNDER_TEST or name.startswith(("test_", "_")) or name.endswith("_test")


def _python_of(root: Path) -> str:
    """The interpreter for a project's tests."""
    active = os.environ.get("VIRTUAL_ENV", "")
    for folder in (Path(active), root / ".venv", root / "venv"):
        python = folder / "bin" / "python"
        if str(folder) != "." and os.access(python, os.X_OK):
            return str(python)
    return sys.executable
