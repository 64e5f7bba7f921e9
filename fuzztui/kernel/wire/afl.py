"""AFL's formats, for those who write them and those who read them.

File names in ``queue/``, ``crashes/`` and ``hangs/``:
``id:N[,sig:S][,src:A[+B]][,time:MS][,execs:N],op:X...[,+tout][,+cov][.EXT]``,
``id:N,...,orig:NAME``, ``id:N,sync:PEER,src:N``, and ``id_N[_SIG]`` of a build with
SIMPLE_FILES (measured on AFL++ 4.04c, and its ``describe_op``). A file system or an archive without
colons has ``_`` for them, and often for the commas: ``id_N_sig_06_src_A``. A custom mutator's
description replaces the whole text after ``op:`` and may contain commas and anything else.

Each time afl-fuzz is resumed it renumbers its queue: ``id:N,time:0,execs:0,orig:FIRSTNAME``. An
entry that happens to get the same number keeps its name.

The fields of :class:`~fuzztui.kernel.wire.events.Stats` name their keys in ``fuzzer_stats``
themselves.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from fuzztui.kernel.base.bounds import LARGEST

EXAMPLE_SEED = "example-of-"
"""How the names of seeds begin that are an ``@example`` of a test."""

OLD_NAMES = {
    "paths_total": "corpus_count",
    "paths_favored": "corpus_favored",
    "cur_path": "cur_item",
    "unique_crashes": "saved_crashes",
    "unique_hangs": "saved_hangs",
}
"""AFL 2.5x's names of today's keys in ``fuzzer_stats`` and columns of ``plot_data``."""

ADOPTED_BY = ".fuzztui-run"
"""The file in an adopted sync directory with the path of its run; afl-fuzz ignores it."""

OPTIONS = "+Aa:b:B:c:CdDe:E:hi:I:f:F:g:G:l:L:m:M:nNOo:p:P:RQs:S:t:T:UuV:WXx:YZz"
"""All options of afl-fuzz, in the syntax of ``getopt``."""

MAX_COMMAND_LINE = 8000
"""Characters of a command line in the log."""

NOT_SHOWN = {
    "start_time", "last_update", "run_time", "fuzzer_pid", "cycles_wo_finds", "time_wo_finds",
    "fuzz_time", "calibration_time", "cmplog_time", "sync_time", "trim_time", "execs_per_sec",
    "execs_ps_last_min", "pending_favs", "corpus_found", "corpus_imported", "corpus_variable",
    "bitmap_cvg", "total_tmout", "last_find", "last_crash", "last_hang",
    "execs_since_crash", "exec_timeout", "slowest_exec_ms", "peak_rss_mb",
    "var_byte_count", "havoc_expansion", "auto_dict_entries", "testcache_size", "testcache_count",
    "testcache_evict", "afl_banner", "afl_version", "target_mode", "command_line",
    "failed_inputs", "find_age",
}  # fmt: skip
"""Keys of AFL++ 4.3x, our engines and targets that are times, settings, or no news for users."""

PLOT_HEADER = (
    "# relative_time, cycles_done, cur_item, corpus_count, pending_total, pending_favs,"
    " map_size, saved_crashes, saved_hangs, max_depth, execs_per_sec, total_execs, edges_found\n"
)
"""The first line of ``plot_data``."""

MAX_OTHER = 32
"""The number of keys of ``fuzzer_stats`` without a field that are kept, in the file's order."""

_OTHER_KEY = re.compile(r"[A-Za-z][A-Za-z0-9_.-]{0,39}")
_ID = re.compile(r"id:([0-9]{1,10})(?![0-9])")
_HEAD = re.compile(r"id:([0-9]{1,10})(?:,(.*))?", re.DOTALL)
_SIMPLE = re.compile(r"id_([0-9]{1,10})(?:_([0-9]{1,3}))?")
_ORIGIN = re.compile(r"[,_]orig_")
_COLONLESS = re.compile(r"(?:\A|[,_])(id|sig|src|time|execs|sync|op|rep|pos|val)_|[,_](?=\+[a-z])")
_NUMBER = re.compile(r"[0-9]{1,15}")
_SOURCES = re.compile(r"[0-9]{1,10}(?:\+[0-9]{1,10})*")
_FLAGS = re.compile(r"((?:,\+[a-z]{1,8})+)(\.[^,/]*)?\Z")


