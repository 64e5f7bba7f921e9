"""Read a campaign file, apply overrides, and check everything."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli

from fuzztui.engines.kinds import UnknownKind, plugin_names
from fuzztui.kernel.base.plugins import PluginError
from fuzztui.kernel.base.suggest import near
from fuzztui.run.campaign.binaries import CMPLOG, VARIANTS, default_binaries, directory_of
from fuzztui.run.campaign.contradictions import contradictions
from fuzztui.run.campaign.files import (
    NAME,
    PREFIX,
    SAMPLES,
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
    BINARIES,
    ENGINE,
    ENGINES,
    FOR_AFL,
    HOST,
    HOSTS,
    TARGETS,
    Key,
    Keys,
    common_tables,
    kinds_with,
    table_names,
    tables_for,
)
from fuzztui.run.campaign.table import feature_tables
from fuzztui.run.campaign.targets import TargetParts, merged, own_tables
from fuzztui.run.campaign.values import BUILD, absolute, check, in_build, nearest, program

_HOST_KEYS = frozenset(key.name for key in HOST)
_UNCHECKED: dict[str, str] = {"paths": "strings", "seeds": "strings", "directory": "string"}
"""By type of a key that names files: the type for its check if the files may be missing."""

MAX_FILE_SIZE = 1 << 20

_TABLE = re.compile(r"^\s*\[(campaign|target|engine)\]", re.MULTILINE)
"""What a campaign file has, whatever its name ends in."""


def load(
    path: Path,
    overrides: Iterable[str] = (),
    *,
    cwd: Path | None = None,
    kind: str = "",
    text: str | None = None,
    hosts: Iterable[str] = (),
    changes: Mapping[str, Any] | None = None,
) -> FrozenCampaign:
    """Read ``path``, apply ``table.key=value`` overrides, check everything.

    Of a ``pyproject.toml`` the tables ``[tool.fuzztui.TABLE]`` are read.

    ``cwd``: the base of relative paths in ``overrides``. ``kind``: the engine kind to use instead
    of the file's; tables and keys that this engine does not take are left out. ``text``: what
    ``path`` will contain; the file is then not read. ``hosts``: more hosts, each ``ADDRESS`` or
    ``ADDRESS*N``. ``changes``: keys by table that count instead of those of the file.

    If ``path`` is the frozen copy of a run, the campaign's output is that run, even if it was
    moved, and files that only the first start reads may be missing.

    Raises :class:`CampaignError` with all problems.
    """
    try:
        loader = _Loader(path, cwd or Path.cwd(), text)
        return loader.load(list(overrides), kind, list(hosts), changes or {})
    except PluginError as e:
        raise CampaignError([Problem(str(path), "", str(e))]) from None


def _short(part: str, base: Path) -> str:
    """A target of a suite, relative to the directory of the campaign file if it is in there."""
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
        """Whether keys of other engine kinds are left out, not refused: the caller has chosen the
        kind, or the file is the frozen copy of a run that was started with such keys."""
        self.prefix = PREFIX if is_pyproject(path) else ""
        """What comes before the names of tables in the file."""
        self.default_name = self.path.stem
        self.lines: dict[str, int] = {}
        self.overridden: dict[str, str] = {}
        self.problems: list[Problem] = []
        self.keys: frozenset[str] = frozenset()
        """The dotted keys that are in the file, or given with ``--set``."""

    def load(
        self, overrides: list[str], kind: str, hosts: list[str], changes: Mapping[str, Any]
    ) -> FrozenCampaign:
        tables = merged(self._read(), changes)
        for name, table in tables.items():
            if isinstance(table, list) and (name == TARGETS or _is_by_name(name)):
                tables[name] = self._by_name(name, table)
        for override in overrides:
            self._override(tables, override)
        for host in hosts:
            self._add_host(tables, host)
        self._stop_if_wrong()
        if "campaign.output" not in self.overridden:
            self.run = run_of(self.path)
        self.leaves_out = bool(kind or self.run)
        for name, table in tables.items():
            if name == TARGETS:
                continue
            if name not in table_names() and not self._is_left_over(name):
                self._unknown(name, name, (*table_names(), TARGETS))
            elif not isinstance(table, dict):
                self.problem(name, f"{table!r} is not a table; write [{self.prefix}{name}]")
        self._stop_if_wrong()
        if TARGETS in tables and changes:
            self.problem(TARGETS, "a target has no targets of its own; remove them")
            self._stop_if_wrong()
        if TARGETS in tables:
            return self._several(tables, kind)
        if kind:
            tables.setdefault("engine", {})["kind"] = kind
            known = tables_for(kind)
            tables = {name: tables[name] for name in tables if name in known or name == HOSTS}
        schema = self._schema(tables)
        for name, own in feature_tables().items() if "engine" in schema else ():
            if name in tables and name not in schema:
                kinds = " or ".join(kinds_with(name))
                reason = own.reason_against(tables["engine"]["kind"])
                more = f": {reason}" if reason else ""
                self.problem(name, f"is for engine.kind = {kinds}{more}")
        frozen: Tables = {n: t for n, t in tables.items() if n not in table_names()}
        resolved: Tables = {}
        given_kind = str(tables.get("engine", {}).get("kind"))
        for name, keys in schema.items():
            own_table = feature_tables().get(name)
            if own_table and name not in tables and not own_table.is_implied(given_kind):
                continue
            checked = self._named if _is_by_name(name) else self.checked
            frozen[name], resolved[name] = checked(name, keys, tables.get(name, {}))
        hosts_found: dict[str, Any] = {}
        if HOSTS in tables:
            frozen[HOSTS], hosts_found = self._hosts(tables[HOSTS])
        self._stop_if_wrong()
        self.keys = frozenset(f"{name}.{key}" for name, table in tables.items() for key in table)
        campaign = self._campaign(frozen, resolved, hosts_found)
        for dotted, text in contradictions(campaign, of_run=self.run is not None):
            self.problem(dotted, text)
        self._stop_if_wrong()
        return FrozenCampaign(
            campaign, frozen, self._origin, self.keys, self.given("campaign.output")
        )

    def _several(self, tables: dict[str, Any], kind: str) -> FrozenCampaign:
        """The campaign of several targets."""
        if kind:
            self.problem(TARGETS, f"has several targets, so that no engine {kind} can replace all")
        if HOSTS in tables:
            self.problem(HOSTS, "several targets run on one machine; remove [hosts] or --host")
        for name in filter(_is_by_name, tables):
            self.problem(name, f"is of one target; write [[{TARGETS}.{name}]] below its entry")
        self._stop_if_wrong()
        frozen: Tables = {"target": {}, "engine": {}}
        resolved: Tables = {"target": {}, "engine": {"kind": TARGETS, "instances": 0}}
        schema = common_tables()
        for name in own_tables():
            if name in tables or name not in feature_tables():
                keys, values = schema[name], tables.get(name, {})
                frozen[name], resolved[name] = self.checked(name, keys, values)
        if resolved["stop"].get("edges"):
            self.problem(
                "stop.edges",
                "counts edges, and those of several targets cannot be added; give targets a stop "
                "of their own: stop = { edges = ... } in their entries",
            )
        self._stop_if_wrong()
        self.keys = frozenset(f"{n}.{key}" for n in own_tables() for key in tables.get(n, ()))
        campaign = self._campaign(frozen, resolved, {})
        parts, frozen[TARGETS] = TargetParts(self, load).make(
            tables, frozen["campaign"], campaign.output
        )
        self._stop_if_wrong()
        del frozen["target"], frozen["engine"]
        campaign = replace(
            campaign,
            targets=parts,
            instances=len(parts),
            engine={"kind": TARGETS, "instances": len(parts)},
        )
        return FrozenCampaign(
            campaign, frozen, self._origin, self.keys, self.given("campaign.output")
        )

    def _is_left_over(self, name: str) -> bool:
        """Whether the frozen copy of a run has the table of a package that is not installed."""
        in_file = not any(dotted.startswith(f"{name}.") for dotted in self.overridden)
        return self.run is not None and in_file

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
        if table == TARGETS:
            advice = "edit the file (while it runs: fuzztui ctl RUN weigh-target NAME 2)"
            wrong = f"cannot change [[targets]]; {advice}"
            self.problems.append(Problem(f"--set {override}", "", wrong))
            return
        text = text.strip()
        try:  # .5 is not a TOML number, but usual on a command line
            value = tomli.loads(f"v = {'0' * text.startswith('.')}{text}")["v"]
        except tomli.TOMLDecodeError:
            value = text  # a bare word is a string: --set campaign.budget=15s
        self.overridden[f"{table}.{key}"] = f"--set {override}"
        target = tables.setdefault(table, {})
        address, dot, of_host = key.rpartition(".")
        if table == "target" and key.startswith("binaries.") and isinstance(target, dict):
            _, name_of, *rest = key.split(".")
            every = target.setdefault("binaries", {})
            one = every.setdefault(name_of, {}) if isinstance(every, dict) and rest else None
            if isinstance(one, dict):
                target, key = one, ".".join(rest)
        of_one = _is_by_name(table) or (table == HOSTS and of_host in _HOST_KEYS)
        if of_one and dot and isinstance(target, dict):
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

    def _schema(self, tables: dict[str, Any]) -> Keys:
        """The keys by table; without a valid engine.kind, only the tables of all engines."""
        key = ENGINE[0]
        table = tables.get("engine", {})
        if "kind" not in table:
            if typo := near("kind", table):
                self._unknown(f"engine.{typo[0]}", typo[0], ("kind",))
            else:
                self.problem("engine.kind", f"is missing; choose one of {', '.join(ENGINES)}")
            return common_tables()
        if table["kind"] not in key.choices:
            key = replace(key, choices=(*key.choices, *plugin_names()))
        try:
            kind, _ = check(key, table["kind"], self.path.parent)
            return tables_for(kind)
        except UnknownKind as e:
            self.problem("engine.kind", e.problem)
        except ValueError as e:
            self.problem("engine.kind", str(e))
        return common_tables()

    def _hosts(self, table: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """The frozen and the resolved tables of the hosts, by address."""
        if not table:
            self.problem(HOSTS, 'names no host; add one ("user@box" = {}), or remove the table')
        good = {address: keys for address, keys in table.items() if not address_problem(address)}
        for address in (address for address in table if address not in good):
            self.problem(f"{HOSTS}.{address}", f"{address!r} {address_problem(address)}")
        return self._named(HOSTS, HOST, good)

    def _by_name(self, table: str, found: list[Any]) -> Any:
        """The entries of ``[[TABLE]]`` by their names, with the lines of their keys."""
        if not all(isinstance(entry, dict) for entry in found):
            return found  # refused as no table
        own = [key for key in self.lines if key.startswith(f"{table}.")]
        lines = {key: self.lines.pop(key) for key in own}
        named: dict[str, Any] = {}
        for number, entry in enumerate(found, start=1):
            name = entry.get("name")
            is_own = isinstance(name, str) and name not in named
            dotted = f"{table}.{name if is_own else number}"
            at = f"{table}.{number}"
            mine = {key: lines[key] for key in lines if f"{key}.".startswith(f"{at}.")}
            self.lines |= {dotted + key.removeprefix(at): line for key, line in mine.items()}
            if is_own:
                named[name] = entry
            else:
                bad = "is there twice" if isinstance(name, str) else "is no text"
                wrong = "is missing" if name is None else f"{name!r} {bad}"
                text = f"{wrong}; give each [[{self.prefix}{table}]] a name of its own"
                self.problem(f"{dotted}.name", text)
        return named

    def _named(
        self, table: str, keys: Sequence[Key], named: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """The frozen and the resolved tables of a table that has some, by their names."""
        frozen: dict[str, Any] = {}
        resolved: dict[str, Any] = {}
        for name, values in named.items():
            dotted = f"{table}.{name}"
            if isinstance(values, dict):
                own = {"name": name} if _is_by_name(table) else {}
                frozen[name], resolved[name] = self.checked(dotted, keys, values | own)
            else:
                takes = ", ".join(key.name for key in keys)
                header = f" below a header [[{self.prefix}{table}]]" if _is_by_name(table) else ""
                self.problem(
                    dotted, f"{values!r} is not a table of keys{header}; it takes: {takes}"
                )
        return frozen, resolved

    def checked(
        self, name: str, keys: Sequence[Key], table: dict[str, Any]
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
                value, base = table[key.name], self.base(dotted)
            elif key.required:
                if key.name not in typed:  # else the typo is the only mistake
                    self.problem(dotted, f"is missing. {key.help}")
                continue
            elif key.default is None or key.default == "":
                resolved[key.name] = key.default
                continue
            else:
                value, base = key.default, self._file_dir()
            try:
                kept, used = self._check(key, value, base, dotted)
            except ValueError as e:
                self.problem(dotted, str(e))
            except OSError as e:
                self.problem(dotted, f"{value!r} cannot be read: {e.strerror}")
            else:
                resolved[key.name] = used
                if key.name in table or kept != key.default:
                    frozen[key.name] = kept
        return frozen, resolved

    def _check(self, key: Key, value: Any, base: Path, dotted: str) -> tuple[Any, Any]:
        """Check a value. In a frozen copy, files that only the first start reads may be missing.

        Raises ValueError, OSError.
        """
        try:
            return check(key, value, base)
        except (ValueError, OSError):
            if not (self.run and key.once) or dotted in self.overridden:
                raise
            if not isinstance(key.type, str) or key.type not in _UNCHECKED:
                return value, value
            return check(replace(key, type=_UNCHECKED[key.type]), value, base)

    def _campaign(self, frozen: Tables, resolved: Tables, hosts: dict[str, Any]) -> Campaign:
        campaign, target, engine = resolved["campaign"], resolved["target"], resolved["engine"]
        name = campaign["name"] or self.default_name
        directory = name.replace("/", "_")
        if not directory.strip("."):  # "." and ".." name existing directories
            directory = self.default_name
        output = str(self.run or campaign["output"] or self.cwd / "runs" / directory)
        seconds, trials = campaign["budget"] or (0.0, 0)
        stem = NAME if self.prefix else self.path.stem
        # A user may not be able to write into the package, and its next version replaces it.
        beside = self.cwd if self._file_dir() == SAMPLES else self._file_dir()
        verdicts = campaign["verdicts"] or str(beside / f"{stem}{VERDICTS}")
        frozen["campaign"] |= {"name": name, "output": output, "verdicts": verdicts}
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
            cores=campaign["cores"],
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
            tables={name: resolved.get(name) for name in feature_tables()},
            hosts=places(hosts, engine["instances"]),
        )
        if found.group_may_steer and not found.group:
            self.problem("campaign.group_may_steer", "needs campaign.group, a Unix group")
        if "command" in target:
            self._programs(found, frozen["target"])
        for name_of, own in feature_tables().items():
            if name_of in resolved:
                own.fill_in(found, frozen[name_of], self)
        return found

    def _programs(self, campaign: Campaign, frozen: dict[str, Any]) -> None:
        """Resolve the programs of an AFL++ target. With ``target.build`` they may not exist yet.

        The frozen copy then keeps relative paths, because a run may be moved with its build.
        """
        target = campaign.target

        def find(key: str, name: str) -> str:
            if target["build"]:
                return str(absolute(name, campaign.build_directory))
            try:
                return program(name, self.base(f"target.{key}"))
            except ValueError as e:
                self.problem(f"target.{key}", str(e))
                return name

        name, *arguments = target["command"]
        target["command"] = [find("command", name), *arguments]
        if target["cmplog"] not in ("", "0"):
            target["cmplog"] = find("cmplog", target["cmplog"])
        self._binaries(campaign, frozen)
        seeds: list[str] = campaign.engine["seeds"]
        built = [name for name in seeds if in_build(name)]
        if built and not target["build"]:
            self.problem("engine.seeds", f"{built[0]!r} needs target.build, which is not set")
        build = campaign.build_directory
        campaign.engine["seeds"] = [
            str(absolute(name.removeprefix(BUILD), build)) if name in built else name
            for name in seeds
        ]
        if not target["build"]:
            frozen["command"] = target["command"]
            if target["cmplog"] and CMPLOG not in target["binaries"]:
                frozen["cmplog"] = target["cmplog"]

    def _binaries(self, campaign: Campaign, frozen: dict[str, Any]) -> None:
        """Fill in the builds and the programs of ``target.binaries``."""
        target = campaign.target
        if not (self.run or self.given("target.binaries")) and (own := default_binaries(campaign)):
            frozen["binaries"], target["binaries"] = check(BINARIES, own, self._file_dir())
        for name, binary in target["binaries"].items():
            dotted = f"target.binaries.{name}"
            words = [*(binary["command"] or frozen["command"])]
            by_name = name in VARIANTS or binary["env"]
            if by_name and not Path(words[0]).is_absolute():
                binary["build"] = binary["build"] or target["build"]
            if binary["build"]:
                directory = directory_of(campaign, name)
                words[0] = str(absolute(words[0], directory))
                if not Path(words[0]).is_relative_to(directory):
                    self.problem(
                        f"{dotted}.command",
                        f"{words[0]} is not in {directory}, where it is built; write a path in "
                        "there, such as ./program",
                    )
            elif binary["command"]:
                try:
                    words[0] = program(words[0], self.base("target.binaries"))
                except ValueError as e:
                    self.problem(f"{dotted}.command", str(e))
                frozen["binaries"][name]["command"] = words
            else:
                known = ", ".join(VARIANTS)
                self.problem(
                    dotted,
                    "how is it built? Give target.build, which builds the binaries "
                    f"{known}; or give {name}.build; or {name}.command, a program that is built",
                )
                continue
            binary["command"] = words
            if name == CMPLOG:
                if binary["instances"] > 1 and self.run is None:
                    why = "no instance runs cmplog alone, others use it with -c; remove the key"
                    self.problem(f"{dotted}.instances", why)
                if target["cmplog"]:
                    self.problem(dotted, "target.cmplog names the same binary; remove one of them")
                target["cmplog"] = words[0]

    # ------------------------------------------------------------- problems

    def given(self, dotted: str) -> bool:
        """Whether a key is in the file, or given with ``--set``."""
        return dotted in self.keys

    def _file_dir(self) -> Path:
        return self.path.absolute().parent

    def base(self, dotted: str) -> Path:
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

    def problem(self, dotted: str, text: str) -> None:
        self.problems.append(Problem(self._origin(dotted), dotted, text))

    def _unknown(
        self, dotted: str, name: str, allowed: Sequence[str], kinds: Sequence[str] = ()
    ) -> None:
        """Note an unknown key or table. ``kinds``: the engine kinds that have such a key."""
        what = "key" if "." in dotted else "table"
        table = f"{self.prefix}{dotted.rpartition('.')[0]}"
        here = f"[{table}] takes" if "." in dotted else "the tables are"
        hint = f", which is for engine.kind = {' or '.join(kinds)}" if kinds else ""
        if FOR_AFL.get(dotted) and "command" in allowed:
            hint += f"; {FOR_AFL[dotted]}"
        hint = hint or nearest(name, allowed)
        if not hint and (tables := _tables_with(name)):
            hint = f", which belongs into {' or '.join(f'[{self.prefix}{t}]' for t in tables)}"
        self.problem(dotted, f"unknown {what}{hint}; {here}: {', '.join(allowed)}")

    def _stop_if_wrong(self) -> None:
        if self.problems:
            # In file order; keys that are not in the file have no line and come last.
            self.problems.sort(key=lambda p: self.lines.get(p.key, self._line_if_none(p)))
            raise CampaignError(self.problems)

    def _line_if_none(self, problem: Problem) -> int:
        return 0 if not problem.key or problem.key in self.overridden else MAX_FILE_SIZE


def _is_by_name(table: str) -> bool:
    own = feature_tables().get(table)
    return own is not None and own.by_name


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
