"""What a sync directory contains: its instances, alive or dead, and why some cannot be adopted."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fuzztui.features.watch.directories import Trees, is_instance
from fuzztui.features.watch.instance import UNSEEN
from fuzztui.features.watch.snapshot import snapshot
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.model.state import Instance
from fuzztui.run.home.finding import is_run
from fuzztui.tools.adopt.command import (
    FuzzerCommand,
    parse_command,
    read_setup,
    started_in,
    value_of,
)
from fuzztui.tools.adopt.processes import LiveFuzzer, living


class AdoptError(UserError):
    """A fleet cannot be adopted; the message says why, for each instance, and what to do."""


@dataclass(frozen=True, slots=True)
class FoundInstance:
    """One instance of the fleet."""

    name: str
    seen: Instance
    """Its state and statistics, from its files."""
    live: LiveFuzzer | None
    command: FuzzerCommand | None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class FoundFleet:
    """A sync directory and its instances. ``left``: names of directories that stay as they are."""

    directory: Path
    instances: list[FoundInstance]
    left: list[str]

    @property
    def commands(self) -> list[FuzzerCommand]:
        """The commands of the instances, that of main first."""
        found = [one.command for one in self.instances if one.command]
        return sorted(found, key=lambda command: not command.is_main)


def check_directory(directory: Path) -> Path:
    """Return the real path of a sync directory. Raises :class:`AdoptError` for another one."""
    real = Path(os.path.realpath(directory))
    if not real.is_dir():
        raise AdoptError(f"{directory}: there is no such directory")
    for run in (real, real.parent):
        if is_run(run):
            raise AdoptError(f"{directory}: belongs to a run of fuzztui: fuzztui attach {run}")
    if is_instance(str(real)):
        raise AdoptError(
            f"{directory}: is the directory of one instance; name the one given to afl-fuzz -o, "
            f"such as {real.parent} (afl-fuzz 2.x without -M and -S has none: resume it by hand "
            "with -M main)"
        )
    if real.stat().st_uid != os.geteuid() or not os.access(real, os.W_OK | os.X_OK):
        raise AdoptError(f"{directory}: belongs to another user: adopt the fleet as this user")
    return real


def survey(directory: Path, without: Collection[str], remembered: Mapping[str, Any]) -> FoundFleet:
    """Look at all instances. Changes nothing.

    ``without``: names to leave as they are; ``remembered``: by name, the commands of processes that
    an earlier adoption has stopped (:meth:`FuzzerCommand.to_json`). Raises :class:`AdoptError`.
    """
    trees, alive = Trees([directory]), living(directory)
    if nothing := trees.nothing():
        raise AdoptError(str(nothing))
    seen = snapshot(trees).state.instances
    names = {*seen, *alive}
    if unknown := sorted({*without} - names):
        raise AdoptError(f"--without {unknown[0]}: there is no such instance in {directory}")
    found, left = [], []
    for name in sorted(names):
        path = directory / name
        is_afls = name in alive or any(
            (path / f).exists() for f in ("fuzzer_stats", "fuzzer_setup")
        )
        if name in without or path.is_symlink() or not is_afls:
            left.append(name)
        else:
            one = seen.get(name) or Instance(name)
            found.append(_found(path, one, alive.get(name), remembered.get(name)))
    if not found:
        raise AdoptError(f"{directory}: has no instance of afl-fuzz to adopt")
    return FoundFleet(directory, found, left)


def _found(path: Path, seen: Instance, live: LiveFuzzer | None, known: Any) -> FoundInstance:
    if live is not None:
        return FoundInstance(path.name, seen, live, live.command, live.problem)
    if seen.state != "stopped":
        why = (
            "its statistics advance, but no afl-fuzz of this machine writes them: stop it on its "
            "own machine, and adopt the fleet there"
            if seen.reason == UNSEEN
            else "its directory is locked by a process that cannot be seen from here, of another "
            "user or in a container: stop it there, or adopt the fleet there"
        )
        return FoundInstance(path.name, seen, None, None, why)
    try:
        return FoundInstance(path.name, seen, None, _command(path, known))
    except ValueError as e:
        return FoundInstance(path.name, seen, None, None, str(e))


def _command(path: Path, known: Any) -> FuzzerCommand:
    """The command of a dead instance. Raises ValueError."""
    argv, env = read_setup(path)
    if is_run(run := Path(value_of(argv, "-o")).parent):  # moved since it has adopted the fleet
        raise ValueError(f"the run {run} has it already: fuzztui {run}/campaign.toml resumes it")
    match known:  # a file of fuzztui's
        case {"argv": list(same), "env": dict(its_env), "cwd": str(its_cwd)} if same == argv:
            return parse_command(argv, its_env, Path(its_cwd))
    return parse_command(argv, env, started_in(argv, path.parent))
