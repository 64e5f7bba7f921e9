"""Where jobs run: the table ``[cluster]``, of any TOML file, and what makes one contradictory."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Final

import tomli

from fuzztui.features.jobs.keys import CLUSTER
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.files import PREFIX, is_pyproject, key_lines, tables_of
from fuzztui.run.campaign.places import address_problem as host_problem
from fuzztui.run.campaign.table import CampaignTable
from fuzztui.run.campaign.values import check, nearest

KINDS: Final = ("scheduler", "ssh", "slurm", "kubernetes")
"""Keys that say where; without any of them jobs run on local slots."""

SLURM_KEYS: Final = ("partition", "jobs", "cores", "memory", "walltime", "options", "logs")
"""The keys of ``cluster.slurm``."""

_ADDRESS: Final = re.compile(
    r"(?P<protocol>\w+)://(?P<at>(?P<host>\[[0-9a-fA-F:.]+\]|[^\s:/]+):\d+)"
)


class ClusterError(Exception):
    """A cluster cannot be used; the text is for the user."""


@dataclass(frozen=True, slots=True)
class ClusterConfig:
    """The table ``[cluster]`` with every default filled in."""

    scheduler: str = ""
    ssh: Sequence[str] = ()
    slurm: Mapping[str, Any] = field(default_factory=dict)
    kubernetes: Mapping[str, Any] = field(default_factory=dict)
    tls: str = ""
    address: str = ""
    python: str = ""
    slots: int = 0

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> ClusterConfig:
        """Return a checked table as a configuration."""
        return cls(**{f.name: table[f.name] for f in fields(cls) if table.get(f.name)})

    @property
    def local(self) -> bool:
        """Whether jobs run on local slots."""
        return not any(getattr(self, kind) for kind in KINDS)

    def problems(self) -> Iterator[tuple[str, str]]:
        """Yield keys of ``[cluster]``, and what is wrong with each."""
        given = [kind for kind in KINDS if getattr(self, kind)]
        if len(given) > 1:
            yield given[1], f"contradicts cluster.{given[0]}: give one of {', '.join(KINDS)}"
        if self.kubernetes:
            yield (
                "kubernetes",
                "is not supported: start a scheduler and workers there, with the certificates of "
                "'fuzztui cluster init', and give cluster.scheduler",
            )
        if self.scheduler and (wrong := address_problem(self.scheduler)):
            yield "scheduler", wrong
        elif self.scheduler and not self.tls and not is_loopback(self.scheduler):
            yield "tls", f"is missing, but {self.scheduler} needs certificates; {INIT}"
        for host in self.ssh:
            if problem := host_problem(host):
                yield "ssh", f"{host!r} {problem}"
        for kind in ("ssh", "slurm"):
            if getattr(self, kind) and not self.tls:
                yield "tls", f"is missing: with cluster.{kind} all connections use TLS; {INIT}"
            if getattr(self, kind) and not self.address:
                yield (
                    "address",
                    f"is missing: with cluster.{kind} the scheduler runs on this machine; give the "
                    'IP address that the workers can reach, such as address = "10.0.0.5"',
                )
        if self.address and not _is_ip(self.address):
            yield "address", f'{self.address!r} is not an IP address, such as "10.0.0.5"'
        yield from self._slurm_problems()

    def _slurm_problems(self) -> Iterator[tuple[str, str]]:
        for key, value in self.slurm.items():
            if key not in SLURM_KEYS:
                yield "slurm", f"{key!r} is unknown; choose from {', '.join(SLURM_KEYS)}"
            elif key in ("jobs", "cores"):
                if type(value) is not int or value < 1:
                    yield (
                        "slurm",
                        f"{key} = {value!r} is not a whole number of at least 1, without quotes",
                    )
            elif key == "options":
                if not isinstance(value, list) or not all(
                    isinstance(o, str) and o.isprintable() for o in value
                ):
                    yield "slurm", 'options is not a list of strings, such as ["--account=x"]'
            elif not isinstance(value, str) or not value or not value.isprintable():
                yield "slurm", f"{key} = {value!r} is not a string"


class ClusterTable(CampaignTable):
    """``[cluster]``, for all engines."""

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield keys that are contradictory; none for a run, whose cluster is checked when used.

        A run of a former version must open even if it has tcp:// on loopback, which was allowed.
        """
        for key, text in () if of_run else ClusterConfig.of(campaign.table(self.name)).problems():
            yield f"{self.name}.{key}", text


TABLE = ClusterTable("cluster", "where jobs run (docs/cluster.md)", CLUSTER, of_hub=True)

INIT: Final = "make them: fuzztui cluster init DIR, and give DIR"


def address_problem(address: str) -> str:
    """Return what is wrong with a scheduler's address; an empty string if nothing is."""
    found = _ADDRESS.fullmatch(address)
    if found is None or found["protocol"] not in ("tls", "tcp"):
        return f"{address!r} is not an address with its protocol, such as tls://10.0.0.5:8786"
    if found["protocol"] == "tcp":
        return (
            f"{address!r} is refused: without TLS all who reach that port, and on loopback all "
            f"users of this machine, can run programs there; use tls://{found['at']}"
        )
    return ""


def is_loopback(place: str) -> bool:
    """Whether a host, or tls://HOST:PORT, is this machine by an address that no other can reach."""
    found = _ADDRESS.fullmatch(place)
    host = found["host"] if found else place
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _is_ip(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


_MAX_BYTES = 1 << 20


def read_cluster(file: Path) -> ClusterConfig:
    """Return the configuration. Raises :class:`ClusterError` with file, line and key."""
    try:
        with file.open("rb") as opened:
            text = opened.read(_MAX_BYTES).decode()
        data: Any = tomli.loads(text)
    except OSError as e:
        raise ClusterError(f"{file}: {e.strerror}") from None
    except ValueError as e:
        raise ClusterError(f"{file}: is not valid TOML: {e}") from None
    of_project = is_pyproject(file)
    lines = key_lines(text, PREFIX if of_project else "")
    data = (tables_of(data) or {}) if of_project else data

    def wrong(key: str, problem: str) -> ClusterError:
        line = lines.get(f"cluster.{key}") or lines.get("cluster")
        return ClusterError(f"{file}{f':{line}' if line else ''}: cluster.{key}: {problem}")

    table = data.get("cluster")
    if not isinstance(table, dict):
        raise ClusterError(f"{file}: has no table [cluster]; see docs/cluster.md")
    keys = {key.name: key for key in CLUSTER}
    resolved: dict[str, Any] = {}
    for name, value in table.items():
        if name not in keys:
            raise wrong(name, f"is unknown{nearest(name, keys)}; choose from {', '.join(keys)}")
        try:
            _, resolved[name] = check(keys[name], value, file.absolute().parent)
        except (ValueError, OSError) as e:
            raise wrong(name, str(e)) from None
    config = ClusterConfig.of(resolved)
    for key, problem in config.problems():
        raise wrong(key, problem)
    return config
