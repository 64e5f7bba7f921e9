"""A second fold of a campaign log, which shares no code with the product.

:class:`LogFollower` reads the sealed gzip members and the tails; :class:`Fold` adds the records up
and notes each violation of an invariant that the log alone shows.
"""

from __future__ import annotations

import hashlib
import json
import re
import zlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

GZIP = 31
"""``wbits`` of zlib for one gzip member."""

CUMULATIVE = ("execs", "valid", "invalid", "corpus", "crashes", "hangs", "edges", "cycles")
"""Figures of ``stats`` that never decrease."""

MUTATION = (
    "original_s", "mutants_s", "compile_s", "rest_s", "runs", "dead", "skipped", "unexecuted",
    "uninfected", "put_off", "audits", "audit_kills",
)  # fmt: skip
"""Figures of ``mutation_stats`` that never decrease."""

ZERO = ("execs", "corpus", "crashes", "hangs")
"""Figures that are 0 where a record leaves them out; the others are then unknown (-1)."""


@dataclass(frozen=True)
class Violation:
    """One broken invariant: its name, and what is wrong."""

    invariant: str
    text: str


class LogFollower:
    """Reads the log of ``run`` while it is written; :meth:`poll` returns new records in order."""

    def __init__(self, run: Path) -> None:
        self.directory = run / "log"
        self.last = 0
        self.digest = hashlib.sha256()
        self.problems: list[Violation] = []
        self._offset = 0

    def poll(self) -> list[dict[str, Any]]:
        """The records since the last call; a gap in ``s`` becomes a problem."""
        # Tails first: a tail that is sealed between the two steps is then read twice, not never.
        tails = [line for path in self._tails() for line in _complete(path)]
        found = []
        for line in [*self._sealed(), *tails]:
            try:
                record = json.loads(line)
                number = record["s"]
            except (ValueError, TypeError, KeyError):
                self._note("damaged", f"no record behind {self.last}: {line[:80]!r}")
                continue
            if number <= self.last:
                continue
            if number != self.last + 1:
                self._note("gap", f"record {number} follows record {self.last}")
            self.last = number
            self.digest.update(line + b"\n")
            found.append(record)
        return found

    def _tails(self) -> list[Path]:
        return sorted(self.directory.glob("tail-*.jsonl")) if self.directory.is_dir() else []

    def _sealed(self) -> Iterator[bytes]:
        path = self.directory / "campaign.jsonl.gz"
        try:
            with path.open("rb") as file:
                size = file.seek(0, 2)
                file.seek(self._offset)
                data = file.read()
        except FileNotFoundError:
            return
        if size < self._offset:
            self._note("rewritten", f"{path.name} had {self._offset} sound bytes, and has {size}")
            self._offset = size
        while data:
            member = zlib.decompressobj(GZIP)
            try:
                text = member.decompress(data)
            except zlib.error as e:
                self._note("damaged", f"{path.name}: byte {self._offset}: {e}")
                return
            if not member.eof:  # is being written, or was torn: the next writer removes it
                return
            self._offset += len(data) - len(member.unused_data)
            data = member.unused_data
            yield from text.splitlines()

    def _note(self, invariant: str, text: str) -> None:
        violation = Violation(invariant, text)
        if violation not in self.problems:
            self.problems.append(violation)


def _complete(path: Path) -> list[bytes]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # it was sealed meanwhile
        return []
    return data[: data.rfind(b"\n") + 1].splitlines()


@dataclass
class Instance:
    """What the log says of one instance."""

    state: str = ""
    mutant: str = ""
    """The id of the mutant that it fuzzes; an empty string for the target itself."""
    figures: dict[str, float] = field(default_factory=dict)
    entries: dict[int, str] = field(default_factory=dict)
    """Newest file name of each entry, by id."""
    recorded: set[str] = field(default_factory=set)
    """File names of entries recorded since the queue was last numbered."""
    numbers: set[int] = field(default_factory=set)
    """Every id that an entry ever had."""
    earlier: set[str] = field(default_factory=set)
    """Identities (:func:`identity`) of the entries that a resumed afl-fuzz must still have."""
    seeded: set[str] = field(default_factory=set)
    """Ids, as text, that were in the queue from the start (fuzz-first)."""
    sizes: dict[str, int] = field(default_factory=dict)
    findings: Counter[tuple[str, str]] = field(default_factory=Counter)
    """How often each (category, file) was recorded."""

    def highest(self, name: str, files: int) -> int:
        """A reported count, or the count of its recorded files if that is larger."""
        return max(int(self.figures.get(name, 0)), files)


