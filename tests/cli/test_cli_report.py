"""``fuzztui report`` and ``fuzztui compare`` as users call them."""

import json
import os

import pytest
from run_logs import run_with
from strict_html import StrictPage
from watch_lab import Fuzzer

from fuzztui.cli import main
from fuzztui.cli.compare import parsed
from fuzztui.cli.output import DONE, NOT_RUNNING, USAGE, CliError
from fuzztui.kernel.wire import events as ev


def made(path, *, target="lib:f", end=20.0, ended=True, budget=(0.0, 0)):
    (path / "out/main/crashes").mkdir(parents=True)
    return run_with(
        path,
        (0.0, ev.CampaignStarted(path.name, "zest", target, 0, *budget, wall=1e9)),
        (0.1, ev.InstanceState("main", "running")),
        (5.0, ev.Stats("main", 100, 9.0, 5, edges=7)),
        (6.0, ev.FindingSaved("main", "crash", "crashes/id:000000")),
        (end, ev.Stats("main", 300, 9.0, 5, edges=9)),
        *([(end, ev.CampaignEnded("finished", "budget"))] if ended else []),
    )


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made(tmp_path / "runs" / "a")
    made(tmp_path / "runs" / "b", end=10.0)
    (tmp_path / "runs" / "a" / "campaign.toml").write_text('[campaign]\nname = "a"\n')
    (tmp_path / "runs" / "a" / "out/main/crashes/id:000000").write_bytes(b"<b>\xff\x00" * 30)
    return tmp_path


def test_the_format_follows_the_name(here, cli):
    assert main(["report", "runs/a", "-o", "a.html"]) == DONE
    page = (here / "a.html").read_text()
    StrictPage(page).check_harmless()
    assert main(["report", "runs/a", "-o", "a.json"]) == DONE
    data = json.loads((here / "a.json").read_text())
    assert data["execs"] == 300 and data["state"] == "finished"
    finding = data["findings"][0]
    assert finding["input_kind"] == "hexadecimal" and finding["input"].startswith("3c 62 3e ff")
    assert finding["reproduce"] == "fuzztui repro runs/a runs/a/out/main/crashes/id:000000"
    cli("report", "runs/a", "-o", "a.txt", "--format", "md")
    out = cli("report", "runs/a").out
    assert out.startswith("# Fuzzing a") and (here / "a.txt").read_text().startswith("# Fuzzing a")


def test_a_page_is_for_others_to_read(here):
    mask = os.umask(0o022)
    try:
        assert main(["report", "runs/a", "-o", "a.html"]) == DONE
    finally:
        os.umask(mask)
    assert (here / "a.html").stat().st_mode & 0o777 == 0o644


def test_a_pipe_is_written_to(here):
    os.mkfifo(here / "pipe.md")
    reader = os.open(here / "pipe.md", os.O_RDONLY | os.O_NONBLOCK)
    try:
        assert main(["report", "runs/a", "-o", "pipe.md"]) == DONE
        assert os.read(reader, 9) == b"# Fuzzing"
    finally:
        os.close(reader)
    assert (here / "pipe.md").is_fifo()


def test_a_log_alone_has_a_report(here, cli):
    (here / "runs" / "a" / "log").rename(here / "kept")
    for path in (["kept"], [str(next((here / "kept").glob("*.jsonl*")))]):
        data = cli("report", *path, "--format", "json").json
        assert data["execs"] == 300 and data["findings"][0]["reproduce"] is None
    assert cli("compare", "kept", "runs/b", "--json").json["at_s"] == 10.0


def test_a_running_or_interrupted_campaign_has_a_report(here, cli):
    made(here / "runs" / "c", ended=False)
    assert cli("report", "runs/c", "--format", "json").json["state"] == "interrupted"
    assert "was interrupted" in cli("report", "runs/c").out


def test_an_afl_directory_has_a_report(here, cli):
    fuzzer = Fuzzer(here / "afl" / "one", ago=7200)
    (fuzzer.path / "crashes" / "id:000000,sig:11,src:000001,time:5,execs:9,op:havoc").write_bytes(
        b"x"
    )
    out = cli("report", "afl").out
    assert "SIGSEGV" in out and "fuzztui watch" in out


@pytest.mark.parametrize(
    ("argv", "code", "named"),
    [
        (["report", "runs/none"], NOT_RUNNING, "runs/none"),
        (["report", "runs/a", "-o", "a.pdf"], USAGE, "a.pdf"),
        (["report", "runs/a", "-o", "none/a.html"], USAGE, "none"),
        (["report", "runs/a", "-o", "runs"], USAGE, "directory"),
        (["compare", "runs/a"], USAGE, "two"),
        (["compare", "runs/a", "runs/a"], USAGE, "twice"),
        (["compare", "runs/a", "runs/b", "--at", "15s"], USAGE, "--at"),
        (["compare", "A=runs/a", "runs/b"], USAGE, "runs/b"),
        (["compare", "A=runs/a", "A=runs/b"], USAGE, "A"),
        (["compare", "A=runs/a,runs/b"], USAGE, "A"),
        (["compare", "A=runs/x*", "B=runs/b"], NOT_RUNNING, "runs/x*"),
        (["compare", "runs/a", "runs/x"], NOT_RUNNING, "runs/x"),
        (["compare", "runs/a", "runs/b", "--json", "--format", "md"], USAGE, "--format"),
        (["compare", "runs/a", "runs/d"], USAGE, "other:g"),
        (["compare", "runs/a", "runs/e"], NOT_RUNNING, "runs/e"),
        (["report", "runs/e"], NOT_RUNNING, "runs/e"),
    ],
)
def test_errors_name_what_is_wrong(here, cli, argv, code, named):
    made(here / "runs" / "d", target="other:g")
    for name in ("log", "supervisor"):
        (here / "runs" / "e" / name).mkdir(parents=True)
    out, err = cli(*argv, code=code)
    assert named in err and "Traceback" not in err and not out


