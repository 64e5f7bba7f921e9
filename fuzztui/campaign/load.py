"""Reading, overriding and checking a campaign file."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import tomli

from fuzztui.campaign.contradictions import contradictions
from fuzztui.campaign.errors import CampaignError, Problem
from fuzztui.campaign.frozen import FrozenCampaign, Tables, run_of
from fuzztui.campaign.lines import key_lines
from fuzztui.campaign.model import Campaign
from fuzztui.campaign.schema import (
    COMMON,
    ENGINE,
    ENGINES,
    FIRST,
    JUDGED,
    TABLES,
    TEXTUAL,
    Key,
    Kind,
    tables_for,
)
from fuzztui.campaign.values import (
    BUILD,
    SOURCE,
    absolute,
    check,
    found_on_path,
    in_build,
    nearest,
    program,
)
from fuzztui.engines.kinds import plugin_names
from fuzztui.wire.mixture import CLASSES, Mixture, completed

_TEXT: dict[str, Kind] = {"paths": "strings", "seeds": "strings", "directory": "string"}
"""As what kinds of keys are taken that name what may be gone."""

MAX_FILE_SIZE = 1 << 20

_USUAL = Mixture(havoc=0.25, text=0.75, splice=0.0)
"""Steps of a text engine, where nothing is given."""


def load(
    path: Path,
    overrides: Iterable[str] = (),
    *,
    cwd: Path | None = None,
    kind: str = "",
    text: str | None = None,
) -> FrozenCampaign:
    """Read ``path``, apply ``table.key=value`` overrides, check everything.

    ``kind``: of the engine that it is wanted for, whatever the file says. Tables that this one
    does not take are left out.

    ``text``: what ``path`` will contain; the file is then not read.

    A run's own frozen file means the run that contains it, wherever that was moved to, and may
    name what only the first start has read and is gone since.

    Raises :class:`CampaignError` with every problem that was found at once.
    """
    return _Loader(path, cwd or Path.cwd(), text).load(list(overrides), kind)


class _Loader:
    """One load: where every value came from, and what was wrong."""

    def __init__(self, path: Path, cwd: Path, text: str | None) -> None:
        self.path = path
        self.cwd = cwd
        self.text = text
        self.home: Path | None = None
        """The run that the file is the frozen copy of."""
        self.lines: dict[str, int] = {}
        self.overridden: dict[str, str] = {}
        self.problems: list[Problem] = []

    def load(self, overrides: list[str], kind: str) -> FrozenCampaign:
        tables = self._read()
        for override in overrides:
            self._override(tables, override)
        self._stop_if_wrong()
        if "campaign.output" not in self.overridden:
            self.home = run_of(self.path)
        for name, table in tables.items():
            if name not in TABLES:
                self._unknown(name, name, TABLES)
            elif not isinstance(table, dict):
                self._problem(name, f"{table!r} is not a table: write [{name}]")
        self._stop_if_wrong()
        if kind:
            tables.setdefault("engine", {})["kind"] = kind
            tables = {name: table for name, table in tables.items() if name in tables_for(kind)}
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
        self._stop_if_wrong()
        campaign = self._campaign(frozen, resolved)
        given = frozenset(f"{name}.{key}" for name, table in tables.items() for key in table)
        for dotted, text in contradictions(campaign, of_run=self.home is not None):
            self._problem(dotted, text)
        self._stop_if_wrong()
        return FrozenCampaign(campaign, frozen, self._origin, given, "campaign.output" in given)

    # -------------------------------------------------------------- reading

    def _read(self) -> dict[str, Any]:
        text = self._file_text() if self.text is None else self.text
        try:
            data = tomli.loads(text)
        except tomli.TOMLDecodeError as e:
            raise self._unreadable(f"is not valid TOML: {e.msg}", e.lineno) from None
        self.lines = key_lines(text)
        return data

    def _file_text(self) -> str:
        try:
            if not self.path.exists():
                raise self._unreadable("there is no such file")
            if not self.path.is_file():
                raise self._unreadable("is not a regular file")
            if self.path.stat().st_size > MAX_FILE_SIZE:
                raise self._unreadable("is over 1 MiB: that is no campaign file")
            raw = self.path.read_bytes()
            return raw.decode()
        except OSError as e:
            raise self._unreadable(f"cannot be read: {e.strerror}") from None
        except UnicodeDecodeError as e:
            line = raw[: e.start].count(b"\n") + 1
            raise self._unreadable("is not UTF-8 text: not TOML", line) from None

    def _unreadable(self, text: str, line: int = 0) -> CampaignError:
        origin = f"{self.path}:{line}" if line else str(self.path)
        return CampaignError([Problem(origin, "", text)])

    def _override(self, tables: dict[str, Any], override: str) -> None:
        name, equals, text = override.partition("=")
        table, dot, key = name.strip().partition(".")
        if not equals or not table or not dot or not key:
            self.problems.append(
                Problem(f"--set {override}", "", "write --set table.key=value: campaign.budget=30m")
            )
            return
        text = text.strip()
        try:  # .5 is no number of TOML's, but one on every command line
            value = tomli.loads(f"v = {'0' * text.startswith('.')}{text}")["v"]
        except tomli.TOMLDecodeError:
            value = text  # a bare word is a string: --set campaign.budget=15s
        self.overridden[f"{table}.{key}"] = f"--set {override}"
        target = tables.setdefault(table, {})
        if isinstance(target, dict):
            target[key] = value

    # ------------------------------------------------------------- checking

    def _schema(self, tables: dict[str, Any]) -> dict[str, tuple[Key, ...]]:
        """The keys by table; without a good engine.kind, of those tables that all engines share."""
        key = ENGINE[0]
        table = tables.get("engine", {})
        if "kind" not in table:
            self._problem("engine.kind", f"is missing; there are: {', '.join(ENGINES)}")
            return COMMON
        key = replace(key, choices=(*key.choices, *plugin_names()))
        try:
            kind, _ = check(key, table["kind"], self.path.parent)
            return tables_for(kind)
        except ValueError as e:
            self._problem("engine.kind", str(e).removeprefix(f'engine.kind = "{table["kind"]}": '))
            return COMMON

    def _table(
        self, name: str, keys: tuple[Key, ...], table: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        by_name = {key.name: key for key in keys}
        for found in table:
            if found not in by_name:
                self._unknown(f"{name}.{found}", found, tuple(by_name), _kinds_with(name, found))
        frozen: dict[str, Any] = {}
        resolved: dict[str, Any] = {}
        for key in keys:
            dotted = f"{name}.{key.name}"
            if key.name in table:
                value, base = table[key.name], self._base(dotted)
            elif key.required:
                self._problem(dotted, f"is missing. {key.doc}")
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
                self._problem(dotted, f"{value!r} cannot be looked at: {e.strerror}")
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
            if not (self.home and key.once) or dotted in self.overridden:
                raise
            return check(replace(key, kind=_TEXT[key.kind]), value, base)

    def _campaign(self, frozen: Tables, resolved: Tables) -> Campaign:
        campaign, target, engine = resolved["campaign"], resolved["target"], resolved["engine"]
        name = campaign["name"] or self.path.stem
        directory = name.replace("/", "_")
        if not directory.strip("."):  # "." and ".." name directories that are there already
            directory = self.path.stem
        output = str(self.home or campaign["output"] or self.cwd / "runs" / directory)
        seconds, trials = campaign["budget"] or (0.0, 0)
        frozen["campaign"] |= {"name": name, "output": output}
        mutants = resolved.get("mutants", {})
        if mutants:
            mutants["each_s"], mutants["each_trials"] = mutants.pop("per_mutant")
            where = mutants["cwd"] or ("target" if target.get("cwd") else "private")
            frozen["mutants"]["cwd"] = mutants["cwd"] = where
        text = resolved.get("text", {})
        if text:
            parts = self._parts(text)
            frozen["text"] |= parts
            text |= parts
        if "timeout" in target:
            target["timeout_s"] = target.pop("timeout")
            target["memory_bytes"] = target.pop("memory")
        here = str(self._file_dir())
        for key_name, default in (("python", sys.executable), ("cwd", here), ("source", here)):
            if key_name in target:
                frozen["target"][key_name] = target[key_name] = target[key_name] or default
        found = Campaign(
            file=self.path.absolute(),
            name=name,
            output=Path(output),
            seed=campaign["seed"],
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
        )
        if "command" in target:
            self._programs(found, frozen["target"])
            if found.oracle:
                self._oracle_commands(found, frozen["oracle"])
        return found

    def _programs(self, campaign: Campaign, frozen: dict[str, Any]) -> None:
        """Find what an AFL++ target runs. What is yet to be built is taken on trust.

        That stays relative in the frozen copy: a run may be moved, and its build with it.
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
            self._problem("engine.seeds", f"{built[0]!r}: there is no target.build that makes it")
        where = campaign.build_directory
        campaign.engine["seeds"] = [
            str(absolute(name.removeprefix(BUILD), where)) if name in built else name
            for name in seeds
        ]
        if not target["build"]:
            frozen["command"] = target["command"]
            if target["cmplog"]:
                frozen["cmplog"] = target["cmplog"]

    def _oracle_commands(self, campaign: Campaign, frozen: dict[str, Any]) -> None:
        """Find what an AFL++ campaign's oracle runs, as :meth:`_programs` finds the target."""
        oracle, target = campaign.oracle, campaign.target
        timeout = oracle.pop("timeout")
        oracle["timeout_s"] = max(2.0, 5 * target["timeout_s"]) if timeout is None else timeout
        for key in ("run", "against"):
            words: list[str] = oracle[key] or []
            try:
                used = [self._in_place(word, campaign) for word in words]
                name = used[0] if used else ""
                if name and "/" not in name:
                    where = "target.build makes" if target["build"] else "is beside the file"
                    used[0] = found_on_path(name, after=f"; what {where} is named ./{name}")
                elif name and target["build"]:
                    used[0] = str(absolute(name, campaign.build_directory))
                elif name:
                    used[0] = program(name, self._base(f"oracle.{key}"))
            except ValueError as e:
                self._problem(f"oracle.{key}", str(e))
                continue
            oracle[key] = used
            if words and not target["build"]:
                frozen[key] = [used[0], *words[1:]]

    def _in_place(self, word: str, campaign: Campaign) -> str:
        """A word of a command with what it may begin with replaced. Raises ValueError."""
        if in_build(word):
            if not campaign.target["build"]:
                raise ValueError(f"{word!r}: there is no target.build that makes it")
            return str(absolute(word.removeprefix(BUILD), campaign.build_directory))
        if word.startswith(SOURCE):
            return str(absolute(word.removeprefix(SOURCE), Path(campaign.target["source"])))
        return word

    def _parts(self, text: dict[str, Any]) -> dict[str, float]:
        """How much is text, splice and havoc: what is not said follows from what is."""
        said = {name: text[name] for name in CLASSES if text[name] is not None}
        whole = completed({"splice": 0.0} | said, _USUAL)
        parts = {name: round(part, 9) for name, part in zip(CLASSES, whole, strict=True)}
        if Mixture(**parts).problem:
            words = " + ".join(f"{name} {part:g}" for name, part in said.items())
            total = f" = {sum(said.values()):g}" if len(said) > 1 else ""
            self._problem("text", f"{words}{total}: havoc, text and splice must add to 1")
        return parts

    # ------------------------------------------------------------- wording

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
        """``kinds``: the engines that have such a key."""
        what = "key" if "." in dotted else "table"
        here = f"[{dotted.rpartition('.')[0]}] takes" if "." in dotted else "there are"
        hint = nearest(name, allowed)
        if kinds and not hint:
            hint = f", it is for engine.kind = {' or '.join(kinds)}"
        self._problem(dotted, f"unknown {what}{hint}; {here}: {', '.join(allowed)}")

    def _stop_if_wrong(self) -> None:
        if self.problems:
            self.problems.sort(key=lambda p: self.lines.get(p.key, 0))
            raise CampaignError(self.problems)


def _kinds_with(table: str, key: str) -> list[str]:
    """The engines whose table of that name has such a key."""
    return [kind for kind in ENGINES if key in (k.name for k in tables_for(kind).get(table, ()))]


def _optional(name: str, tables: dict[str, Any]) -> bool:
    """Whether that table can be left out, and something else is meant than by its defaults."""
    return name in ("mutants", "oracle") or (name == "text" and tables["engine"]["kind"] != "text")
