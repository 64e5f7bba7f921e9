"""Open the place that a campaign or a command names; Dask is imported only for a cluster."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final
from uuid import uuid4

from fuzztui import __version__
from fuzztui.features.jobs.config import ClusterConfig, ClusterError, address_problem
from fuzztui.features.jobs.places import LocalSlots, Place
from fuzztui.features.jobs.tls import tls_for
from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.text import several
from fuzztui.run.campaign.extras import missing_extra

if TYPE_CHECKING:
    from fuzztui.features.jobs.dask_place import DaskPlace

WORKERS_S: Final = 120.0
"""Seconds in which the first worker of a cluster must come."""
Say = Callable[[str], None]


def open_place(config: ClusterConfig, slots: int, say: Say = lambda text: None) -> Place:
    """Open a place. ``slots``: local slots if the configuration has no number of them.

    ``say`` is called with a message about each wait. Raises :class:`ClusterError`. The caller
    closes the place, which ends all that was started for it.
    """
    for key, text in config.problems():
        raise ClusterError(f"cluster.{key}: {text}")
    if config.local:
        return LocalSlots(config.slots or slots, config.python)
    if missing := missing_extra("cluster"):
        raise ClusterError(f"a cluster is wanted, but {missing}")
    with contextlib.ExitStack() as owned:
        address = config.scheduler or _started(config, say, owned)
        place = connected(replace(config, scheduler=address), "", say)
        place.owned = owned.pop_all()
        return place


def connected(config: ClusterConfig, python: str, say: Say = lambda text: None) -> DaskPlace:
    """Connect to ``config.scheduler``, and wait for a worker. Raises :class:`ClusterError`.

    ``python``: the workers' interpreter; empty: that of the configuration, or this one.
    """
    from fuzztui.features.jobs.dask_client import connect, refuse_other_versions
    from fuzztui.features.jobs.dask_place import DaskPlace

    if wrong := address_problem(config.scheduler):  # of a run of a former version
        raise ClusterError(f"cluster.scheduler: {wrong}")
    tls = tls_for(config.tls, config.scheduler)
    say(f"connecting to {config.scheduler}")
    client = connect(config.scheduler, tls)
    try:
        _wait_for_workers(client, config.scheduler, say)
        refuse_other_versions(client)
    finally:
        client.close(timeout=5)  # type: ignore[no-untyped-call]
    return DaskPlace(
        lambda: connect(config.scheduler, tls),
        python=python or config.python or sys.executable,
    )


def _wait_for_workers(client: Any, address: str, say: Say) -> None:
    if client.nthreads():
        return
    say(f"waiting for the first worker of {address}")
    try:
        client.wait_for_workers(1, WORKERS_S)
    except TimeoutError:
        raise ClusterError(
            f"{address} has no workers; start some: fuzztui cluster worker {address}"
        ) from None


def _started(config: ClusterConfig, say: Say, owned: contextlib.ExitStack) -> str:
    """Start the scheduler and the workers of ``ssh`` or ``slurm``; return its address.

    ``owned``: receives the callbacks that end each of them. Raises :class:`ClusterError`.
    """
    from fuzztui.features.jobs.nodes import OwnScheduler, start_ssh_workers
    from fuzztui.features.jobs.slurm import SlurmWorkers

    say(f"starting a scheduler at {config.address}")
    scheduler = OwnScheduler(config.address, tls_for(config.tls, config.address))
    owned.callback(scheduler.close)
    if config.ssh:
        say(f"starting workers on {', '.join(config.ssh)}")
        for worker in start_ssh_workers(config, scheduler.address):
            owned.callback(worker.close)
    else:
        owned.callback(SlurmWorkers(config, scheduler.address).close)
    return scheduler.address


def check_workers(place: Place, paths: Sequence[str], shared: Path) -> list[str]:
    """What workers lack for jobs that use files: fuzztui, these paths, and a common file system.

    ``shared``: a directory in which a file is made that each worker must find. Returns
    texts for the user; none for local slots.
    """
    nonce = shared / f".probe-{uuid4().hex[:12]}"
    text = uuid4().hex
    replace_text(nonce, text)
    try:
        answers = place.probe({"paths": list(paths), "nonce": [str(nonce), text]})
    finally:
        nonce.unlink(missing_ok=True)
    problems = []
    for worker, answer in answers.items():
        where = f"worker {worker} on {answer.get('host', '?')}"
        problems += [f"{where}: {text}" for text in _lacks(answer, str(shared))]
    return problems


def _lacks(answer: dict[str, Any], shared: str) -> list[str]:
    if why := answer.get("failed"):
        return [str(why)]
    texts = []
    version = str(answer.get("fuzztui", "")).partition(" ")[0]
    if not version:
        why = " ".join(str(answer.get("why", "")).split())[-200:]
        texts.append(
            f"{answer.get('python')} has no fuzztui ({why}); install fuzztui {__version__} there, "
            "or name the interpreter that has it with cluster.python"
        )
    elif version != __version__:
        texts.append(
            f"has fuzztui {version}, not {__version__}; install the same version everywhere"
        )
    if not answer.get("shares"):
        texts.append(
            f"does not have the directory {shared} of this machine; the run, the target and its "
            "inputs must be at the same paths on all machines (a shared file system)"
        )
    elif missing := answer.get("missing"):
        texts.append(f"does not have {missing[0]} ({several(len(missing), 'path')} missing)")
    return texts
