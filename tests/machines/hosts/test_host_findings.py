"""What the facts about a host mean for a campaign, and what ``hosts check`` prints."""

import json
from types import SimpleNamespace

import pytest

from fuzztui.cli import hosts as command
from fuzztui.cli.output import DONE, FAILED, USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.machines.hosts.check import HostReport, machine_findings
from fuzztui.run.campaign import CampaignError
from fuzztui.run.campaign.places import HostPlace

GB = 1 << 30
PLACE = HostPlace("box", "user@box", 2)
GOOD = {
    "cores": 4,
    "load": 0.5,
    "memory": 8 * GB,
    "memory_free": 6 * GB,
    "path": "/data/run",
    "existing": "/data",
    "disk": 100 * GB,
    "disk_free": 50 * GB,
    "writable": True,
    "core_pattern": "core",
    "governor": "performance",
    "afl": {"path": "/usr/bin/afl-fuzz", "version": "4.21c"},
}


def states(clock_s: float = 0.0, kind: str = "afl", **other) -> dict[str, str]:
    """The lines that are not ok, by what they are about."""
    found = list(machine_findings(PLACE, clock_s, GOOD | other, kind))
    assert all(finding.advice for finding in found if finding.state != "ok")
    assert not any(finding.advice for finding in found if finding.state == "ok")
    return {finding.what: finding.state for finding in found if finding.state != "ok"}


def test_a_good_host():
    assert states() == {}
    assert states(kind="zest", afl={}, core_pattern="|x", governor="powersave") == {}


@pytest.mark.parametrize(
    ("other", "expected"),
    [
        ({"cores": 1}, {"cores": "warning"}),
        ({"memory_free": 300 << 20}, {"memory": "warning"}),
        ({"disk_free": 100 << 20}, {"disk": "warning"}),
        ({"disk_free": 10 << 20}, {"disk": "failed"}),
        ({"writable": False}, {"disk": "failed"}),
        ({"clock_s": 60.0}, {"clock": "warning"}),
        ({"clock_s": -60.0}, {"clock": "warning"}),
        ({"afl": {"path": "", "version": ""}}, {"afl++": "failed"}),
        ({"core_pattern": "|/usr/share/apport/apport"}, {"core_pattern": "warning"}),
        ({"governor": "powersave"}, {"governor": "warning"}),
        ({"governor": ""}, {}),
    ],
)
def test_what_a_fact_means(other, expected):
    assert states(**other) == expected


def test_answers_of_a_hostile_host():
    odd = {name: value for name in GOOD for value in ({"x": []},)}
    assert "disk" in states(**odd)
    text = [f.text for f in machine_findings(PLACE, 0.0, GOOD | {"governor": "\x1b[2J"}, "afl")]
    assert not any("\x1b" in line for line in text)


# ------------------------------------------------------------------------- the command


@pytest.fixture
def reports(monkeypatch):
    """What the hosts report, by name; the places that were asked are appended to ``asked``."""
    found = SimpleNamespace(failing=set(), asked=[], loaded=None)

    async def check_hosts(places, loaded, progress):
        found.asked, found.loaded = list(places), loaded
        made = []
        for place in places:
            report = HostReport(place)
            report.add("reached", "failed" if place.name in found.failing else "ok", "t", "a\x1b")
            made.append(report)
        return made

    monkeypatch.setattr(command, "check_hosts", check_hosts)
    return found


def run(*args: str) -> int:
    options = parse(["hosts", "check", *args])
    return options.command(options)


def test_hosts_without_a_file(reports, capsys):
    assert run("--host", "user@a*8", "--host", "b", "--json") == DONE
    assert [(p.address, p.instances) for p in reports.asked] == [("user@a", 8), ("b", 1)]
    assert reports.loaded is None
    rows = json.loads(capsys.readouterr().out)["hosts"]
    assert [(row["host"], row["ready"]) for row in rows] == [("a", True), ("b", True)]


def test_keys_of_hosts_without_a_file(reports):
    keys = ("--set", "hosts.user@a.python=python3.12", "--set", "hosts.b.path=/data")
    assert run("--host", "user@a*8", *keys) == DONE
    # An unchecked key was ignored in silence, and the check was of another interpreter.
    assert {(p.address, p.python, p.path) for p in reports.asked} == {
        ("user@a", "python3.12", ""), ("b", "", "/data"),
    }  # fmt: skip
    with pytest.raises(CliError) as error:
        run("--host", "a", "--set", "hosts.a.pyhton=x")
    assert error.value.code == USAGE


@pytest.mark.parametrize(("seconds", "text"), [(-0.01, "+0.0 s"), (3600.2, "60 min ahead")])
def test_the_clock_in_words(seconds, text):
    found = machine_findings(PLACE, seconds, GOOD, "zest")
    assert next(f.text for f in found if f.what == "clock") == text


def test_one_that_is_not_ready(reports, capsys):
    reports.failing = {"b"}
    assert run("--host", "a", "--host", "b") == FAILED
    out = capsys.readouterr().out
    assert "b (b): not ready" in out and "a (a): ready" in out
    assert "\x1b" not in out


def test_hosts_of_a_file_and_more(reports, tmp_path):
    text = '[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n[hosts]\na = {}\n'
    (tmp_path / "c.toml").write_text(text)
    assert run(str(tmp_path / "c.toml"), "--host", "a*3", "--host", "here") == DONE
    assert [(p.name, p.instances) for p in reports.asked] == [("a", 3), ("here", 1)]
    assert reports.loaded is not None


def test_hosts_of_a_project(reports, tmp_path, monkeypatch):
    text = (
        '[project]\nname = "p"\n[tool.fuzztui.target]\nfunction = "json:loads"\n'
        '[tool.fuzztui.engine]\nkind = "zest"\n[tool.fuzztui.hosts]\n"u@a.b" = { instances = 2 }\n'
    )
    (tmp_path / "pyproject.toml").write_text(text)
    monkeypatch.chdir(tmp_path)
    assert run() == DONE
    assert [(p.address, p.instances) for p in reports.asked] == [("u@a.b", 2)]
    (tmp_path / "pyproject.toml").write_text(text.replace("instances = 2", "instances = 0"))
    with pytest.raises(CampaignError, match=r"pyproject\.toml:8: "):
        run()


@pytest.mark.parametrize(
    "args", [["--host=-oProxyCommand=x*2"], ["--host", "a*x"], ["--host", "a b"], ["no.toml"]]
)
def test_what_is_refused(reports, args):
    with pytest.raises(CliError) as error:
        run(*args)
    assert error.value.code in (USAGE, FAILED)
    assert not reports.asked


def test_a_file_without_hosts(reports, tmp_path):
    (tmp_path / "c.toml").write_text('[target]\nfunction = "json:loads"\n[engine]\nkind = "zest"\n')
    with pytest.raises(CliError) as error:
        run(str(tmp_path / "c.toml"))
    assert error.value.code == USAGE
