"""Read a campaign file, apply overrides, and check everything."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli

from fuzztui.engines.kinds import UnknownKind, plugin_names
from fuzztui.kernel.base.suggest import near
from fuzztui.kernel.wire.mixture import CLASSES, Mixture, completed
from fuzztui.run.campaign.contradictions import contradictions
from fuzztui.run.campaign.files import (
    NAME,
    PREFIX,
    is_pyproject,
    key_lines,
    project_name,
    tables_of,
)
from fuzztui.run.campaign.model import (
    VERDICTS,
    Campaign,
    CampaignError,
    FrozenCampaign,
    Problem,
    Tables,
    run_of,
)
from fuzztui.run.campaign.places import address_problem, parse_host, places
from fuzztui.run.campaign.schema import (
    COMMON,
    ENGINE,
    ENGINES,
    FIRST,
    HOST,
    HOSTS,
    JUDGED,
    TABLES,
    TEXTUAL,
    Key,
    tables_for,
)
from fuzztui.run.campaign.values import (
    BUILD,
    SOURCE,
    absolute,
    check,
    found_on_path,
    in_build,
    nearest,
    program,
)

_HOST_KEYS = frozenset(key.name for key in HOST)
_TEXT: dict[str, str] = {"paths": "strings", "seeds": "strings", "directory": "string"}
"""The type by which a key is checked instead, if the files that it names may be gone."""

MAX_FILE_SIZE = 1 << 20

_TABLE = re.compile(r"^\s*\[(campaign|target|engine)\]", re.MULTILINE)
"""What a campaign file has, whatever its name ends in."""

_USUAL = Mixture(havoc=0.25, text=0.75, splice=0.0)
"""The mixture of a text engine if the campaign file gives no probability."""


def load(
    path: Path,
    overrides: Iterable[str] = (),
    *,
    cwd: Path | None = None,
    kind: str = "",
    text: str | None = None,
    hosts: Iterable[str] = (),
) -> FrozenCampaign:
    """Read ``path``, apply ``table.key=value`` overrides, check everything.

    Of a ``pyproject.toml`` the tables ``[tool.fuzztui.TABLE]`` are read.

    ``cwd``: the base of relative paths in ``overrides``. ``kind``: the engine kind to use instead
    of the file's; tables and keys that this engine does not take are left out. ``text``: what
    ``path`` will contain; the file is then not read. ``hosts``: more hosts, each ``ADDRESS`` or
    ``ADDRESS*N``.

    The frozen copy of a run always means the run that contains the copy, even if the run was moved.
    Files that only the first start reads may be missing.

    Raises :class:`CampaignError` with all problems.
    """
    return _Loader(path, cwd or Path.cwd(), text).load(list(overrides), kind, list(hosts))


def _short(part: str, base: Path) -> str:
    """A part of a suite without the campaign file's directory."""
    return part.removeprefix(f"{base.absolute()}/")


