"""The files of a merged run: queues, findings, and what commands need of the campaign."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import tomli
import tomli_w

from fuzztui.kernel.base.files import open_regular
from fuzztui.kernel.wire.finding_kinds import CRASHES, FOLDERS
from fuzztui.machines.merge.parts import PARTS, RunPart
from fuzztui.run.campaign.rundir import RunDir
from fuzztui.run.observe.passive import source_of

_FILES: Final = ("fuzzer_stats", "plot_data", "edges.json", "spec.json")
"""Files of an instance that are copied, in addition to its queue and its findings."""

_MAX_LINE: Final = 64 << 20


def write_files(
    into: RunDir, parts: Sequence[RunPart], output: Path, progress: Callable[[int, int], None]
) -> None:
    """Copy the files of all runs. Raises OSError.

    ``into``: the directory that becomes ``output``. ``progress``: called with the numbers of
    instances that are copied, and of all.
    """
    into.campaign.write_text(_campaign(parts, output))
    rows = [row for part in parts for row in part.rows()]
    (into.path / PARTS).write_text(json.dumps({"parts": rows}, indent=1) + "\n")
    first = parts[0].run
    for name in ("constants.json", "targets.json"):
        _copy(first.path / name, into.path / name)
    for build in sorted(first.path.glob("build*/")):  # those of other binaries: build-NAME
        shutil.copytree(build, into.path / build.name, symlinks=True)
    found = [(part, name) for part in parts for name in _instances(part.run)]
    for number, (part, name) in enumerate(found):
        progress(number, len(found))
        new = part.renamer.instance(name)
        _copy_instance(part.run.instance(name), into.instance(new))
        _copy_folder(part.run.path / "minimised" / name, into.path / "minimised" / new)
    _join_kills(into, parts)


def _campaign(parts: Sequence[RunPart], output: Path) -> str:
    """The first run's campaign file, for the merged run."""
    tables: dict[str, dict[str, Any]] = tomli.loads(parts[0].run.campaign.read_text())
    tables.setdefault("campaign", {})["output"] = str(output)
    tables.pop("hosts", None)
    for table in ("engine", "mutants"):
        tables.get(table, {}).pop("shard", None)
    return tomli_w.dumps(tables)


def _instances(run: RunDir) -> Iterator[str]:
    """The instances with files; not those with the entries of other runs, without findings."""
    for name in sorted(os.listdir(run.out)):  # noqa: PTH208 - names only
        path = run.instance(name)
        is_one = not name.startswith(".") and path.is_dir() and not path.is_symlink()
        if is_one and (source_of(str(path)) is None or (path / CRASHES).is_dir()):
            yield name


def _copy_instance(old: Path, new: Path) -> None:
    new.mkdir(mode=0o700, exist_ok=True)
    for name in _FILES:
        _copy(old / name, new / name)
    for entry in sorted(old.iterdir()):
        # A resumed afl-fuzz renames crashes/ to crashes.DATE/.
        if entry.name == "queue" or entry.name.partition(".")[0] in FOLDERS:
            _copy_folder(entry, new / entry.name)


def _copy_folder(old: Path, new: Path) -> None:
    """Copy the regular files of a directory, if there is one; no link is followed."""
    if not old.is_dir() or old.is_symlink():
        return
    new.mkdir(mode=0o700, parents=True, exist_ok=True)
    with os.scandir(old) as found:
        for entry in found:
            if not entry.name.startswith(".") and entry.is_file(follow_symlinks=False):
                _copy(old / entry.name, new / entry.name)


def _copy(old: Path, new: Path) -> None:
    """Copy a regular file; nothing if there is none, as in a queue that is just trimmed."""
    try:
        fd = open_regular(old)
    except OSError:
        return
    with os.fdopen(fd, "rb") as source, new.open("xb") as target:
        os.fchmod(target.fileno(), 0o600)
        shutil.copyfileobj(source, target)


def _join_kills(into: RunDir, parts: Sequence[RunPart]) -> None:
    """Join the kill matrices of fuzz-first: which input kills which mutant."""
    lines: list[str] = []
    for part in parts:
        try:
            text = (part.run.mutants / "kills.jsonl").read_text(errors="replace")
        except OSError:
            continue
        for line in text.splitlines():
            try:
                row = json.loads(line[:_MAX_LINE])
                row["killers"] = {part.renamer.key(k): v for k, v in row["killers"].items()}
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                continue
            lines.append(json.dumps(row))
    if lines:
        into.mutants.mkdir(mode=0o700, exist_ok=True)
        (into.mutants / "kills.jsonl").write_text("".join(f"{line}\n" for line in lines))
