"""What must hold of a run and of the machine: on disk, in the log, by the commands, left behind."""

from __future__ import annotations

import fcntl
import json
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from faults.fold import Fold, Instance, LogFollower, Violation, fold_run, identity

FINDINGS = {"crashes": "crash", "hangs": "hang"}
IGNORED = ("README.txt",)
COMMON = ("log_seq", "state", "elapsed_s", "execs", "corpus", "crashes", "hangs")
"""Keys of ``status --json`` that the second fold computes too."""

Command = Callable[..., "subprocess.CompletedProcess[str]"]
"""Runs ``fuzztui`` with these arguments."""


def directories(run: Path) -> dict[str, Path]:
    """The directory of each instance by its name: of the target, and of each mutant's turn."""
    places = [*run.glob("out/*"), *run.glob("mutants/slots/*/out/*")]
    return {p.name: p for p in places if p.is_dir() and not p.name.startswith(".")}


def files(directory: Path) -> dict[str, Path]:
    """Entries and findings of an instance: ``queue/NAME``, ``crashes/NAME``, ``hangs/NAME``.

    A resumed afl-fuzz renames ``crashes`` to ``crashes.DATE``; the key stays the same.
    """
    found = {}
    for path in directory.glob("*/*"):
        base = path.parent.name.partition(".")[0]
        if base in ("queue", *FINDINGS) and path.is_file() and path.name not in IGNORED:
            found[f"{base}/{path.name}"] = path
    return found


def unlogged(run: Path, fold: Fold) -> list[str]:
    """The files on disk that the log does not have yet, as ``INSTANCE/FOLDER/NAME``."""
    missing = []
    for name, directory in directories(run).items():
        instance = fold.instances.get(name, Instance())
        logged = _logged(instance)
        missing += [
            f"{name}/{key}"
            for key in files(directory)
            if key not in logged and not (instance.mutant and _of_turn(instance, key))
        ]
    return missing


def check_disk(run: Path, fold: Fold, *, was_full: bool = False) -> Iterator[Violation]:
    """Compare the files of a run at rest with its log, both ways.

    ``was_full``: the disk was full at times. afl-fuzz leaves empty files then, and forgets them
    when it is resumed: that is reported as ``afl-disk``, not as ``lost``.
    """
    for file in unlogged(run, fold):
        yield Violation("lost", f"{file} is on disk and not in the log")
    places = directories(run)
    for name, instance in fold.instances.items():
        directory = places.get(name)
        if instance.mutant and not (directory and (directory / "queue").is_dir()):
            continue  # a turn that is over is removed
        there = files(directory) if directory else {}
        for key in _logged(instance) - there.keys():
            yield Violation("lost", f"{name}/{key} is in the log and not on disk")
        by_afl = "afl-disk" if was_full and fold.engine == "afl" else ""
        for gone in instance.earlier - {identity(key) for key in there}:
            yield Violation(by_afl or "lost", f"{name}: {gone} is not in the queue any more")
        for key, path in there.items():
            logged, size = instance.sizes.get(key, -1), path.stat().st_size
            # afl-fuzz trims entries in place.
            if size != logged >= 0 and (size == 0 or fold.engine != "afl"):
                text = f"{name}/{key} has {size} bytes, {logged} in the log"
                yield Violation(by_afl or "torn", text)


def _logged(instance: Instance) -> set[str]:
    """The files of an instance that the log has; findings in a mutant are none of the target."""
    found = {_plain(file) for _, file in instance.findings}
    return found | set(instance.entries.values())


def _plain(file: str) -> str:
    folder, _, name = file.partition("/")
    return f"{folder.partition('.')[0]}/{name.rpartition('/')[2]}"


def _of_turn(instance: Instance, key: str) -> bool:
    """Whether a file of a mutant's turn needs no record: a finding, or an entry from the start."""
    number = key.removeprefix("queue/id:").partition(",")[0]
    seeded = number.isdigit() and str(int(number)) in instance.seeded
    return seeded or not key.startswith("queue/")


