"""A scheduler and a worker on loopback, as commands start them: another user gets nowhere."""

import json
import os
import re
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from waiting import wait_until

from fuzztui.cli import main
from fuzztui.features.jobs.nodes import free_port

pytestmark = pytest.mark.slow

INTRUDER = """
import asyncio, json, os, pickle, sys, tempfile
import distributed
from distributed.core import rpc
from pathlib import Path
from fuzztui.features.jobs.tls import make_certificates, tls_files

places, keys, uid = json.loads(sys.argv[1])
temporary = tempfile.TemporaryDirectory()
made = Path(temporary.name)
make_certificates(made)
for path in (made, *made.iterdir()) if uid else ():
    os.chown(path, uid, uid)


def securities(files):
    yield "no certificate", distributed.Security()
    yield "foreign certificate", distributed.Security(
        tls_ca_file=files.ca, tls_client_cert=files.cert, tls_client_key=files.key
    )


async def attempt(address, security):
    args = security.get_connection_args("client")
    async with rpc(address, connection_args=args, timeout=10) as peer:
        return await peer.run(
            function=pickle.dumps(os.getuid), args=pickle.dumps(()), kwargs=pickle.dumps({})
        )


def all_attempts(places):
    files = tls_files(str(made))
    for place in places:
        for name, security in securities(files):
            for scheme in ("tcp", "tls"):
                try:
                    answer = asyncio.run(attempt(f"{scheme}://{place}", security))
                except BaseException as e:
                    yield f"{scheme}, {name}", type(e).__name__, False
                else:
                    yield f"{scheme}, {name}", repr(answer), True


if uid:
    try:  # what is imported late is imported before the files cannot be read any more
        tuple(all_attempts(["127.0.0.1:1"]))
    except BaseException:
        pass
    os.setgroups([]), os.setresgid(uid, uid, uid), os.setresuid(uid, uid, uid)
readable = [key for key in keys if os.access(key, os.R_OK)]
print(json.dumps({"uid": os.getuid(), "readable": readable, "got": list(all_attempts(places))}))
"""
"""Tries to run a function at each place; as another user if it may become one."""


@pytest.fixture(scope="module")
def on_loopback(tmp_path_factory):
    """The scheduler's address, the worker's, and the directory of the user's state."""
    state = tmp_path_factory.mktemp("state")
    environment = {**os.environ, "XDG_STATE_HOME": str(state)}
    port = free_port("127.0.0.1")
    log = state / "worker.log"
    with log.open("w") as out:
        started = [
            subprocess.Popen(
                [sys.executable, "-P", "-m", "fuzztui", "cluster", *argv],
                env=environment,
                stdout=out,
                stderr=subprocess.STDOUT,
            )
            for argv in (
                ["scheduler", f"127.0.0.1:{port}"],
                ["worker", f"tls://127.0.0.1:{port}", "--slots", "1"],
            )
        ]
    yield f"127.0.0.1:{port}", state, log
    for process in reversed(started):
        process.terminate()
        process.wait()


@pytest.fixture
def checked(on_loopback, monkeypatch, capsys):
    """The worker's address, after the user's own commands have found it."""
    scheduler, state, log = on_loopback
    monkeypatch.setenv("XDG_STATE_HOME", str(state))

    def ready():
        code = main(["cluster", "check", "--cluster", f"tls://{scheduler}", "--json"])
        found.update(json.loads(capsys.readouterr().out))
        return code == 0

    found: dict = {}
    assert wait_until(ready), (found, log.read_text())
    [address] = re.findall(r"tls://([\d.:]+)", found["workers"][0])
    return address


def attempts(code, places, keys, uid):
    asked = json.dumps([places, keys, uid])
    done = subprocess.run(
        [sys.executable, "-c", code, asked], stdout=subprocess.PIPE, check=True, text=True
    )
    return json.loads(done.stdout)


def test_another_user_runs_nothing(on_loopback, checked):
    scheduler, state, _ = on_loopback
    folder = state / "fuzztui" / "loopback-tls"
    keys = [str(file) for file in folder.iterdir()]
    assert len(keys) == 3
    assert {stat.S_IMODE(Path(key).stat().st_mode) for key in keys} == {0o600}
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    uid = 65534 if os.geteuid() == 0 else 0
    answer = attempts(INTRUDER, [scheduler, checked], keys, uid)
    assert answer["uid"] == (uid or os.geteuid())
    assert answer["readable"] == ([] if uid else keys)
    assert len(answer["got"]) == 8
    assert [got for got in answer["got"] if got[2]] == []


def test_the_user_runs_something(on_loopback, checked):
    """The attempts above are ones that succeed with the certificates."""
    scheduler, state, _ = on_loopback
    own = INTRUDER.replace(
        "make_certificates(made)", f"made = Path({str(state)!r}, 'fuzztui', 'loopback-tls')"
    )
    answer = attempts(own, [scheduler, checked], [], 0)
    got = {how for how, _, well in answer["got"] if well}
    assert got == {"tls, foreign certificate"}
