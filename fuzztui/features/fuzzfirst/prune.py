"""Corpora between programs: gather inputs, prune those on which a program fails, write seeds."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fuzztui.features.fuzzfirst.batch import CHUNK, BatchRunner
from fuzztui.features.fuzzfirst.showmap import InputResult, read_input
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.renamed_folders import renamed
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.observe.afl_names import parse_name

SEED = "seed:"
REPAIR = "repair"
"""How near misses are changed (:attr:`Input.changed`)."""

_SEED_NAME = re.compile(r"([A-Za-z0-9._-]+)\+(?:(crashes|hangs)\+)?([0-9]{6,10})")
_UNFIT = re.compile(r"[^A-Za-z0-9._+-]")
_ORIGIN = re.compile(r"([A-Za-z0-9._-]+)/(?:(crashes|hangs)/)?([0-9]{1,10})")


@dataclass(frozen=True, slots=True)
class Input:
    """A file of a queue, ``crashes``, ``hangs`` or seeds, with the origin of its content."""

    path: Path
    origin: str
    """"m7/45" (instance and id in its queue), "m7/crashes/3", or "seed:NAME"."""
    digest: str
    """sha256 of the content, hexadecimal."""
    parent: int = -1
    """If the input is a finding: its parent's id in the instance's queue; -1: unknown."""
    changed: str = ""
    """How the content of ``origin`` was changed; an empty string: not at all."""


def edges_of(verdict: InputResult) -> set[int]:
    """Return the edges that an input covers, without hit counts."""
    return {tuple_ >> 3 for tuple_ in verdict.trace}


@dataclass(slots=True)
class Pruned:
    """A pruned corpus. Files that are unfit as inputs are in neither list."""

    kept: list[Input] = field(default_factory=list)
    aside: list[tuple[Input, str]] = field(default_factory=list)
    """Inputs on which the program fails, with "crash" or "hang"."""
    edges: set[int] = field(default_factory=set)
    """Edges that the campaign's seeds cover, without those on which the program fails."""
    lost: str = ""
    """Why the program is not worth fuzzing: the seeds reach less of it than of the target."""


async def prune(batch: BatchRunner, corpus: Sequence[Input], seeds: Collection[str] = ()) -> Pruned:
    """Separate the inputs on which the batch's program fails from the others, in order.

    ``seeds``: digests of the campaign's seeds.
    """
    pruned = Pruned()
    async for some in run_all(batch, corpus):
        for one, verdict in some:
            if verdict.outcome == "ok":
                pruned.kept.append(one)
                if one.digest in seeds:
                    pruned.edges |= edges_of(verdict)
            elif verdict.outcome in ("crash", "hang"):
                pruned.aside.append((one, verdict.outcome))
    return pruned


async def run_all(
    batch: BatchRunner, corpus: Sequence[Input]
) -> AsyncIterator[list[tuple[Input, InputResult]]]:
    """Yield inputs with their results, in order, ``CHUNK`` at a time: traces take memory."""
    for at in range(0, len(corpus), CHUNK):
        some = corpus[at : at + CHUNK]
        verdicts = await batch.run([one.path for one in some])
        yield list(zip(some, verdicts, strict=True))


def put_aside(pruned: Pruned, directory: Path) -> None:
    """Copy the pruned inputs to ``directory``, as ``crash:m7:000045``.

    Inputs that are already there are not copied again. Raises :class:`SupervisorError`.
    """
    for one, outcome in pruned.aside:
        if (data := read_input(one.path)) is not None:
            name = f"{outcome}:{file_name(one.origin).replace('+', ':')}"
            kept = directory / name
            if kept.exists() and read_input(kept) != data:  # two seeds may have the same name
                kept = directory / f"{name}:{hashlib.sha256(data).hexdigest()[:12]}"
            if not kept.exists():
                write_whole(kept, data)


def lay_out(inputs: Iterable[Input], directory: Path) -> int:
    """Replace ``directory`` by seeds for afl-fuzz; return their number.

    afl-fuzz repeats their names (``m7+000045``) in its queue (``orig:``), from which :func:`gather`
    and :func:`gather_seeds` determine their origin. The directory is replaced as a whole. Inputs
    whose files are gone are left out. Raises :class:`SupervisorError`.
    """
    fresh = directory.with_name(f"{directory.name}.new")
    old = directory.with_name(f"{directory.name}.old")
    names: set[str] = set()
    try:
        for left in (fresh, old):
            if left.exists():
                shutil.rmtree(left)
        fresh.mkdir(mode=0o700, parents=True)
        for one in inputs:
            if (data := read_input(one.path)) is None:
                continue
            name = file_name(one.origin)
            if name in names:
                name = f"{name[:80]}-{one.digest[:12]}"
            names.add(name)
            (fresh / name).write_bytes(data)
        if directory.exists():
            directory.rename(old)
        fresh.rename(directory)
        shutil.rmtree(old, ignore_errors=True)
    except OSError as e:
        raise SupervisorError(f"{e.filename or directory}: {e.strerror or e}") from None
    return len(names)


