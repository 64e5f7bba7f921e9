"""What a campaign needs on a host: its files, and its campaign file with the paths over there."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from fuzztui.features.fuzzfirst.ranking import RANKED
from fuzztui.kernel.base.atomic import replace_bytes
from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.base.files import read_if_regular
from fuzztui.kernel.base.text import several, visible
from fuzztui.machines.hosts.gather import SHIPPED, Parcel, ShippedFile, ShippedPart
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign import Campaign, FrozenCampaign
from fuzztui.run.campaign.binaries import CMPLOG, binaries_of, cmplog_of
from fuzztui.run.campaign.model import Tables, run_of, toml_of
from fuzztui.run.campaign.places import HostPlace
from fuzztui.run.campaign.schema import AFL, HOSTS, Key, tables_for
from fuzztui.run.campaign.table import feature_tables
from fuzztui.run.campaign.values import BUILD, in_build
from fuzztui.run.home.finding import campaign_file

RUNS: Final = "~/.local/share/fuzztui/runs"
"""The directory of runs on a host, by default."""

HOST_RUN: Final = "@fuzztui-run@"
"""Stands in a shipped campaign for the absolute path of the host's run; the host replaces it."""

SEEDS_APART: Final = 1000
"""Difference of the random seeds of two hosts: larger than the number of instances on a host."""

_SYSTEM: Final = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/dev", "/proc", "/sys", "/etc")
"""Directories that each host has: programs in them are not shipped."""

ANALYSED: Final = ("targets.json", "constants.json", "supervisor/analysed.json", RANKED)
"""Files of a run that were made from the target, once for all hosts: with the same constants the
entries of a generator mean the same on all of them."""

_CWD: Final = "cwd"
_BUILT: Final = "build"
_RUN: Final = "run"


@dataclass(frozen=True, slots=True)
class Shipment:
    """Everything for one host. ``run``: its run directory there, as ``~/...`` or absolute."""

    place: HostPlace
    run: str
    campaign_text: str
    files: tuple[ShippedFile, ...]
    directories: tuple[str, ...]
    parts: tuple[ShippedPart, ...]

    def described(self) -> list[str]:
        """Return a line for each path of this machine that is shipped."""
        return [
            f"{visible(str(part.source))}: {several(part.files, 'file')}, {_amount(part.size)}"
            for part in self.parts
        ]


def _amount(size: int) -> str:
    return f"{size / (1 << 20):.1f} MB" if size >= 1 << 20 else f"{size / 1024:.1f} kB"


def host_run(campaign: Campaign, place: HostPlace, hub: str = "") -> str:
    """Return the run directory on a host: always the same one for a run of the hub.

    ``hub``: the name of the hub's log, which another run in the hub's directory does not have.
    """
    if place.path:
        return place.path
    machine = read_if_regular("/etc/machine-id", 64) or socket.gethostname().encode()
    # With the host's name: hosts may share a home directory.
    where = os.fsencode(campaign.output)
    parts = b"\0".join((machine.strip(), where, place.name.encode(), hub.encode()))
    digest = hashlib.blake2b(parts, digest_size=4).hexdigest()
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", campaign.name)[:60].strip("-.") or "campaign"
    return f"{RUNS}/{name}-{place.name}-{digest}"


def shipment(
    loaded: FrozenCampaign,
    place: HostPlace,
    index: int,
    run: Path | None = None,
    hub: str = "",
) -> Shipment:
    """Return what host number ``index`` (from 0) needs. Blocking: reads all files.

    ``run``: the hub's run, which has the build of an AFL++ target; None: the campaign's own.
    ``hub``: as in :func:`host_run`.
    Raises :class:`HostError`.
    """
    where = host_run(loaded.campaign, place, hub)
    if not place.address and Path(where).expanduser() == loaded.campaign.output:
        raise HostError(
            f"{where} is the run of the whole campaign", "give the host `here` another path"
        )
    parcel = Parcel()
    try:
        tables = _Rewriting(loaded, place, run or loaded.campaign.output, parcel).tables()
        for name in ANALYSED:
            if (made := (run or loaded.campaign.output) / name).is_file():
                parcel.add_file(made, f"{_RUN}/{Path(name).name}")
        files = parcel.finished()
    except OSError as e:
        raise HostError(
            f"{e.filename} cannot be read: {e.strerror}", "correct the path in the campaign file"
        ) from None
    _settings(tables, loaded.campaign, place, index, where)
    text = toml_of(tables)
    directories = tuple(sorted(parcel.directories))
    return Shipment(place, where, text, files, directories, tuple(parcel.parts))