def test_a_file_that_cannot_be_written_is_named(here, capsys):
    assert main(["report", "runs/a", "-o", "/proc/a.html"]) != DONE
    assert "/proc/a.html" in capsys.readouterr().err


def test_runs_are_compared_at_the_end_of_the_shortest(here, cli):
    data = cli("compare", "runs/a", "runs/b", "--json").json
    assert data["at_s"] == 10.0
    assert [run["figures"]["execs"] for run in data["runs"]] == [100, 300]
    data = cli("compare", "runs/a", "runs/b", "--json", "--at", "5.5s").json
    assert [run["figures"]["execs"] for run in data["runs"]] == [100, 100]
    assert main(["compare", "runs/a", "runs/b", "-o", "c.html"]) == DONE
    StrictPage((here / "c.html").read_text()).check_harmless()
    assert "A12" in cli("compare", "x=runs/a", "y=runs/b", "--format", "md").out


def test_runs_that_used_the_same_budget_are_compared_at_their_ends(here, cli):
    """One has a long exact pass after its budget."""
    made(here / "runs" / "c", end=30.0, budget=(15.0, 0))
    made(here / "runs" / "d", end=16.0, budget=(15.0, 0))
    runs = ["runs/c", "runs/d"]
    data = cli("compare", *runs, "--json").json
    assert data["at_s"] is None and [run["at_s"] for run in data["runs"]] == [30.0, 16.0]
    assert [run["figures"]["execs"] for run in data["runs"]] == [300, 300]
    assert "each at its end (16.0 s to 30.0 s" in cli("compare", *runs).out
    data = cli("compare", *runs, "--json", "--at", "15s").json
    assert data["at_s"] == 15.0 and [run["at_s"] for run in data["runs"]] == [15.0, 15.0]
    assert [run["figures"]["execs"] for run in data["runs"]] == [100, 100]


@pytest.mark.parametrize(
    "other",
    [
        {"budget": (20.0, 0)},
        {"budget": (15.0, 900)},
        {"budget": (15.0, 0), "ended": False},
        {"budget": (15.0, 0), "end": 12.0},  # stop.idle
        {"budget": (15.0, 0), "damaged": True},
    ],
)
def test_other_runs_are_compared_at_one_time(here, capsys, other):
    damaged = other.pop("damaged", False)
    made(here / "runs" / "c", end=30.0, budget=(15.0, 0))
    run = made(here / "runs" / "d", **{"end": 21.0} | other)
    if damaged:
        (file,) = (run / "log").glob("*.gz")
        file.write_bytes(file.read_bytes() + b"garbage")
    main(["compare", "runs/c", "runs/d", "--json"])
    data = json.loads(capsys.readouterr().out)
    assert data["at_s"] == other.get("end", 21.0)


def test_the_same_number_of_trials_is_the_same_budget(here, cli):
    made(here / "runs" / "c", end=30.0, budget=(0.0, 300))
    made(here / "runs" / "d", end=16.0, budget=(0.0, 300))
    assert cli("compare", "A=runs/c", "B=runs/d", "--json").json["at_s"] is None


def test_runs_of_one_name_get_more_of_their_path(here, cli):
    made(here / "other" / "a")
    names = [run["name"] for run in cli("compare", "runs/a", "other/a", "--json").json["runs"]]
    assert names == ["runs/a", "other/a"]


def test_words_are_runs_or_groups(here):
    assert parsed(["runs/a", "runs/b"]) == ([], [("runs/a", 0), ("runs/b", 1)])
    assert parsed(["A=x,y", "B-2=z"]) == (["A", "B-2"], [("x", 0), ("y", 0), ("z", 1)])
    assert parsed(["A=runs/*", "B=z"])[1] == [("runs/a", 0), ("runs/b", 0), ("z", 1)]
    assert parsed(["runs/*"]) == ([], [("runs/a", 0), ("runs/b", 1)])
    (here / "A=x").mkdir()
    assert parsed(["A=x", "y"]) == ([], [("A=x", 0), ("y", 1)])
    with pytest.raises(CliError):
        parsed(["A=x"])
    many = [f"fuzzed-{n:03}" for n in range(60)]  # no file has so long a name
    assert len(parsed(["A=" + ",".join(many), "B=z"])[1]) == 61


def test_a_hostile_log_brings_no_other_file_into_a_report(here, cli):
    (here / "secret.txt").write_text("SECRET")
    (here / "secret").symlink_to(here / "secret.txt")
    events = [
        ev.CampaignStarted("evil", "zest", "lib:f", wall=1e9), ev.InstanceState("main", "running"),
    ]  # fmt: skip
    frames = [{"function": "f", "file": str(here / "secret.txt"), "line": 1}]
    for n, file in enumerate(("../../../../secret.txt", str(here / "secret.txt"))):
        events.append(ev.FindingSaved("main", "crash", file))
        events.append(ev.FindingDescribed("main", "crash", file, f"sig{n}", "t", frames=frames))
    run_with(here / "runs/evil", *events)
    for format_ in ("md", "json", "html"):
        assert "SECRET" not in cli("report", "runs/evil", "--format", format_).out
