"""The paths inside a run directory, and how the directory is made (fuzztui/run/README.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import fuzztui
from fuzztui.engines.kinds import KINDS, kind_named
from fuzztui.kernel.base.errors import UserError
from fuzztui.kernel.base.files import check_writable

LATEST = 200
"""Number of newest turns among which turns in progress are searched; thousands may be over."""


def is_inside(path: str) -> bool:
    """Whether a relative path, which a log or a host names, stays below what it is relative to."""
    return "\0" not in path and not {"", ".", ".."} & {*path.split("/")}


class SupervisorError(UserError):
    """The campaign cannot be supervised; the message gives the reason and what to do."""


class Unfit(SupervisorError):
    """No engine can start with this campaign file.

    ``key`` is the dotted key that causes the error; the message names the key.
    """

    def __init__(self, message: str, key: str) -> None:
        super().__init__(message)
        self.key = key


class AlreadyRunning(SupervisorError):
    """Another supervisor, process ``pid``, holds the run."""

    def __init__(self, run: Path, pid: int) -> None:
        super().__init__(
            f"{run}: process {pid} already supervises this run; "
            f"'fuzztui attach {run}' shows it, 'fuzztui ctl {run} stop' ends it"
        )
        self.pid = pid


class _Below:
    """A descriptor for :class:`RunDir`: returns the path ``path`` in the run directory."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __get__(self, run_dir: RunDir, owner: type[RunDir]) -> Path:
        return run_dir.path / self._path


@dataclass(frozen=True, slots=True)
class RunDir:
    """The paths of a run directory, which :func:`prepare_run` makes.

    With a ``slot`` (:meth:`in_slot`): the paths of one mutant's turn. The instances of a turn have
    a separate sync directory, because instances that fuzz another program must not import from it.
    """

    path: Path
    slot: str = ""

    campaign = _Below("campaign.toml")
    """The frozen campaign file."""
    log = _Below("log")
    """The directory of the campaign log."""
    minimised_seeds = _Below("minimised-seeds.json")
    """Which seeds are needed (``engine.minimise_seeds``), and for what program and seeds."""
    pool = _Below("out/.pool")
    """The fragment pool, with fragments of all queues (``engines/text/poolfile.py``). All turns
    share the pool of the run: mutants are fuzzed with much the same inputs."""
    targets = _Below("targets.json")
    """The goals and constants that the static analysis has found (spoton)."""
    constants = _Below("constants.json")
    """The application's constants when the run began, if a generator draws them. The choices in
    queue entries select constants by their number, so this file never changes."""
    matrix = _Below("matrix.json")
    """The kill matrix of the last ``score --matrix``: rows that do not change are kept."""
    kills = _Below("kills.json")
    """The first kills of the last ``score``, which ``export`` uses again."""
    mutants = _Below("mutants")
    """The directory of all mutants' files, in a fuzz-first campaign."""
    supervisor = _Below("supervisor")
    """The supervisor's private directory."""
    stderr = _Below("supervisor/stderr")
    """The supervisor's own log."""
    offsets = _Below("supervisor/offsets.json")
    """The file with the offset up to which each ``events.jsonl`` was relayed."""
    hub = _Below("supervisor/hub")
    """The file with the name of the log of the hub that has started the run, if one has."""
    clock = _Below("supervisor/clock.json")
    """The file that relates campaign time to the machine's clock."""

    def in_slot(self, name: str) -> RunDir:
        """Return the paths of one mutant's turn."""
        return RunDir(self.path, name)

    @property
    def turn(self) -> Path:
        """The directory of one mutant's turn."""
        return self.mutants / "slots" / self.slot

    @property
    def cwd(self) -> Path:
        """The working directory of a turn's mutant; it exists while the turn is in progress."""
        return self.turn / "cwd"

    @property
    def out(self) -> Path:
        """The sync directory: one AFL output directory for each instance."""
        return (self.turn if self.slot else self.path) / "out"

    @property
    def seeds(self) -> Path:
        """The directory of AFL++'s seeds."""
        return (self.turn if self.slot else self.path) / "seeds"

    def turns(self) -> list[RunDir]:
        """Return the paths of each turn in progress, among the ``LATEST`` newest turns."""
        slots = self.mutants / "slots"
        try:
            names = os.listdir(slots)  # noqa: PTH208 - names only
        except OSError:  # no turn yet
            return []
        names.sort(key=lambda name: (len(name), name))  # they are numbered
        # Once a second: a Path for each of them takes ten times as long.
        running = (n for n in names[-LATEST:] if os.path.isdir(f"{slots}/{n}/cwd"))  # noqa: PTH112
        return [self.in_slot(name) for name in running]

    def instance(self, name: str) -> Path:
        """One instance's directory."""
        return self.out / name

    def input(self, instance: str, file: str) -> Path:
        """The file of an entry or finding that a log names; a missing one if not below ``out``."""
        return self.out / (f"{instance}/{file}" if is_inside(f"{instance}/{file}") else ".no-file")

    def expose_package(self, kind: str = "") -> Path:
        """Make the directory that puts ``fuzztui`` on a target's path, and nothing else.

        If another package has the engine of this ``kind``: that package, too.
        """
        directory = self.supervisor / "pkg"
        directory.mkdir(mode=0o700, exist_ok=True)
        packages = [Path(fuzztui.__file__).parent]
        if kind and kind not in KINDS:
            spec = find_spec(kind_named(kind).module.partition(".")[0])
            if spec is not None and spec.origin:
                packages.append(Path(*(spec.submodule_search_locations or [spec.origin])[:1]))
        for package in packages:
            link = directory / package.name
            # Made again when the run or the installation has moved.
            if not link.is_symlink() or link.readlink() != package:
                fresh = directory / f"{package.name}.new"
                fresh.unlink(missing_ok=True)
                fresh.symlink_to(package, target_is_directory=package.is_dir())
                fresh.replace(link)
        return directory


def prepare_run(run: Path) -> None:
    """Make the run directory, accessible to its user only; an existing run is left as it is.

    Raises :class:`SupervisorError` if the directory cannot be made, or contains other files.
    """
    advice = "choose another campaign.output"
    try:
        if os.path.lexists(run) and not run.is_dir():
            raise SupervisorError(f"{run}: exists and is not a directory; {advice}")
        run.parent.mkdir(parents=True, exist_ok=True)
        run.mkdir(mode=0o700, exist_ok=True)
        status = run.stat()
        if status.st_uid != os.geteuid():
            raise SupervisorError(f"{run}: belongs to another user; {advice}")
        # In this order: another process may be making the run, and "supervisor" is made first.
        if (found := _first_entry(run)) and not (run / "supervisor").is_dir():
            raise SupervisorError(
                f"{run}: is not a run of fuzztui: it contains {found!r}, and files could be "
                f"overwritten; {advice}, or empty the directory"
            )
        if status.st_mode & 0o077:
            run.chmod(0o700)
        for part in ("supervisor", "log", "out"):
            (run / part).mkdir(mode=0o700, exist_ok=True)
        check_writable(run / "supervisor")
    except OSError as e:
        what = e.strerror or str(e)
        raise SupervisorError(
            f"{e.filename or run}: cannot make or write the run directory: {what}; {advice}"
        ) from None


def _first_entry(directory: Path) -> str | None:
    with os.scandir(directory) as entries:
        return next((entry.name for entry in entries), None)