def check_log(run: Path, live: Fold, follower: LogFollower) -> tuple[Fold, list[Violation]]:
    """Read the log of a run at rest from its beginning, compare it with the records read live.

    ``live`` and ``follower`` must have read it to its end.
    """
    fold, again = fold_run(run)
    found = [v for v in again.problems if v not in follower.problems]
    if (again.last, again.digest.digest()) != (follower.last, follower.digest.digest()):
        found.append(
            Violation("rewritten", f"{again.last} records now, {follower.last} were read before")
        )
    found += [v for v in fold.violations if v not in live.violations]
    found += [Violation("damaged", str(p.name)) for p in (run / "log").glob("*.damaged*")]
    zcat = subprocess.run(["zcat", run / "log/campaign.jsonl.gz"], capture_output=True, check=False)
    lines = zcat.stdout.splitlines()
    if zcat.returncode or len(lines) != again.last:
        why = zcat.stderr.decode(errors="replace").strip()
        found.append(Violation("zcat", f"{len(lines)} lines of {again.last} records; {why}"))
    for line in lines:
        try:
            json.loads(line)
        except ValueError as e:
            found.append(Violation("zcat", f"{e}: {line[:80]!r}"))
            break
    return fold, found


def check_commands(run: Path, fold: Fold, fuzztui: Command) -> Iterator[Violation]:
    """``status --json`` and ``replay --json`` of a run at rest agree with the fold."""
    answers: dict[str, dict[str, Any]] = {}
    for name in ("status", "replay"):
        done = fuzztui(name, str(run), "--json")
        try:
            answers[name] = json.loads(done.stdout)
        except ValueError:
            yield Violation(
                "command", f"{name} --json: exit {done.returncode}, {done.stderr[:500]}"
            )
            continue
        if problems := answers[name].get("problems"):
            yield Violation("problems", f"{name} --json: {problems}")
        mine = fold.summary()
        theirs = dict(answers[name])
        # The fold counts as engines do: differences are among the crashes.
        theirs["crashes"] = theirs.get("crashes", 0) + theirs.get("differs", 0)
        for key in COMMON:
            if theirs.get(key) != mine[key]:
                yield Violation(
                    "disagrees", f"{name} --json: {key} {theirs.get(key)}, log: {mine[key]}"
                )
        mutants = answers[name].get("mutants")
        if mutants and fold.mutants and mutants["killed"] != fold.killed():
            yield Violation(
                "disagrees", f"{name} --json: {mutants['killed']} killed, log: {fold.killed()}"
            )
    if len(answers) == 2:
        for key in answers["replay"]:
            if answers["status"].get(key) != answers["replay"][key]:
                yield Violation("disagrees", f"status and replay differ in {key}")


def check_left(run: Path, temporary: Path, runtime: Path, shared: bool) -> Iterator[Violation]:
    """Files, locks and shared memory that an ended campaign has left.

    ``shared``: this process has namespaces of its own, so all shared memory is the campaign's.
    """
    for path in temporary.iterdir():
        yield Violation("left", f"temporary {path.name}")
    for path in (runtime / "fuzztui").rglob("*"):  # ccache has a separate directory beside it
        if not path.is_dir() or path.is_symlink():
            yield Violation("left", f"socket directory: {path.name}")
    for path in run.glob("campaign.toml.*"):
        yield Violation("left", path.name)
    for pattern in ("supervisor/*.new", "log/*.new", "log/*.part"):
        for path in run.glob(pattern):
            yield Violation("left", str(path.relative_to(run)))
    lock = run / "supervisor" / "lock"
    if lock.exists():
        with lock.open("rb") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                yield Violation("left", "the lock is held")
            if file.read().strip():
                yield Violation("left", "the lock still holds a process id")
    if shared:
        for line in Path("/proc/sysvipc/shm").read_text().splitlines()[1:]:
            yield Violation("left", f"shared memory: {' '.join(line.split()[:6])}")
        for path in Path("/dev/shm").iterdir():
            yield Violation("left", f"/dev/shm/{path.name}")


def count(violations: list[Violation]) -> Counter[str]:
    """How often each invariant was broken."""
    return Counter(v.invariant for v in violations)