def shipped_files(loaded: FrozenCampaign, run: Path) -> Mapping[str, Path]:
    """Return the files that hosts get, by their paths there below ``shipped``. Blocking.

    ``run``: the hub's run. Empty if the files cannot be collected: :func:`shipment` says why.
    """
    parcel = Parcel()
    try:
        for place in loaded.campaign.hosts[:1]:  # the files are the same on all hosts
            _Rewriting(loaded, place, run, parcel).tables()
    except (OSError, HostError):
        return {}
    return parcel.files


def _settings(tables: Tables, campaign: Campaign, place: HostPlace, index: int, where: str) -> None:
    """Set the keys that differ from host to host."""
    given = tables["campaign"]
    given |= {
        "output": where,
        "host": place.name,
        "seed": (campaign.seed + SEEDS_APART * index) % LARGEST,
    }
    given.pop("verdicts", None)  # verdicts are written at the hub
    if campaign.budget_trials:
        given["budget"] = shares(campaign)[index]
    engine = tables["engine"]
    engine["instances"] = place.instances
    if campaign.table("mutants") and len(campaign.hosts) > 1:  # each host fuzzes mutants of its own
        tables["mutants"]["shard"] = f"{index + 1}/{len(campaign.hosts)}"
    if len(campaign.hosts) > 1:  # only the hub sees what all hosts find
        for key in ("idle", "edges"):
            tables.get("stop", {}).pop(key, None)
    there = ["main", *(f"s{i}" for i in range(1, place.instances))]
    if options := engine.get("options"):
        engine["options"] = {name: words for name, words in options.items() if name in there}


def take_analysed(run: Path) -> None:
    """On a host: put the shipped files of :data:`ANALYSED` in their places. Raises OSError.

    An existing file stays, because the run's entries depend on it.
    """
    for name in ANALYSED:
        shipped = run / SHIPPED / _RUN / Path(name).name
        if shipped.is_file() and not (run / name).exists():
            (run / name).parent.mkdir(mode=0o700, exist_ok=True)
            replace_bytes(run / name, shipped.read_bytes())


def shares(campaign: Campaign) -> list[int]:
    """Return the trials of each host, in proportion to its instances; their sum is the budget."""
    whole = sum(place.instances for place in campaign.hosts)
    upto, before, found = 0, 0, []
    for place in campaign.hosts:
        upto += place.instances
        share = campaign.budget_trials * upto // whole
        found.append(share - before)
        before = share
    return found


def _directory_of(campaign: Campaign) -> Path:
    """The directory of the campaign file, also if the campaign was read from its frozen copy."""
    run = run_of(campaign.file)
    origin = None if run is None else campaign_file(run)
    return (campaign.file if origin is None else origin).parent


