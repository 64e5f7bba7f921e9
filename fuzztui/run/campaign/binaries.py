"""The binaries of an AFL++ target: builds of one program that find, or report, different bugs.

AFL++'s docs/fuzzing_in_depth.md advises one instance with a sanitizer, others with transformed
comparisons, and plain ones for speed. All import each other's entries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from fuzztui.run.campaign.model import Campaign

CMPLOG: Final = "cmplog"
"""The binary that no instance runs alone: instances get it with ``-c``."""


MANY: Final = 4
"""Instances from which a campaign has more binaries by default."""


_OTHER_MODES: Final = {"-Q", "-O", "-U", "-W", "-n", "-X", "-Y"}
"""Options of afl-fuzz for programs that its compilers have not built."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A kind of build that ``$CC`` makes if environment variables ask for it."""

    env: Mapping[str, str]
    sanitizer: str = ""
    symbol: bytes = b""
    """A symbol that each program with the sanitizer has; empty: none is sure."""


VARIANTS: Final[Mapping[str, Variant]] = {
    "asan": Variant({"AFL_USE_ASAN": "1"}, "AddressSanitizer", b"__asan_init"),
    "msan": Variant({"AFL_USE_MSAN": "1"}, "MemorySanitizer", b"__msan_init"),
    "ubsan": Variant({"AFL_USE_UBSAN": "1"}, "UndefinedBehaviorSanitizer"),
    "tsan": Variant({"AFL_USE_TSAN": "1"}, "ThreadSanitizer", b"__tsan_init"),
    "cfisan": Variant({"AFL_USE_CFISAN": "1"}, "Control Flow Integrity"),
    "laf": Variant({"AFL_LLVM_LAF_ALL": "1"}),
    CMPLOG: Variant({"AFL_LLVM_CMPLOG": "1"}),
}
"""The known binaries by name; those whose reports say most are first."""


@dataclass(frozen=True, slots=True)
class Binary:
    """One more binary of a target. ``build``: the shell command; empty: it exists already."""

    name: str
    command: tuple[str, ...]
    directory: Path
    """Where ``build`` is run."""
    build: str = ""
    instances: int = 0
    env: Mapping[str, str] = field(default_factory=dict)
    """Environment variables for its build, its instances of afl-fuzz and the program."""
    memory: int = 0
    """Memory limit of the program in bytes; 0: none."""
    options: tuple[str, ...] = ()
    """Options for its instances of afl-fuzz, in place of those of the spread."""
    optional: bool = False
    """Whether the campaign goes on without the binary if it cannot be built."""

    @property
    def variant(self) -> Variant:
        """What is known of a binary with this name."""
        return VARIANTS.get(self.name, Variant({}))


def planned_binaries(campaign: Campaign) -> list[Binary]:
    """Return the binaries of ``target.binaries``, those first whose reports say most."""
    table: Mapping[str, Mapping[str, Any]] = campaign.target.get("binaries") or {}
    ranks = {name: n for n, name in enumerate(VARIANTS)}
    return [
        Binary(
            name,
            tuple(of["command"]),
            directory_of(campaign, name),
            of["build"],
            of["instances"] if name != CMPLOG else 0,
            of["env"],
            _memory(campaign, name, of["memory"]),
            tuple(of["options"]),
            of["optional"],
        )
        for name, of in sorted(table.items(), key=lambda item: ranks.get(item[0], len(ranks)))
    ]


def _memory(campaign: Campaign, name: str, given: int | None) -> int:
    """The limit that is given, or that of the target: none for a sanitizer's shadow memory."""
    of_target: int = campaign.target["memory_bytes"]
    is_plain = not VARIANTS.get(name, Variant({})).sanitizer
    return given if given is not None else of_target if is_plain else 0


def binaries_of(campaign: Campaign) -> list[Binary]:
    """Return the binaries, without optional ones that could not be built."""
    every = planned_binaries(campaign)
    return [one for one in every if not one.optional or Path(one.command[0]).exists()]


def cmplog_of(campaign: Campaign) -> str:
    """Return the path of the CmpLog binary; "0": the plain one; empty: there is none."""
    path: str = campaign.target["cmplog"]
    planned = any(one.name == CMPLOG for one in planned_binaries(campaign))
    there = any(one.name == CMPLOG for one in binaries_of(campaign))
    return "" if planned and not there else path


def default_binaries(campaign: Campaign) -> dict[str, dict[str, Any]]:
    """Return the table of a campaign that names no binaries: what AFL++'s documentation advises.

    Empty if the fleet is small, or the target has a sanitizer or mutants.
    """
    target = campaign.target
    own = "".join([target["build"], *target["env"]])
    if campaign.instances < MANY or not target["build"] or campaign.table("mutants"):
        return {}
    if "-fsanitize" in own or "AFL_USE_" in own or _OTHER_MODES & {*campaign.engine["extra_args"]}:
        return {}
    if not Path(target["command"][0]).is_relative_to(campaign.build_directory):
        return {}
    names = ["asan", *([] if target["cmplog"] else [CMPLOG])]
    return {name: {"optional": True} for name in names}


def directory_of(campaign: Campaign, name: str) -> Path:
    """Return the build directory of a binary, beside that of the plain one."""
    return campaign.build_directory.with_name(f"{campaign.build_directory.name}-{name}")


def binary_at(campaign: Campaign, index: int) -> Binary | None:
    """Return the binary of instance ``index`` (0: main); None: the plain one.

    The first secondaries have the binaries, in their order; an enlarged fleet keeps them. Mutants
    have no other binaries.
    """
    if campaign.slot or index == 0:
        return None
    every = [one for one in binaries_of(campaign) for _ in range(one.instances)]
    return every[index - 1] if index <= len(every) else None


def with_binary(campaign: Campaign, binary: Binary | None) -> Campaign:
    """Return the campaign with a binary as its program; None: the plain one, as it is."""
    if binary is None:
        return campaign
    own = {"command": [*binary.command], "memory_bytes": binary.memory}
    env = {**campaign.target["env"], **binary.env}
    return replace(campaign, target={**campaign.target, **own, "env": env})


def binary_of(campaign: Campaign, instance: str) -> Binary | None:
    """Return the binary of the instance with this name (``s1``); None: the plain one."""
    most = 1 + sum(one.instances for one in binaries_of(campaign))  # later ones are plain
    names = replace(campaign, instances=most).own_names
    own = instance.removeprefix(campaign.name_prefix)
    return binary_at(campaign, names.index(own)) if own in names else None