def gather(out: Path, names: Sequence[str], parts: Sequence[str] = ("queue",)) -> list[Input]:
    """Return the inputs in AFL directories ``out/NAME/PART``, each content once.

    In the order given, those of a directory by id. Includes only what AFL would read: regular files
    of 1 byte to 1 MiB. For findings also reads directories that a resumed afl-fuzz has renamed
    (``crashes.DATE``). Blocks: call it in a thread.
    """
    found: dict[str, Input] = {}
    for name in names:
        for part in parts:
            for directory in _directories(out / name, part):
                for file in sorted(
                    _files(directory), key=lambda f: (parse_name(f.name).id, f.name)
                ):
                    if (data := read_input(file)) is not None:
                        digest = hashlib.sha256(data).hexdigest()
                        origin, parent = _origin(name, part, file.name)
                        found.setdefault(digest, Input(file, origin, digest, parent))
    return list(found.values())


def gather_seeds(directory: Path) -> list[Input]:
    """Return the inputs in a directory of seeds, each content once, sorted by name."""
    return _gather_named(directory, lambda name: name)


def gather_aside(directory: Path) -> list[Input]:
    """Return the inputs that :func:`put_aside` has copied to a directory, each content once."""
    return _gather_named(directory, lambda name: name.partition(":")[2].replace(":", "+"))


def _gather_named(directory: Path, seed: Callable[[str], str]) -> list[Input]:
    """Return the inputs in a directory, sorted; ``seed`` maps a file name to a seed's name."""
    found: dict[str, Input] = {}
    for file in sorted(_files(directory)):
        if (data := read_input(file)) is not None:
            digest = hashlib.sha256(data).hexdigest()
            found.setdefault(digest, Input(file, _of_seed(seed(file.name)), digest))
    return list(found.values())


def file_name(origin: str) -> str:
    """Return a file name without ``:`` and ``,``: ``m7+000045``, or the seed's own name."""
    if of := _ORIGIN.fullmatch(origin):
        kind = f"{of[2]}+" if of[2] else ""
        return f"{of[1]}+{kind}{int(of[3]):06}"
    name = _UNFIT.sub("_", origin.removeprefix(SEED))[-100:].lstrip(".") or "_"
    # A user's seed can have a name that looks like one of fuzztui's.
    return name.replace("+", "_") if _SEED_NAME.fullmatch(name) else name


def write_whole(file: Path, data: bytes) -> None:
    """Write a file atomically, by a rename from outside its directory.

    Raises :class:`SupervisorError`.
    """
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        replace_bytes(file, data, file.parent.parent)
    except OSError as e:
        raise SupervisorError(f"{e.filename or file}: {e.strerror or e}") from None


def _directories(instance: Path, part: str) -> list[Path]:
    """Return a part's directory, after those of findings that afl-fuzz renamed, oldest first."""
    away = renamed(instance, part) if part != "queue" else []
    return [*reversed(away), instance / part]


def _files(directory: Path) -> Iterator[Path]:
    try:
        names = os.listdir(directory)  # noqa: PTH208 - names only
    except OSError:
        return
    yield from (directory / n for n in names if n != "README.txt" and not n.startswith("."))


def _origin(instance: str, part: str, file: str) -> tuple[str, int]:
    """Return the origin of a file's content, and the id of its parent."""
    name = parse_name(file)
    if name.op.startswith("orig:"):
        return _of_seed(name.op[5:]), -1
    if name.id < 0:
        return f"{SEED}{file}", -1
    if name.op.startswith(f"{REPAIR}+"):  # not the content of its parent
        return f"{instance}/{name.id}", -1
    made_of = name.src[0] if name.src else -1
    if part != "queue":
        return f"{instance}/{part}/{name.id}", made_of
    if name.sync and made_of >= 0:
        return f"{name.sync}/{made_of}", -1
    return f"{instance}/{name.id}", -1


def _of_seed(name: str) -> str:
    """Return the origin that :func:`lay_out` put into this name, or the name as a seed's."""
    if of := _SEED_NAME.fullmatch(name):
        return f"{of[1]}/{of[2]}/{int(of[3])}" if of[2] else f"{of[1]}/{int(of[3])}"
    return f"{SEED}{name}"
