"""fuzztui and a campaign on real hosts: by ssh, with what goes wrong there."""

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_lab import Hosts
from waiting import wait_until

from fuzztui.machines.hosts.boot import IN_USE, KEPT
from fuzztui.machines.hosts.bundle import bundle, open_host
from fuzztui.machines.hosts.ssh import HostError
from fuzztui.run.campaign.places import HostPlace

pytestmark = pytest.mark.slow

LIB = "~/.cache/fuzztui/lib"

TARGET = """
import attr_of_this_test

def parse(data: bytes):
    if data[:2] == b"ab":
        raise RuntimeError("bug")
"""

CAMPAIGN = """
[target]
function = "pkg:parse"
[engine]
kind = "zest"
seeds = ["seeds"]
[hosts]
"fuzz@h1" = { instances = 2 }
"fuzz@h2" = { path = "~/elsewhere/run" }
"""


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    with Hosts(2, tmp_path_factory.mktemp("lab"), (0, 7200)) as hosts:
        yield hosts


@pytest.fixture
def hosts(lab: Hosts, monkeypatch: pytest.MonkeyPatch) -> Hosts:
    """Two hosts on which nothing of fuzztui is."""
    for host in lab.values():
        host.run("chmod -R u+rwx ~/.cache ~/elsewhere", check=False)
        host.run("rm -rf ~/.cache ~/.local ~/.bashrc ~/elsewhere")
    monkeypatch.setenv("FUZZTUI_SSH", lab.env()["FUZZTUI_SSH"])
    return lab


def place(name: str, **other) -> HostPlace:
    return HostPlace(name, f"fuzz@{name}", 1, **other)


async def shown(place: HostPlace) -> str:
    """What a small module prints over there."""
    process = await open_host(place, [], module="platform")
    out = await process.stdout.read()
    assert await process.wait() == 0, process.stderr_tail
    return out.decode()


async def error(place: HostPlace) -> HostError:
    with pytest.raises(HostError) as raised:
        await open_host(place, [], module="platform")
    return raised.value


async def test_starts_at_once_with_an_empty_cache(hosts):
    assert all(await asyncio.gather(*(shown(place("h1")) for _ in range(4))))
    assert hosts["h1"].run(f"ls -A {LIB}").stdout.split() == [bundle().hash]
    before = hosts["h1"].run(f"stat -c %i {LIB}/*").stdout
    await shown(place("h1"))
    assert hosts["h1"].run(f"stat -c %i {LIB}/*").stdout == before


async def test_old_copies_are_removed_but_for_the_newest(hosts):
    hosts["h1"].run(
        f"mkdir -p {LIB}; cd {LIB}; for i in 1 2 3 4 5; do mkdir $i; touch -d @$i $i/{IN_USE}; done"
    )
    await shown(place("h1"))
    left = hosts["h1"].run(f"ls -A {LIB}").stdout.split()
    assert len(left) == KEPT and {bundle().hash, "5"} <= {*left}


async def test_a_shell_that_talks(hosts):
    hosts["h1"].run("echo 'echo hello; printf partial' > ~/.bashrc")
    assert "Linux" in await shown(place("h1"))


async def test_a_cache_that_may_not_be_written(hosts):
    hosts["h1"].run("mkdir ~/.cache; chmod 500 ~/.cache")
    assert "XDG_CACHE_HOME" in (await error(place("h1"))).advice


async def test_a_full_disk(hosts):
    hosts["h2"].fill_disk()
    try:
        found = await error(place("h2"))
    finally:
        hosts["h2"].free_disk()
    assert "full" in found.reason
    assert "Linux" in await shown(place("h2"))


async def test_what_ssh_refuses(hosts, tmp_path, monkeypatch):
    assert "key" in (await error(HostPlace("h1", "nobody@h1", 1))).reason
    assert "such host" in (await error(HostPlace("x", "fuzz@h9.invalid", 1))).reason
    assert "Python 3.11" in (await error(place("h1", python="/no/python3"))).advice
    config = tmp_path / "config"
    known = f"{hosts.config.parent}/known_hosts"
    config.write_text(hosts.config.read_text().replace(known, "/dev/null"))
    monkeypatch.setenv("FUZZTUI_SSH", f"ssh -F {config}")
    assert "ssh-keygen" not in (found := await error(place("h1"))).advice
    assert "unknown" in found.reason


@pytest.mark.nightly
async def test_a_link_that_is_cut_while_fuzztui_is_sent(hosts):
    hosts["h1"].slow(2000)
    try:
        starting = asyncio.ensure_future(error(place("h1")))
        await asyncio.sleep(2.5)
        hosts["h1"].cut()
        assert str(await starting)
    finally:
        hosts["h1"].slow(0)
        hosts["h1"].mend()
    assert "Linux" in await shown(place("h1"))


# ------------------------------------------------------------------- fuzztui hosts check


@pytest.fixture
def campaign(tmp_path: Path) -> Path:
    for name, text in {
        "pkg/__init__.py": TARGET,
        "attr_of_this_test.py": "",
        "seeds/1": "xyz",
        ".env": "SECRET=1",
        "c.toml": CAMPAIGN,
    }.items():
        path = tmp_path / "p" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return tmp_path / "p/c.toml"


