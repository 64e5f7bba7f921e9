"""Runs on other machines: ``user@box:RUN``. A process mirrors the run into a directory here.

A command of :data:`COMMANDS` then works on that directory as on any run, over one ssh connection.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import re
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fuzztui.cli.beside import beside
from fuzztui.cli.output import NOT_RUNNING, CliError, UsageError
from fuzztui.cli.progress import Estimate
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.log.files import LogError
from fuzztui.kernel.log.reader import LogReader
from fuzztui.kernel.remote.access import user_name
from fuzztui.kernel.remote.client import ControlClient, RemoteError
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.mirrored import Origin, RunUser, origin_of
from fuzztui.run.campaign.places import address_problem

COMMANDS: Final = ("attach", "status", "events", "ctl", "types", "mutators", "comparisons")
"""Commands that accept a run on another machine."""

_SPEC = re.compile(r"((?:[^\s@:/]+@)?(?:\[[0-9A-Fa-f:.%]+\]|[^\s@:/]+)):(.*)", re.DOTALL)
_POLL_S = 0.02
_END_S = 5.0


def spec_of(given: object) -> tuple[str, str] | None:
    """Return the address and the run of ``user@box:RUN``; None if it is a path here."""
    if not isinstance(given, Path) or not (match := _SPEC.fullmatch(str(given))):
        return None
    return None if os.path.lexists(given) else (match[1], match[2])


@contextlib.contextmanager
def on_this_machine(options: argparse.Namespace, command: str) -> Iterator[None]:
    """Replace a run on another machine in the options by its mirror, while a command works on it.

    Raises :class:`CliError` if the host cannot be reached, or the command is for runs here only.
    """
    spec = spec_of(getattr(options, "run", None))
    if spec is None:
        yield
        return
    address, run = spec
    if problem := address_problem(address):
        raise UsageError(f"{options.run}: {address!r} {problem}")
    if command not in COMMANDS:
        raise UsageError(
            f"{command} works on runs of this machine; {options.run} is on another: "
            f"use ssh {address} fuzztui {command} ..."
        )
    with mirrored(address, run, read_only=getattr(options, "read_only", False)) as mirror:
        options.run, options.mirror = mirror.directory, mirror
        yield


@dataclass(frozen=True, slots=True)
class Mirror:
    """A run on another machine, in a directory here."""

    directory: Path
    origin: Origin
    died: Callable[[], str]
    """Returns why the mirroring process has ended; an empty string while it lives."""


@contextlib.contextmanager
def mirrored(address: str, run: str, *, read_only: bool) -> Iterator[Mirror]:
    """Mirror a run until the end of the context. Raises :class:`CliError`."""
    words = ["--read-only"] if read_only else []
    with temporary_directory("fuzztui-mirror-") as name:
        directory, words = Path(name), [*words, "--", name, address, run]
        with beside("fuzztui.machines.hosts.mirror", words, directory, _END_S) as died:
            yield Mirror(directory, _caught_up(directory, address, died), died)


def user_of(run: Path, mirror: Mirror | None, *, read_only: bool = False) -> RunUser:
    """Return under which name this user gives commands to a run, and why commands are refused."""
    origin = None if mirror is None else mirror.origin
    why = "opened with --read-only" if read_only else ""
    owner = run.stat().st_uid
    if mirror is None and os.geteuid() not in (0, owner) and running(run) is None:
        why = why or f"the run belongs to {user_name(owner)}"  # without a supervisor to ask
    try:
        client = ControlClient(run, "tui")
    except RemoteError:
        return RunUser("", why, origin)
    client.close()
    return RunUser(client.author, why or client.why_not_steer, origin)


def _caught_up(directory: Path, address: str, died: Callable[[], str]) -> Origin:
    """Wait until the log here has all records of the log over there, and show the progress."""
    reader: LogReader | None = None
    with Estimate() as progress:
        while True:
            origin = origin_of(directory)
            if reason := died():
                raise CliError(reason, NOT_RUNNING)
            if origin is None:
                progress.show_text(_preparing(directory, address))
            else:
                with contextlib.suppress(LogError):
                    reader = reader or LogReader(directory)
                    reader.refresh()
                done = 0 if reader is None else reader.last_seq
                if done >= origin.last:
                    return origin
                progress.show(f"copying the log of {address}: record", done, origin.last)
            time.sleep(_POLL_S)


def _preparing(directory: Path, address: str) -> str:
    try:
        done, size = map(int, (directory / "copying").read_text().split())
    except (OSError, ValueError):
        return f"connecting to {address}"
    return f"copying the log of {address}: {done / 1e6:,.1f} of {size / 1e6:,.1f} MB"