class Fold:
    """The figures of a campaign, and the violations that its log shows."""

    def __init__(self) -> None:
        self.instances: dict[str, Instance] = {}
        self.state = ""
        self.seq = 0
        self.t = 0.0
        self.mutants: dict[tuple[str, str], str] = {}
        self.violations: list[Violation] = []
        self.restarts = 0
        self.engine = ""
        self._cumulative: dict[tuple[str, str, str], float] = {}

    def apply(self, records: Iterable[dict[str, Any]]) -> None:
        """Add ``records``, in order."""
        for record in records:
            self.seq = record["s"]
            if record["t"] < self.t:
                self._note("time", f"record {self.seq}: t {record['t']} after {self.t}")
            self.t = max(self.t, record["t"])
            handler = getattr(self, f"_on_{record['k']}", None)
            if handler:
                handler(record)

    # ------------------------------------------------------------------ figures

    def execs(self) -> int:
        """Executions of all instances."""
        return sum(int(i.figures.get("execs", 0)) for i in self.instances.values())

    def summary(self) -> dict[str, Any]:
        """The figures that ``status --json`` has too, under its names."""
        own = [i for i in self.instances.values() if not i.mutant]
        found = [(i, Counter(c for c, _ in i.findings)) for i in own]
        return {
            "log_seq": self.seq,
            "state": self.state,
            "elapsed_s": self.t,
            "execs": self.execs(),
            "corpus": sum(i.highest("corpus", len(i.numbers)) for i in own),
            "crashes": sum(i.highest("crashes", n.total() - n["hang"]) for i, n in found),
            "hangs": sum(i.highest("hangs", n["hang"]) for i, n in found),
        }

    def killed(self) -> int:
        """Mutants that at least one instance has killed."""
        return len({mutant for (_, mutant), state in self.mutants.items() if state == "killed"})

    # ------------------------------------------------------------------- events

    def _instance(self, record: dict[str, Any]) -> Instance:
        return self.instances.setdefault(record.get("instance", ""), Instance())

    def _on_campaign_started(self, record: dict[str, Any]) -> None:
        self.state, self.engine = "starting", record["engine"]
        for name in record.get("instances", []):
            self.instances.setdefault(name, Instance())

    def _on_campaign_state(self, record: dict[str, Any]) -> None:
        self.state = record["state"]

    _on_campaign_ended = _on_campaign_state

    def _on_instance_state(self, record: dict[str, Any]) -> None:
        instance = self._instance(record)
        self.restarts += record["state"] == "restarting"
        instance.state = record["state"]
        if self.engine == "afl" and record["state"] == "starting":
            # afl-fuzz numbers its queue again, and leaves out empty files.
            entries = instance.entries.values()
            instance.earlier |= {identity(f) for f in entries if instance.sizes[f]}
            key = ("stats", record["instance"], "corpus")
            empty = sum(not instance.sizes[f] for f in entries)
            self._cumulative[key] = self._cumulative.get(key, 0) - empty
            instance.recorded.clear()
            instance.entries.clear()

    def _on_instance_hello(self, record: dict[str, Any]) -> None:
        instance = self._instance(record)
        instance.mutant = record.get("mutant") or instance.mutant  # the engine does not say it

    def _on_stats(self, record: dict[str, Any]) -> None:
        instance = self._instance(record)
        for name in CUMULATIVE:
            value = record.get(name, 0 if name in ZERO else -1)
            self._never_back(record, name, value)
            instance.figures[name] = value

    def _on_mutation_stats(self, record: dict[str, Any]) -> None:
        for name in MUTATION:
            self._never_back(record, f"mutation.{name}", record.get(name, 0))

    def _on_operator_figures(self, record: dict[str, Any]) -> None:
        for name in ("trials", "tried", "applied", "found", "crashes"):
            value = record.get(name, 0)
            self._never_back(
                record, f"operators.{name}", sum(value) if isinstance(value, list) else value
            )

    def _on_type_figures(self, record: dict[str, Any]) -> None:
        for name in ("picks", "matches", "misses", "new_arms"):
            self._never_back(record, f"types.{name}", sum(record.get(name, [])))

    def _never_back(self, record: dict[str, Any], name: str, value: float) -> None:
        key = (record["k"], record.get("instance", ""), name)
        before = self._cumulative.get(key, value)
        if value < before:
            self._note(f"back:{name}", f"record {self.seq}: {key[1]} {value} after {before}")
        self._cumulative[key] = value

    def _on_entry_saved(self, record: dict[str, Any]) -> None:
        instance = self._instance(record)
        number, file = record["id"], record.get("file", "")
        if file in instance.recorded:
            self._note("doubled", f"record {self.seq}: {record['instance']}/{file} again")
        instance.recorded.add(file)
        instance.entries[number] = file
        instance.numbers.add(number)
        instance.sizes[file] = record.get("size", -1)

    def _on_entries_seeded(self, record: dict[str, Any]) -> None:
        instance = self._instance(record)
        if record.get("anew"):
            instance.seeded.clear()
        instance.seeded.update(record.get("origins", {}))

    def _on_finding_saved(self, record: dict[str, Any]) -> None:
        instance = self._instance(record)
        key = (record["category"], record["file"])
        instance.findings[key] += 1
        if instance.findings[key] > 1:
            self._note("doubled", f"record {self.seq}: {record['instance']}/{key[1]} again")
        instance.sizes[key[1]] = record.get("size", -1)

    def _on_mutant_state(self, record: dict[str, Any]) -> None:
        key = (record.get("instance", ""), record["id"])
        before, now = self.mutants.get(key), record["state"]
        if before == "killed":
            invariant = "doubled" if now == "killed" else "unkilled"
            self._note(invariant, f"record {self.seq}: mutant {key} is {now}, was killed before")
        self.mutants[key] = now

    def _note(self, invariant: str, text: str) -> None:
        self.violations.append(Violation(invariant, text))


_RENUMBERED = re.compile(r"queue/(?:id:\d+,time:0,execs:0,orig:)*(?:id:\d+,)?")


def identity(file: str) -> str:
    """The part of an entry's name that stays when a resumed afl-fuzz numbers its queue again."""
    return _RENUMBERED.sub("", file, count=1)


def fold_run(run: Path) -> tuple[Fold, LogFollower]:
    """Read the whole log of a run once."""
    follower, fold = LogFollower(run), Fold()
    fold.apply(follower.poll())
    return fold, follower