class _Loader:
    """One load: the origin of every value, and the problems."""

    def __init__(self, path: Path, cwd: Path, text: str | None) -> None:
        self.path = path
        self.cwd = cwd
        self.text = text
        self.run: Path | None = None
        """The run of which the file is the frozen copy; None for any other file."""
        self.leaves_out = False
        """Whether keys of other kinds are left out: the kind is not the file's, or it accepted
        them, and never read them, when the run began."""
        self.prefix = PREFIX if is_pyproject(path) else ""
        """What comes before the names of tables in the file."""
        self.default_name = self.path.stem
        self.lines: dict[str, int] = {}
        self.overridden: dict[str, str] = {}
        self.problems: list[Problem] = []

    def load(self, overrides: list[str], kind: str, hosts: list[str]) -> FrozenCampaign:
        tables = self._read()
        for override in overrides:
            self._override(tables, override)
        for host in hosts:
            self._add_host(tables, host)
        self._stop_if_wrong()
        if "campaign.output" not in self.overridden:
            self.run = run_of(self.path)
        self.leaves_out = bool(kind or self.run)
        for name, table in tables.items():
            if name not in TABLES:
                self._unknown(name, name, TABLES)
            elif not isinstance(table, dict):
                self._problem(name, f"{table!r} is not a table; write [{self.prefix}{name}]")
        self._stop_if_wrong()
        if kind:
            tables.setdefault("engine", {})["kind"] = kind
            known = tables_for(kind)
            tables = {name: tables[name] for name in tables if name in known or name == HOSTS}
        schema = self._schema(tables)
        if "mutants" in tables and "engine" in schema and "mutants" not in schema:
            kind = tables["engine"]["kind"]
            own = ": mu2 has its own mutants" if kind == "mu2" else ""
            self._problem("mutants", f"is for engine.kind = {' or '.join(FIRST)}{own}")
        for name, kinds in (("text", TEXTUAL), ("oracle", JUDGED)):
            if name in tables and "engine" in schema and name not in schema:
                self._problem(name, f"is for engine.kind = {' or '.join(kinds)}")
        frozen: Tables = {}
        resolved: Tables = {}
        for name, keys in schema.items():
            if name not in tables and _optional(name, tables):
                frozen[name], resolved[name] = {}, {}
                continue
            frozen[name], resolved[name] = self._table(name, keys, tables.get(name, {}))
        hosts_found: dict[str, Any] = {}
        if HOSTS in tables:
            frozen[HOSTS], hosts_found = self._hosts(tables[HOSTS])
        self._stop_if_wrong()
        campaign = self._campaign(frozen, resolved, hosts_found)
        given = frozenset(f"{name}.{key}" for name, table in tables.items() for key in table)
        for dotted, text in contradictions(campaign, of_run=self.run is not None):
            self._problem(dotted, text)
        self._stop_if_wrong()
        return FrozenCampaign(campaign, frozen, self._origin, given, "campaign.output" in given)

    # -------------------------------------------------------------- reading

    def _read(self) -> dict[str, Any]:
        text = self._file_text() if self.text is None else self.text
        try:
            data = tomli.loads(text)
        except tomli.TOMLDecodeError as e:
            is_other = self.path.suffix not in ("", ".toml")
            if is_other and not _TABLE.search(text):
                init = f"fuzztui init {shlex.quote(str(self.path.parent))}"
                text = f"is no campaign file; {init} finds what can be fuzzed, and writes one"
                raise self._unreadable(text) from None
            raise self._unreadable(f"is not valid TOML: {e.msg}", e.lineno) from None
        self.lines = key_lines(text, self.prefix)
        if not self.prefix:
            return data
        if (tables := tables_of(data)) is None:
            raise self._unreadable(
                "has no campaign; write its tables as [tool.fuzztui.target] and so on, name a "
                "campaign file, or let fuzztui init write campaign.toml"
            )
        self.default_name = project_name(data, self.path)
        return tables

    def _file_text(self) -> str:
        try:
            if not self.path.exists():
                raise self._unreadable("there is no such file")
            if not self.path.is_file():
                raise self._unreadable("is not a regular file")
            if self.path.stat().st_size > MAX_FILE_SIZE:
                raise self._unreadable("is larger than 1 MiB, so it is not a campaign file")
            raw = self.path.read_bytes()
            return raw.decode()
        except OSError as e:
            raise self._unreadable(f"cannot be read: {e.strerror}") from None
        except UnicodeDecodeError as e:
            line = raw[: e.start].count(b"\n") + 1
            raise self._unreadable("is not UTF-8 text, so it is not TOML", line) from None

    def _unreadable(self, text: str, line: int = 0) -> CampaignError:
        origin = f"{self.path}:{line}" if line else str(self.path)
        return CampaignError([Problem(origin, "", text)])

    def _override(self, tables: dict[str, Any], override: str) -> None:
        name, equals, text = override.partition("=")
        table, dot, key = name.strip().partition(".")
        if not equals or not table or not dot or not key:
            self.problems.append(
                Problem(
                    f"--set {override}",
                    "",
                    "is not table.key=value; for example --set campaign.budget=30m",
                )
            )
            return
        text = text.strip()
        try:  # .5 is not a TOML number, but usual on a command line
            value = tomli.loads(f"v = {'0' * text.startswith('.')}{text}")["v"]
        except tomli.TOMLDecodeError:
            value = text  # a bare word is a string: --set campaign.budget=15s
        self.overridden[f"{table}.{key}"] = f"--set {override}"
        target = tables.setdefault(table, {})
        address, dot, of_host = key.rpartition(".")
        if table == HOSTS and dot and of_host in _HOST_KEYS and isinstance(target, dict):
            target, key = target.setdefault(address, {}), of_host
        if isinstance(target, dict):
            target[key] = value

    def _add_host(self, tables: dict[str, Any], text: str) -> None:
        try:
            address, instances = parse_host(text)
        except ValueError as e:
            self.problems.append(Problem(f"--host {text}", "", str(e)))
            return
        self.overridden[f"{HOSTS}.{address}"] = f"--host {text}"
        table = tables.setdefault(HOSTS, {})
        if isinstance(table, dict) and isinstance(keys := table.setdefault(address, {}), dict):
            keys |= {} if instances is None else {"instances": instances}

    # ------------------------------------------------------------- checking

    def _schema(self, tables: dict[str, Any]) -> dict[str, tuple[Key, ...]]:
        """The keys by table; without a valid engine.kind, only the tables of all engines."""
        key = ENGINE[0]
        table = tables.get("engine", {})
        if "kind" not in table:
            if typo := near("kind", table):
                self._unknown(f"engine.{typo[0]}", typo[0], ("kind",))
            else:
                self._problem("engine.kind", f"is missing; choose one of {', '.join(ENGINES)}")
            return COMMON
        if table["kind"] not in key.choices:
            key = replace(key, choices=(*key.choices, *plugin_names()))
        try:
            kind, _ = check(key, table["kind"], self.path.parent)
            return tables_for(kind)
        except UnknownKind as e:
            self._problem("engine.kind", e.problem)
        except ValueError as e:
            self._problem("engine.kind", str(e))
        return COMMON

    def _hosts(self, table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The frozen and the resolved tables of the hosts, by address."""
        frozen: dict[str, Any] = {}
        resolved: dict[str, Any] = {}
        if not table:
            self._problem(HOSTS, 'names no host; add one ("user@box" = {}), or remove the table')
        for address, keys in table.items():
            dotted = f"{HOSTS}.{address}"
            if problem := address_problem(address):
                self._problem(dotted, f"{address!r} {problem}")
            elif not isinstance(keys, dict):
                self._problem(dotted, f"{keys!r} is not a table; write {{ instances = 4 }}")
            else:
                frozen[address], resolved[address] = self._table(dotted, HOST, keys)
        return frozen, resolved

    def _table(
        self, name: str, keys: tuple[Key, ...], table: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        by_name = {key.name: key for key in keys}
        typed: set[str] = set()
        for found in table:
            if found not in by_name:
                kinds = _kinds_with(name, found)
                if kinds and self.leaves_out:
                    continue
                typed.update(near(found, by_name))
                self._unknown(f"{name}.{found}", found, tuple(by_name), kinds)
        frozen: dict[str, Any] = {}
        resolved: dict[str, Any] = {}
        for key in keys:
            dotted = f"{name}.{key.name}"
            if key.name in table:
                value, base = table[key.name], self._base(dotted)
            elif key.required:
                if key.name not in typed:  # else the typo is the only mistake
                    self._problem(dotted, f"is missing. {key.help}")
                continue
            elif key.default is None or key.default == "":
                resolved[key.name] = key.default
                continue
            else:
                value, base = key.default, self._file_dir()
            try:
                kept, used = self._check(key, value, base, dotted)
            except ValueError as e:
                self._problem(dotted, str(e))
            except OSError as e:
                self._problem(dotted, f"{value!r} cannot be read: {e.strerror}")
            else:
                resolved[key.name] = used
                if key.name in table or kept != key.default:
                    frozen[key.name] = kept
        return frozen, resolved

    def _check(self, key: Key, value: Any, base: Path, dotted: str) -> tuple[Any, Any]:
        """Raises ValueError, OSError."""
        try:
            return check(key, value, base)
        except (ValueError, OSError):
            if not (self.run and key.once) or dotted in self.overridden:
                raise
            return check(replace(key, type=_TEXT[key.type]), value, base)

    def _campaign(self, frozen: Tables, resolved: Tables, hosts: dict[str, Any]) -> Campaign:
        campaign, target, engine = resolved["campaign"], resolved["target"], resolved["engine"]
        name = campaign["name"] or self.default_name
        directory = name.replace("/", "_")
        if not directory.strip("."):  # "." and ".." name existing directories
            directory = self.default_name
        output = str(self.run or campaign["output"] or self.cwd / "runs" / directory)
        seconds, trials = campaign["budget"] or (0.0, 0)
        stem = NAME if self.prefix else self.path.stem
        verdicts = campaign["verdicts"] or str(self._file_dir() / f"{stem}{VERDICTS}")
        frozen["campaign"] |= {"name": name, "output": output, "verdicts": verdicts}
        mutants = resolved.get("mutants", {})
        if mutants:
            mutants["each_s"], mutants["each_trials"] = mutants.pop("per_mutant")
            cwd = mutants["cwd"] or ("target" if target.get("cwd") else "private")
            frozen["mutants"]["cwd"] = mutants["cwd"] = cwd
        text = resolved.get("text", {})
        if text:
            parts = self._parts(text)
            frozen["text"] |= parts
            text |= parts
        if "timeout" in target:
            target["timeout_s"] = target.pop("timeout")
            target["memory_bytes"] = target.pop("memory")
        chosen = engine["kind"] == "spoton" or "constants" in frozen["engine"]
        if "constants" in engine and target.get("generator") and not chosen:
            engine["constants"] = False  # else queues of earlier runs would be read differently
        if isinstance(several := target.get("function"), list):
            target["suite"] = several
            base = Path(target.get("cwd") or self._file_dir())
            target["function"] = ", ".join(_short(part, base) for part in several)
        here = str(self._file_dir())
        for key_name, default in (("python", sys.executable), ("cwd", here), ("source", here)):
            if key_name in target:
                frozen["target"][key_name] = target[key_name] = target[key_name] or default
        found = Campaign(
            file=self.path.absolute(),
            name=name,
            output=Path(output),
            verdicts=verdicts,
            seed=campaign["seed"],
            host=campaign["host"] or "",
            group=campaign["group"] or "",
            group_may_steer=campaign["group_may_steer"],
            budget_s=seconds,
            budget_trials=trials,
            stop_crashes=resolved["stop"]["crashes"],
            stop_idle_s=resolved["stop"]["idle"],
            stop_edges_s=resolved["stop"]["edges"],
            kind=engine["kind"],
            instances=engine["instances"],
            target=target,
            engine=engine,
            mutants=mutants,
            text=text,
            oracle=resolved.get("oracle", {}),
            notify=resolved["notify"],
            cluster=resolved["cluster"],
            hosts=places(hosts, engine["instances"]),
        )
        if found.group_may_steer and not found.group:
            self._problem("campaign.group_may_steer", "needs campaign.group, a Unix group")
        if found.notify:
            self._notify_command(found.notify, frozen["notify"])
        if "command" in target:
            self._programs(found, frozen["target"])
            if found.oracle:
                self._oracle_commands(found, frozen["oracle"])
        return found

    def _programs(self, campaign: Campaign, frozen: dict[str, Any]) -> None:
        """Resolve the programs of an AFL++ target. Programs that the build makes may not exist yet.

        Their paths stay relative in the frozen copy, because a run may be moved with its build.
        """
        target = campaign.target

        def find(key: str, name: str) -> str:
            if target["build"]:
                return str(absolute(name, campaign.build_directory))
            try:
                return program(name, self._base(f"target.{key}"))
            except ValueError as e:
                self._problem(f"target.{key}", str(e))
                return name

        name, *arguments = target["command"]
        target["command"] = [find("command", name), *arguments]
        if target["cmplog"] not in ("", "0"):
            target["cmplog"] = find("cmplog", target["cmplog"])
        seeds: list[str] = campaign.engine["seeds"]
        built = [name for name in seeds if in_build(name)]
        if built and not target["build"]:
            self._problem("engine.seeds", f"{built[0]!r} needs target.build, which is not set")
        build = campaign.build_directory
        campaign.engine["seeds"] = [
            str(absolute(name.removeprefix(BUILD), build)) if name in built else name
            for name in seeds
        ]
        if not target["build"]:
            frozen["command"] = target["command"]
            if target["cmplog"]:
                frozen["cmplog"] = target["cmplog"]

    def _oracle_commands(self, campaign: Campaign, frozen: dict[str, Any]) -> None:
        """Resolve the commands of an AFL++ target's oracle, as :meth:`_programs` does."""
        oracle, target = campaign.oracle, campaign.target
        timeout = oracle.pop("timeout")
        oracle["timeout_s"] = max(2.0, 5 * target["timeout_s"]) if timeout is None else timeout
        for key in ("run", "against"):
            arguments: list[str] = oracle[key] or []
            try:
                used = [self._resolved(argument, campaign) for argument in arguments]
                name = used[0] if used else ""
                if name and "/" not in name:
                    where = "made by target.build" if target["build"] else "next to the file"
                    used[0] = found_on_path(name, after=f"; for a program {where} write ./{name}")
                elif name and target["build"]:
                    used[0] = str(absolute(name, campaign.build_directory))
                elif name:
                    used[0] = program(name, self._base(f"oracle.{key}"))
            except ValueError as e:
                self._problem(f"oracle.{key}", str(e))
                continue
            oracle[key] = used
            if arguments and not target["build"]:
                frozen[key] = [used[0], *arguments[1:]]

    def _notify_command(self, notify: dict[str, Any], frozen: dict[str, Any]) -> None:
        """Resolve the program. A run continues without it: its notifications then fail."""
        name, *arguments = notify["command"]
        try:
            name = program(name, self._base("notify.command"))
        except ValueError as e:
            if self.run is None:
                self._problem("notify.command", str(e))
        notify["command"] = frozen["command"] = [name, *arguments]

    def _resolved(self, argument: str, campaign: Campaign) -> str:
        """Replace $BUILD/ or $SOURCE/ at the start of an argument. Raises ValueError."""
        if in_build(argument):
            if not campaign.target["build"]:
                raise ValueError(f"{argument!r} needs target.build, which is not set")
            return str(absolute(argument.removeprefix(BUILD), campaign.build_directory))
        if argument.startswith(SOURCE):
            return str(absolute(argument.removeprefix(SOURCE), Path(campaign.target["source"])))
        return argument

    def _parts(self, text: dict[str, Any]) -> dict[str, float]:
        """The probabilities of text, splice and havoc; missing ones follow from the given ones."""
        given = {name: text[name] for name in CLASSES if text[name] is not None}
        whole = completed({"splice": 0.0} | given, _USUAL)
        parts = {name: round(part, 9) for name, part in zip(CLASSES, whole, strict=True)}
        if Mixture(**parts).problem:
            terms = " + ".join(f"{name} {part:g}" for name, part in given.items())
            total = f" = {sum(given.values()):g}" if len(given) > 1 else ""
            self._problem("text", f"{terms}{total}: havoc, text and splice must add to 1")
        return parts

    # ------------------------------------------------------------- problems

    def _file_dir(self) -> Path:
        return self.path.absolute().parent

    def _base(self, dotted: str) -> Path:
        return self.cwd if dotted in self.overridden else self._file_dir()

    def _origin(self, dotted: str) -> str:
        for name, override in self.overridden.items():
            if name == dotted or (dotted not in self.lines and name.startswith(f"{dotted}.")):
                return override
        while dotted and dotted not in self.lines:
            dotted = dotted.rpartition(".")[0]
            if dotted in self.overridden:
                return self.overridden[dotted]
        return f"{self.path}:{self.lines[dotted]}" if dotted else str(self.path)

    def _problem(self, dotted: str, text: str) -> None:
        self.problems.append(Problem(self._origin(dotted), dotted, text))

    def _unknown(
        self, dotted: str, name: str, allowed: tuple[str, ...], kinds: Sequence[str] = ()
    ) -> None:
        """``kinds``: the engine kinds that have a key of that name."""
        what = "key" if "." in dotted else "table"
        table = f"{self.prefix}{dotted.rpartition('.')[0]}"
        here = f"[{table}] takes" if "." in dotted else "the tables are"
        hint = f", which is for engine.kind = {' or '.join(kinds)}" if kinds else ""
        hint = hint or nearest(name, allowed)
        if not hint and (tables := _tables_with(name)):
            hint = f", which belongs into {' or '.join(f'[{self.prefix}{t}]' for t in tables)}"
        self._problem(dotted, f"unknown {what}{hint}; {here}: {', '.join(allowed)}")

    def _stop_if_wrong(self) -> None:
        if self.problems:
            # What stands in the file first: a key that is missing there has no line.
            self.problems.sort(key=lambda p: self.lines.get(p.key, self._line_if_none(p)))
            raise CampaignError(self.problems)

    def _line_if_none(self, problem: Problem) -> int:
        return 0 if not problem.key or problem.key in self.overridden else MAX_FILE_SIZE


def _kinds_with(table: str, key: str) -> list[str]:
    """The engine kinds whose ``table`` has ``key``."""
    return [kind for kind in ENGINES if key in (k.name for k in tables_for(kind).get(table, ()))]


def _tables_with(key: str) -> list[str]:
    """The tables that have ``key``, of any engine kind."""
    tables = {
        name: None
        for kind in ENGINES
        for name, keys in tables_for(kind).items()
        if key in (k.name for k in keys)
    }
    return list(tables)


def _optional(name: str, tables: dict[str, Any]) -> bool:
    """Whether a campaign without the table differs from one with an empty table."""
    return name in ("mutants", "oracle", "notify", "cluster") or (
        name == "text" and tables["engine"]["kind"] != "text"
    )
