"""``fuzztui cluster``: certificates, a check of what would be used, and Dask's processes, safe."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from fuzztui import __version__
from fuzztui.cli.json_output import print_json
from fuzztui.cli.output import DONE, FAILED, CliError, UsageError, say
from fuzztui.features.jobs.config import (
    ClusterConfig,
    ClusterError,
    address_problem,
    is_loopback,
    read_cluster,
)
from fuzztui.features.jobs.nodes import (
    SETTINGS,
    bracketed,
    free_port,
    own_address,
    scheduler_argv,
    worker_argv,
)
from fuzztui.features.jobs.opening import check_workers, open_place
from fuzztui.features.jobs.tls import (
    CA,
    CERT,
    DAYS,
    KEY,
    TlsFiles,
    days_left,
    make_certificates,
    tls_for,
)
from fuzztui.kernel.base.cpus import usable_cpus
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.base.text import several, visible
from fuzztui.run.campaign.extras import missing_extra

_PORT = 8786
_SOON_DAYS = 14
_SCHEMES = ("tls:/", "tcp:/")
"""How an address begins after it was converted to a path, which drops one of two slashes."""


def cluster_of(options: argparse.Namespace, table: Mapping[str, Any]) -> ClusterConfig | None:
    """Where jobs run: ``--cluster``, or ``table`` of a campaign; None: nowhere.

    Raises :class:`CliError`.
    """
    where: str = options.cluster
    if options.cluster_tls is not None and "://" not in where:
        raise UsageError("--cluster-tls: is for --cluster tls://HOST:PORT; others have a key")
    if where in ("", "none"):
        return ClusterConfig.of(table) if table and not where else None
    if where == "local":
        return ClusterConfig()
    if "://" in where:
        if wrong := address_problem(where):
            raise UsageError(f"--cluster: {wrong}")
        tls = options.cluster_tls
        if tls is None and not is_loopback(where):
            raise UsageError(
                f"--cluster {where}: give its certificates: --cluster-tls DIR, where DIR is what "
                "'fuzztui cluster init' has made"
            )
        return ClusterConfig(scheduler=where, tls="" if tls is None else str(tls.absolute()))
    file = Path(where)
    if not file.exists():
        raise UsageError(
            f"--cluster {where}: is neither an address (tls://HOST:PORT), nor local, nor a file"
        )
    try:
        return read_cluster(file)
    except ClusterError as e:
        raise UsageError(str(e)) from None


def init(options: argparse.Namespace) -> int:
    """Make the certificates of a new cluster."""
    directory: Path = options.directory.absolute()
    try:
        make_certificates(directory)
    except ClusterError as e:
        raise UsageError(str(e)) from None
    print(visible(f"{directory}: {CA}, {CERT} and {KEY}, valid for {DAYS} days"))
    print(
        "With these files programs can be run on every machine of the cluster. Copy the directory\n"
        "to the same path on each machine, with its modes (scp -pr, rsync -a), then:"
    )
    print(visible(f"  fuzztui cluster scheduler IP --tls {directory}", lines=True))
    print(visible(f"  fuzztui cluster worker tls://IP:{_PORT} --tls {directory}", lines=True))
    return DONE


def scheduler(options: argparse.Namespace) -> int:
    """Become Dask's scheduler, with TLS."""
    host, port = _host_and_port(options.address)
    tls = _tls(options, host)
    try:
        free_port(host, port)
    except OSError as e:
        raise UsageError(f"{host}:{port}: cannot listen there: {e.strerror}") from None
    address = f"tls://{bracketed(host)}:{port}"
    say(f"scheduler at {address}; workers: fuzztui cluster worker {address}{_tls_option(options)}")
    return _become(scheduler_argv(sys.executable, host, port, tls))


