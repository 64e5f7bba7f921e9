"""Where a campaign runs: the hosts of the table ``[hosts]`` and of ``--host``."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

HERE: Final = "here"
"""The key of ``[hosts]`` that means this machine, without ssh."""

MAX_ADDRESS: Final = 255
_MAX_NAME: Final = 12
"""Characters of a host's name: AFL++ 4.04 allows 24 in an instance's, ``NAME_m12345-s99``."""

_HUB: Final = "hub"
"""A name that no host gets: on hosts, the hub's own directories begin with it."""

_DIGITS: Final = 9
"""Digits of a number of instances, at most: the schema has the maximum."""

_ADDRESS = re.compile(r"(?:ssh://)?(?:[^\s@/]+@)?[^\s@/-][^\s@/]*")
_NUMERIC = re.compile(r"\[[0-9A-Fa-f:.%]+\]|[0-9.]+|[0-9A-Fa-f:]+:[0-9A-Fa-f:.%]*")
_OTHER = re.compile(r"[^A-Za-z0-9]+")


@dataclass(frozen=True, slots=True)
class HostPlace:
    """One host of a campaign."""

    name: str
    """The prefix of the host's instances (``NAME_main``): letters, digits and dashes."""
    address: str
    """What ssh gets: ``user@box`` or a name from the user's ssh config; "": this machine."""
    instances: int
    path: str = ""
    """The directory of the run on the host; "": one below ``~/.local/share/fuzztui/runs``."""
    python: str = ""
    """The host's interpreter, of fuzztui and of a Python target; "": ``python3`` there."""
    keep: int = 0
    """Maximum bytes that are kept here of entries, findings and log of the host; 0: no limit."""


def address_problem(address: str) -> str:
    """Return what is wrong with an address of a host, and what to do; "" if nothing is."""
    if address == HERE:
        return ""
    if address.startswith("-"):
        return "begins with a dash, which ssh takes for an option; write user@box"
    if len(address) > MAX_ADDRESS or not address.isprintable() or not _ADDRESS.fullmatch(address):
        return "is not a host; write user@box, a name from your ssh config, or here"
    return ""


def parse_host(text: str) -> tuple[str, int | None]:
    """Return address and instances of ``ADDRESS*N``; None: ``*N`` is left out. Raises ValueError.

    The address is not checked.
    """
    address, star, count = text.rpartition("*")
    if not star:
        return text, None
    if not (count.isascii() and count.isdigit() and len(count) <= _DIGITS):
        raise ValueError(f"{count!r} is not a number of instances; write user@box*8")
    if not int(count):
        raise ValueError("a host needs at least one instance; write user@box*1, or leave it out")
    return address, int(count)


def places(table: Mapping[str, Mapping[str, Any]], instances: int) -> tuple[HostPlace, ...]:
    """Return the hosts of a checked table ``[hosts]``, each with its own name.

    ``instances``: the number for a host whose table has none.
    """
    found: list[HostPlace] = []
    taken = {_HUB}
    for address, keys in table.items():
        name = _unique(_name(address), taken)
        taken.add(name.lower())
        found.append(
            HostPlace(
                name=name,
                address="" if address == HERE else address,
                instances=keys.get("instances") or instances,
                path=keys.get("path") or "",
                python=keys.get("python") or "",
                keep=keys.get("keep") or 0,
            )
        )
    return tuple(found)


def _name(address: str) -> str:
    """Return a short name: the first label of the host's name, or the whole number."""
    host = address.removeprefix("ssh://").rpartition("@")[2]
    if address.startswith("ssh://") and (port := re.search(r":[0-9]+$", host)):
        host = host[: port.start()]
    label = host if _NUMERIC.fullmatch(host) else host.partition(".")[0]
    name = _OTHER.sub("-", label).strip("-") or "host"
    if len(name) <= _MAX_NAME:
        return name
    # The end of server-room-3-box-17 says more than its beginning.
    words = name[-_MAX_NAME - 1 :].partition("-")[2]
    return words or name[:_MAX_NAME]


def _unique(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found.lower() in taken:
        number += 1
        end = f"-{number}"
        found = name[: _MAX_NAME - len(end)].rstrip("-") + end
    return found