class _Rewriting:
    """Puts files into the parcel, and their paths over there into the tables."""

    def __init__(self, loaded: FrozenCampaign, place: HostPlace, run: Path, parcel: Parcel) -> None:
        self._loaded = loaded
        self._campaign = loaded.campaign
        self._place = place
        self._build = run / "build"
        self._is_resumed = run_of(loaded.campaign.file) is not None
        self._home = _directory_of(loaded.campaign)
        self._parcel = parcel
        self._cwd: Path | None = None
        """The working directory of a program, if it is not shipped as a whole."""

    def tables(self) -> Tables:
        """Return the tables of the host's campaign."""
        left_out = (HOSTS, *(name for name, own in feature_tables().items() if own.of_hub))
        frozen = {n: dict(t) for n, t in self._loaded.frozen.items() if n not in left_out}
        if self._campaign.kind == AFL:
            self._program(frozen)
        else:
            self._python(frozen)
        for name, keys in tables_for(self._campaign.kind).items():
            for key in keys if name not in ("campaign", *left_out) else ():
                if key.name in (table := frozen.get(name, {})) and key.name != "afl_path":
                    table[key.name] = self._value(key, table[key.name])
        return frozen

    def _value(self, key: Key, value: Any) -> Any:
        match key.type:
            case "file" | "directory":
                return self._path(value)
            case "files" | "directories" | "paths":
                return [self._path(path) for path in value]
            case "seeds":
                return [self._seed(path) for path in value if self._is_there(path)]
            case "callable":
                file, colon, function = str(value).partition(":")
                return self._path(file) + colon + function if file.endswith(".py") else value
            case "targets":
                return self._targets(value)
        return value

    def _targets(self, value: str | list[str]) -> str | list[str]:
        """A function, or the parts of a suite, as they are on the host."""
        if isinstance(value, list):
            return [str(self._targets(part)) for part in value]
        file, colon, function = value.partition(":")
        is_path = file.endswith(".py") or not colon
        return self._path(file) + colon + function if is_path else value

    def _path(self, path: str) -> str:
        """Return where a file or directory is on the host, relative to the run there."""
        return f"{SHIPPED}/{self._parcel.at(Path(path))}"

    # ---------------------------------------------------------------- Python targets

    def _python(self, frozen: Tables) -> None:
        target = frozen["target"]
        if self._place.address or self._place.python:
            target["python"] = self._place.python or "python3"
        target.pop("examples", None)  # the hub saves them in the project
        cwd, paths = Path(target["cwd"]), [Path(path) for path in target.get("path", ())]
        harnesses = self._harnesses(frozen)
        roots = [root for root in (*paths, cwd) if self._is_needed(root)]
        self._parcel.add_trees([*roots, *harnesses])
        for root in {cwd, *paths}:
            if not self._parcel.place_of(root):
                self._parcel.stand_in(root, _CWD)
        if sources := frozen.get("mutants", {}).get("sources"):
            frozen["mutants"]["sources"] = [self._source(text) for text in sources]

    def _callables(self, frozen: Tables) -> Iterator[str]:
        for name, keys in tables_for(self._campaign.kind).items():
            table = frozen.get(name, {})
            for key in keys:
                if key.type in ("callable", "targets") and (value := table.get(key.name)):
                    yield from value if isinstance(value, list) else [value]

    def _harnesses(self, frozen: Tables) -> list[Path]:
        """The directories of harness files: engines import from them, too."""
        files = (text.partition(":")[0] for text in self._callables(frozen))
        return [
            Path(file) if Path(file).is_dir() else Path(file).parent
            for file in files
            if file.endswith(".py") or Path(file).is_dir()
        ]

    def _is_needed(self, root: Path) -> bool:
        """Whether a directory of the path is shipped.

        That of the campaign file is in it by default: it may be a whole home, and is shipped only
        if one of the campaign's modules or tests is there. Tests are named by their paths in the
        project, whose settings and ``conftest.py`` pytest looks for.
        """
        if not self._is_home(root) or any(part.is_relative_to(root) for part in self._suite()):
            return True
        modules = [text.partition(":")[0] for text in self._callables(self._loaded.frozen)]
        modules += self._campaign.target.get("include", ())
        tops = {module.partition(".")[0] for module in modules}
        return any(
            (root / top).is_dir() or (root / f"{top}.py").exists() or any(root.glob(f"{top}.*.so"))
            for top in tops - {""}
            if "/" not in top
        )

    def _suite(self) -> list[Path]:
        """The files and directories of a suite."""
        parts = self._campaign.target.get("suite") or ()
        return [Path(part.partition(":")[0]) for part in parts if part.startswith("/")]

    def _source(self, text: str) -> str:
        """Rewrite ``FILE:LINES`` if it is an absolute path."""
        file, colon, lines = text.partition(":")
        return f"{self._path(file)}{colon}{lines}" if file.startswith("/") else text

    # ---------------------------------------------------------------- AFL++ targets

    def _program(self, frozen: Tables) -> None:
        target, engine, campaign = frozen["target"], frozen["engine"], self._campaign
        if self._place.address:
            engine.pop("afl_path", None)  # AFL++ of the host
        self._working_directory(target)
        target.pop("coverage", None)  # the hub measures it, which has the source and all entries
        if campaign.table("mutants"):  # each mutant is built over there, from the source
            source = Path(target["source"])
            self._parcel.add_trees([source])
            rows = (self._relative(text, source) for text in frozen["mutants"]["sources"])
            frozen["mutants"]["sources"] = [*rows]
            name, *arguments = target["command"]
            target["command"] = [name, *map(self._argument, arguments)]
            target.pop("binaries", None)  # mutants have none
            return
        if campaign.target["build"]:
            if not self._build.is_dir():
                raise HostError(
                    f"the target is not built: there is no {self._build}",
                    "start the campaign, which builds it",
                )
            self._parcel.add_tree(self._build, _BUILT)
            target.pop("build", None)
        target["command"] = self._command(campaign.target["command"])
        self._binaries(target)
        if (cmplog := cmplog_of(campaign)) not in ("", "0"):
            target["cmplog"] = self._word(cmplog)
        for key in ("run", "against"):
            if campaign.table("oracle").get(key):
                frozen["oracle"][key] = self._command(campaign.table("oracle")[key])
        target.pop("source", None)

    def _binaries(self, target: dict[str, Any]) -> None:
        """Ship the builds of ``target.binaries``. The host's campaign names CmpLog's as a key."""
        planned, left = target.get("binaries", {}), self._place.instances - 1
        table = target["binaries"] = {}
        for binary in binaries_of(self._campaign):
            if binary.build:
                self._parcel.add_tree(binary.directory, binary.directory.name)
            if binary.name != CMPLOG:
                table[binary.name] = {**planned[binary.name]}
                table[binary.name].pop("build", None)
                table[binary.name]["command"] = self._command([*binary.command])
                table[binary.name]["instances"] = min(binary.instances, left)
                left -= table[binary.name]["instances"]

    def _working_directory(self, target: dict[str, Any]) -> None:
        """Ship ``target.cwd``; of the campaign file's directory, only what the command names."""
        cwd = Path(target["cwd"])
        if self._is_home(cwd):
            self._cwd = cwd
            self._parcel.stand_in(cwd, _CWD)
        else:
            self._parcel.add_trees([cwd])

    @staticmethod
    def _relative(text: str, source: Path) -> str:
        file, colon, lines = text.partition(":")
        if file.startswith("/") and Path(file).is_relative_to(source):
            file = Path(file).relative_to(source).as_posix()
        return f"{file}{colon}{lines}"

    def _is_home(self, directory: Path) -> bool:
        """Whether ``directory`` is that of the campaign file, the default of several keys."""
        return directory.resolve() == self._home.resolve()

    def _command(self, words: list[str]) -> list[str]:
        program, *arguments = words
        return [self._word(program), *(self._argument(word) for word in arguments)]

    def _argument(self, word: str) -> str:
        """Ship a file that an argument names."""
        if word.startswith("/"):
            return self._word(word)
        if self._cwd is not None and word:
            path = Path(os.path.normpath(self._cwd / word))
            with contextlib.suppress(OSError, ValueError):
                inside = path.relative_to(self._cwd)
                if path.is_file():
                    self._parcel.add_file(path, f"{_CWD}/{inside.as_posix()}")
        return word

    def _word(self, word: str) -> str:
        """Return the path on the host of a program or file; any other word unchanged."""
        path = Path(word)
        with contextlib.suppress(OSError, ValueError):
            built = path.is_relative_to(self._build.parent)
            if path.is_file() and not built and self._is_system(path):
                return word
            if path.is_file():
                return f"{HOST_RUN}/{self._path(word)}"
        return word

    @staticmethod
    def _is_system(path: Path) -> bool:
        return any(path.is_relative_to(directory) for directory in _SYSTEM)

    def _is_there(self, seed: str) -> bool:
        """Whether to ship ``seed``: a resumed run needs no seeds, which may be deleted by now."""
        return not self._is_resumed or in_build(seed) or Path(seed).exists()

    def _seed(self, path: str) -> str:
        if not in_build(path) or self._campaign.table("mutants"):
            return path if in_build(path) else self._path(path)
        return self._path(str(self._build / path.removeprefix(BUILD)))


def located(tables: Any, run: str) -> Any:
    """Return a campaign's tables with the run's path in place of :data:`HOST_RUN`."""
    if isinstance(tables, dict):
        return {name: located(value, run) for name, value in tables.items()}
    if isinstance(tables, list):
        return [located(value, run) for value in tables]
    if isinstance(tables, str) and tables.startswith(f"{HOST_RUN}/"):
        return run + tables.removeprefix(HOST_RUN)
    return tables
