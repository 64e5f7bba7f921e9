"""No open, unauthenticated port: on what our scheduler and workers listen, what answers."""

import json
import socket
import ssl
import urllib.error
import urllib.request

import distributed
import psutil
import pytest
from dask_cluster import Cluster
from waiting import DEADLINE_S

from fuzztui.features.jobs.config import ClusterError
from fuzztui.features.jobs.dask_client import connect
from fuzztui.features.jobs.tls import make_certificates, tls_files

pytestmark = pytest.mark.slow

OUTSIDE = "127.0.0.2"
"""In place of an address that others reach: not the one that is loopback for HTTP."""
PATHS = (
    *("", "health", "metrics", "status", "json/counts.json", "individual-plots"),
    *(
        "info/main/workers.html",
        "info/main/logs.html",
        "api/v1/retire_workers",
        "statics/css/base.css",
    ),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    found = Cluster(tmp_path_factory.mktemp("cluster"), workers=1, host=OUTSIDE)
    yield found
    found.close()


def listening(process: psutil.Process) -> list[tuple[str, int]]:
    return [tuple(c.laddr) for c in process.net_connections("inet") if c.status == "LISTEN"]


def test_addresses(cluster):
    """Each process: one port with TLS on the given address, one with HTTP on loopback."""
    for process in cluster.processes():
        assert not process.children(recursive=True), "all listeners are its own"
        hosts = sorted(host for host, _ in listening(process))
        # A worker binds the address by which it reaches the scheduler.
        assert len(hosts) == 2
        assert hosts[0] == "127.0.0.1"
        assert set(hosts) <= {"127.0.0.1", OUTSIDE}
    scheduler = dict(listening(cluster.processes()[0]))
    assert f"tls://{OUTSIDE}:{scheduler[OUTSIDE]}" == cluster.address


def http_status(host, port, path):
    try:
        with urllib.request.urlopen(f"http://{host}:{port}/{path}", timeout=DEADLINE_S) as answer:
            return answer.status
    except urllib.error.HTTPError as e:
        return e.code
    except (OSError, ValueError) as e:
        return type(e)


def test_nothing_answers_without_a_certificate(cluster):
    for process in cluster.processes():
        spoken = 0
        for host, port in listening(process):
            statuses = {path: http_status(host, port, path) for path in PATHS}
            if any(isinstance(status, int) for status in statuses.values()):
                assert host == "127.0.0.1"
                assert set(statuses.values()) == {404}, "HTTP, but without a single page"
                with urllib.request.urlopen(f"http://{host}:{port}/sitemap.json") as answer:
                    assert json.load(answer) == {"paths": ["/sitemap.json"]}
                continue
            spoken += 1
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
            with (  # TLS, but without a certificate
                socket.create_connection((host, port), 10) as raw,
                pytest.raises(ssl.SSLError),
                context.wrap_socket(raw) as wrapped,
            ):
                wrapped.recv(1)
        assert spoken == 1


def test_other_certificates_are_refused(cluster, tmp_path):
    make_certificates(tmp_path / "other")
    with pytest.raises(ClusterError):
        connect(cluster.address, tls_files(str(tmp_path / "other")), 5.0)


def test_without_tls(cluster):
    with pytest.raises(ClusterError):
        connect(cluster.address.replace("tls:", "tcp:"), cluster.tls, 5.0)
    with pytest.raises(OSError):
        distributed.Client(cluster.address.replace("tls:", "tcp:"), timeout=5)