def worker(options: argparse.Namespace) -> int:
    """Become a worker of a scheduler."""
    if wrong := address_problem(options.address):
        raise UsageError(f"ADDRESS: {wrong}")
    tls = _tls(options, options.address)
    try:
        here = own_address(options.address)
    except ClusterError as e:
        raise CliError(str(e)) from None
    slots = options.slots or usable_cpus()
    say(f"worker with {several(slots, 'slot')} at {here} for {options.address}")
    return _become(worker_argv(sys.executable, options.address, here, slots, tls))


def _host_and_port(text: str) -> tuple[str, int]:
    text = text.partition("://")[2] or text
    host, colon, port = text.rpartition(":")
    if not colon or (":" in host and not text.startswith("[")):
        host, port = text, str(_PORT)
    if not port.isdecimal() or len(port) > 5 or int(port) > 65535 or not host:
        raise UsageError(f"{text!r} is not an address such as 10.0.0.5:8786")
    host = host.strip("[]")
    if host in ("0.0.0.0", "::"):
        raise UsageError(f"{host}: give the one address that the workers reach")
    return host, int(port)


def _tls(options: argparse.Namespace, address: str) -> TlsFiles:
    if missing := missing_extra("cluster"):
        raise UsageError(missing)
    try:
        return tls_for(str(options.tls.absolute()) if options.tls else "", address)
    except ClusterError as e:
        raise UsageError(f"--tls: {e}") from None


def _tls_option(options: argparse.Namespace) -> str:
    return "" if options.tls is None else f" --tls {options.tls.absolute()}"


def _become(argv: list[str]) -> int:
    """Replace this process by the command ``argv``, with the environment for Dask."""
    sys.stderr.flush()
    os.execve(argv[0], argv, {**os.environ, **SETTINGS})


def check(options: argparse.Namespace) -> int:
    """Print the cluster that would run jobs (versions, workers, slots, TLS), and its problems."""
    config = cluster_of(options, {})
    if config is None and options.file is not None and str(options.file).startswith(_SCHEMES):
        raise UsageError(f"{options.file}: is an address, not a file; write --cluster ADDRESS")
    if config is None and options.file is not None:
        try:
            config = read_cluster(options.file)
        except ClusterError as e:
            raise UsageError(str(e)) from None
    found = _Checked()
    try:
        _check(config or ClusterConfig(), found)
    except ClusterError as e:
        found.problems.append(str(e))
    if options.json:
        print_json("cluster-check", asdict(found))
    else:
        _print(found)
    return FAILED if found.problems else DONE


@dataclass(slots=True)
class _Checked:
    """What was found out about a cluster; texts are for the user."""

    place: str = "unknown"
    tls: str = "off: nothing listens"
    slots: int = 0
    versions: dict[str, str] = field(default_factory=dict)
    workers: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def _check(config: ClusterConfig, found: _Checked) -> None:
    """Connect to the cluster, ask its workers, and fill ``found``. Raises :class:`ClusterError`."""
    if not config.local:
        tls = tls_for(config.tls, config.scheduler)
        days = days_left(tls)
        found.tls = f"on, certificates of {Path(tls.ca).parent}, valid for {days} days"
        if days < _SOON_DAYS:
            found.problems.append(
                f"the certificates end in {days} days; make new ones: fuzztui cluster init DIR"
            )
    place = open_place(config, usable_cpus(), say)
    try:
        found.place = place.describe()
        found.slots, versions, workers = place.facts()
        found.versions, found.workers = {**versions, "fuzztui": __version__}, [*workers]
        # Only whether the workers see the same files at all: a command checks its own directory.
        with temporary_directory(place=Path.cwd()) as shared:
            found.problems += check_workers(place, [], Path(shared))
    finally:
        place.close()


def _print(found: _Checked) -> None:
    print(visible(f"place     {found.place}"))
    print(visible(f"tls       {found.tls}"))
    print(visible(f"slots     {found.slots}"))
    for name, version in found.versions.items():
        print(visible(f"{name.lower():<9} {version}"))
    for row in found.workers:
        print(visible(f"worker    {row}"))
    for problem in found.problems:
        print(visible(f"problem   {problem}"))
    if not found.problems:
        print("ready")