def check(hosts: Hosts, *args: object) -> tuple[int, dict[str, dict]]:
    """The exit code of ``hosts check --json``, and the lines by host and what they are about."""
    done = subprocess.run(
        [sys.executable, "-m", "fuzztui", "hosts", "check", "--json", *map(str, args)],
        capture_output=True,
        text=True,
        check=False,
        env=hosts.env(),
        timeout=300,
    )
    rows = json.loads(done.stdout)["hosts"] if done.stdout else []
    return done.returncode, {
        row["host"]: {finding["what"]: finding for finding in row["findings"]} for row in rows
    }


def test_hosts_that_are_ready(hosts, campaign):
    code, found = check(hosts, campaign)
    assert code == 0, found
    assert found.keys() == {"h1", "h2"}
    for name, rows in found.items():
        assert rows["target"]["state"] == rows["reached"]["state"] == "ok"
        assert f"as {name}" in rows["reached"]["text"]
    assert found["h1"]["clock"]["state"] == "ok"
    assert found["h2"]["clock"]["state"] == "warning"
    assert found["h2"]["clock"]["text"].startswith(("120 min", "2 h"))
    assert "/elsewhere/run" in found["h2"]["disk"]["text"]
    for host in hosts.values():  # nothing is left, and no run was made
        assert host.run("ls -A ~/.cache/fuzztui/check ~/.local", check=False).stdout.split() == [
            "/home/fuzz/.cache/fuzztui/check:"
        ]
        wait_until(lambda host=host: not host.run("pgrep -u fuzz python", check=False).stdout)


def test_a_module_that_only_one_host_lacks(hosts, campaign):
    (campaign.parent / "attr_of_this_test.py").unlink()
    site = hosts["h1"].run("python3 -c 'import site; print(site.getusersitepackages())'").stdout
    hosts["h1"].run(f"mkdir -p {site.strip()}; touch {site.strip()}/attr_of_this_test.py")
    code, found = check(hosts, campaign)
    assert code == 1
    assert found["h1"]["target"]["state"] == "ok"
    assert found["h2"]["target"]["state"] == "failed"
    assert "pip install attr_of_this_test" in found["h2"]["target"]["advice"]
    assert str(campaign) in found["h2"]["target"]["text"]


def test_one_host_of_three_is_gone(hosts, campaign):
    hosts["h2"].run("mkdir ~/elsewhere; chmod 500 ~/elsewhere")
    code, found = check(hosts, campaign, "--host", "fuzz@h9.invalid*2")
    assert code == 1
    assert found["h1"]["target"]["state"] == "ok"
    assert found["h2"]["disk"]["state"] == "failed"
    assert [*found["h9"]] == ["reached"] and found["h9"]["reached"]["state"] == "failed"


def test_afl_targets(hosts, tmp_path):
    text = '[target]\ncommand = ["cat", "@@"]\n[engine]\nkind = "afl"\n[hosts]\n"fuzz@h1" = {}\n'
    (tmp_path / "a.toml").write_text(text)
    code, found = check(hosts, tmp_path / "a.toml")
    there = hosts["h1"].run("command -v afl-fuzz", check=False).returncode == 0
    assert (code, found["h1"]["afl++"]["state"]) == ((0, "ok") if there else (1, "failed"))
    assert ("core_pattern" in found["h1"]) == there


@pytest.mark.nightly
def test_many_files_over_a_slow_link(hosts, campaign):
    for i in range(300):
        (campaign.parent / f"seeds/{i}").write_bytes(bytes([i % 256]) * 1000)
    (campaign.parent / "large.bin").write_bytes(os.urandom(700_000))
    check(hosts, "--host", "fuzz@h1")  # fuzztui is there
    hosts["h1"].slow(500)
    try:
        code, found = check(hosts, campaign)
    finally:
        hosts["h1"].slow(0)
    assert (code, found["h1"]["target"]["state"]) == (0, "ok")


def test_a_host_that_refuses_the_key_does_not_hold_up_the_others(hosts, campaign):
    text = CAMPAIGN.replace('"fuzz@h2"', '"nobody@h2"') + "[campaign]\nbudget = 20000\n"
    campaign.write_text(text)
    argv = [sys.executable, "-m", "fuzztui", str(campaign), "--headless", "--json"]
    done = subprocess.run(
        argv, capture_output=True, text=True, check=False, env=hosts.env(), timeout=200,
        cwd=campaign.parent,
    )  # fmt: skip
    last = json.loads(done.stdout.splitlines()[-1])
    assert last["state"] == "finished", (last["reason"], done.stderr)
    assert {row["name"]: row["state"] for row in last["hosts"]} == {"h1": "ended", "h2": "failed"}


def test_without_hosts(hosts, campaign):
    campaign.write_text(CAMPAIGN.partition("[hosts]")[0])
    assert check(hosts, campaign) == (2, {})
    assert check(hosts) == (2, {})
    assert check(hosts, "--host", "-oProxyCommand=x*2") == (2, {})
