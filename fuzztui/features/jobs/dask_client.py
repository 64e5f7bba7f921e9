"""Connect to a scheduler: encrypted, with equal versions, or not at all."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any, Final, TypeVar

import cloudpickle
import distributed

from fuzztui.features.jobs import carry, dask_task
from fuzztui.features.jobs.config import ClusterError
from fuzztui.features.jobs.tls import TlsFiles

HERE: Final = "this machine"
CONNECT_S: Final = 20.0
ANSWER_S: Final = 30.0
_EXACT: Final = ("dask", "distributed", "cloudpickle", "msgpack", "tornado")
_T = TypeVar("_T")

for _module in (carry, dask_task):
    cloudpickle.register_pickle_by_value(_module)


class ByValue:
    """A function that is pickled as its code, however Dask pickles it: workers need no fuzztui.

    Dask looks for registered modules only if the function itself is pickled, not in a graph.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self._function, self._code = function, cloudpickle.dumps(function)
        self.__name__ = function.__name__  # Dask shows it

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function, on a cluster in this process."""
        return self._function(*args, **kwargs)

    def __reduce__(self) -> tuple[Any, ...]:
        """Unpickling gives the function itself."""
        return cloudpickle.loads, (self._code,)


def connect(address: str, tls: TlsFiles, within_s: float = CONNECT_S) -> distributed.Client:
    """Connect to a scheduler. Raises :class:`ClusterError`."""
    security = distributed.Security(
        tls_ca_file=tls.ca,
        tls_client_cert=tls.cert,
        tls_client_key=tls.key,
        require_encryption=True,
    )
    try:
        return distributed.Client(
            address, security=security, timeout=within_s, set_as_default=False, name="fuzztui"
        )
    except Exception as e:
        why = " ".join(str(e).split())[:300] or type(e).__name__
        advice = "does it run, and does a firewall let you through?"
        if "certificate" in why or "TLS" in why or "SSL" in why.upper():
            advice = "it needs the same certificates as this machine (cluster.tls)"
        raise ClusterError(
            f"cluster.scheduler: {address} does not answer: {why}; {advice}"
        ) from None


def answered(ask: Callable[[], _T], within_s: float = ANSWER_S) -> _T:
    """Call ``ask`` in a thread. Raises TimeoutError if that takes longer than ``within_s``.

    A scheduler with another version of Dask may never answer. Also raises what ``ask`` raises.
    """
    answer: list[_T] = []
    error: list[BaseException] = []

    def run() -> None:
        try:
            answer.append(ask())
        except BaseException as e:
            error.append(e)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(within_s)
    if error:
        raise error[0]
    if not answer:
        raise TimeoutError(f"no answer within {within_s:.0f} s")
    return answer[0]


def versions(client: distributed.Client) -> dict[str, dict[str, str]]:
    """Ask all machines for their versions: by the name of each. Raises :class:`ClusterError`."""
    try:
        found: Any = answered(client.get_versions)
    except Exception as e:
        raise ClusterError(
            f"the scheduler does not tell its versions ({type(e).__name__}: {e}); it needs the "
            f"same version of Dask as this machine: {version('distributed')}"
        ) from None
    workers = found.get("workers") or {}
    return {
        HERE: _of(found.get("client")),
        "the scheduler": _of(found.get("scheduler")),
        **{f"worker {name}": _of(data) for name, data in workers.items()},
    }


def differing(found: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Machines with other versions than this one, with what differs."""
    texts = []
    for name, there in found.items():
        parts = [
            f"{package} {there.get(package, 'is missing')}, not {wanted}"
            for package, wanted in found[HERE].items()
            if there.get(package) != wanted
        ]
        texts += [f"{name} has {', '.join(parts)}"] if parts else []
    return texts


def refuse_other_versions(client: distributed.Client) -> None:
    """Raise :class:`ClusterError` unless all machines have our versions: Dask would only hang."""
    found = versions(client)
    if texts := differing(found):
        pins = " ".join(f"{name}=={found[HERE][name]}" for name in _EXACT if name in found[HERE])
        more = f", and {len(texts) - 1} more" if len(texts) > 1 else ""
        raise ClusterError(
            f"{texts[0]}{more}; the same versions are needed everywhere, and with others jobs "
            f"would hang. Install there: python3 -m pip install {pins}"
        )


def _of(data: Any) -> dict[str, str]:
    if not isinstance(data, Mapping):
        return {}
    packages = data.get("packages") or {}
    found = {name: str(packages[name]) for name in _EXACT if packages.get(name)}
    python = str((data.get("host") or {}).get("python", ""))
    return {"Python": ".".join(python.split(".")[:2]), **found} if python else found