@dataclass(frozen=True, slots=True)
class AflFileName:
    """A parsed name. ``id`` -1: not a name of AFL's; all other fields are then defaults.

    ``op`` is the text after ``op:`` ("havoc,rep:4"), or ``orig:NAME`` of an initial seed.
    ``time_ms`` and ``execs`` are 0 if the name does not contain them. ``first``: the id that the
    file had when it was found, to which all other fields refer, too; -1: that is ``id``.
    """

    id: int = -1
    src: tuple[int, ...] = ()
    op: str = ""
    sync: str = ""
    sig: int = 0
    time_ms: int = 0
    execs: int = 0
    cov: bool = False
    first: int = -1


def parse_name(name: str) -> AflFileName:
    """Parse a file name. Accepts any string, never raises."""
    simple = _SIMPLE.fullmatch(name)
    if simple:
        return AflFileName(id=int(simple[1]), sig=int(simple[2] or 0))
    head = _HEAD.fullmatch(with_colons(name))
    if not head:
        return AflFileName()
    rest = head[2] or ""
    flags = _FLAGS.search("," + rest)
    cov = bool(flags and ",+cov" in flags[1])
    if flags:
        rest = rest[: max(0, flags.start() - 1)]
    return _fields(int(head[1]), rest, cov)


def with_colons(name: str) -> str:
    """Return ``id:000000,sig:06`` for ``id_000000_sig_06``; other names as they are."""
    if not name.startswith("id_"):
        return name
    head, *seed = _ORIGIN.split(name, maxsplit=1)
    head = _COLONLESS.sub(lambda found: f",{found[1]}:" if found[1] else ",", head).lstrip(",")
    return ",orig:".join([head, *map(with_colons, seed)])


def _fields(number: int, rest: str, cov: bool) -> AflFileName:
    src: tuple[int, ...] = ()
    op = sync = ""
    numbers = {"sig": 0, "time": 0, "execs": 0}
    while rest:
        if rest.startswith("op:"):
            op = rest[3:]
            break
        if rest.startswith("orig:"):
            # Our own seeds have "_" in their names so that they are no names of AFL's.
            found = AflFileName() if rest[5:].startswith("id_") else parse_name(rest[5:])
            if found.op or found.src or found.sync:  # otherwise a seed file named id:N
                first = found.id if found.first < 0 else found.first
                return replace(found, id=number, first=first, cov=cov)
            op = rest
            break
        field, _, rest = rest.partition(",")
        key, _, value = field.partition(":")
        if key in numbers and _NUMBER.fullmatch(value):
            numbers[key] = int(value)
        elif key == "src" and _SOURCES.fullmatch(value):
            src = tuple(int(part) for part in value.split("+"))
        elif key == "sync":
            sync = value
    return AflFileName(
        number, src, op, sync, numbers["sig"], numbers["time"], numbers["execs"], cov
    )


def other_numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers for ``Stats.other``: at most :data:`MAX_OTHER`, under keys that are words.

    ``values``: keys without a field in :class:`~fuzztui.kernel.wire.events.Stats`, from anyone.
    """
    found = {
        key: value
        for key, value in values.items()
        if _OTHER_KEY.fullmatch(key) and type(value) in (int, float) and 0 <= value <= LARGEST
    }
    return dict(islice(found.items(), MAX_OTHER))


def entry_name(number: int, rest: str) -> str:
    """Return the name of a file with this id: ``id:000012,rest``."""
    return f"id:{number:06d},{rest}"


def seed_name(number: int, name: str, sig: int = 0) -> str:
    """Return the name of a copy of the seed ``name``; ``sig``: the signal that it causes."""
    # A comma or colon would end the name in parsers of AFL's file names.
    plain = re.sub(r"[^A-Za-z0-9._+-]", "_", name)[-100:] or "_"
    return entry_name(number, f"{f'sig:{sig:02d},' if sig else ''}time:0,execs:0,orig:{plain}")


def id_of(name: str, digits: int = 1) -> int:
    """Return the id at the start of a file name; -1 if there is none with that many digits."""
    found = _ID.match(name)
    return int(found[1]) if found and len(found[1]) >= digits else -1
