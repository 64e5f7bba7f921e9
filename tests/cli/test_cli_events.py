"""``fuzztui events``: the log as lines."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest
from hosted import hosted, write_run

from fuzztui.cli import main
from fuzztui.cli.output import DONE, NOT_RUNNING, USAGE
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.remote.lock import RunLock
from fuzztui.kernel.wire.codec import decode_record
from fuzztui.kernel.wire.events import CampaignEnded, CampaignStarted, Message


@pytest.fixture
def run(tmp_path: Path) -> Path:
    run = tmp_path / "c"
    for name in ("supervisor", "log", "out"):
        (run / name).mkdir(parents=True)
    (run / "campaign.toml").write_text("")
    return run


def write(run: Path, *events, end: bool = True) -> LogWriter:
    writer = LogWriter(run / "log")
    for n, event in enumerate(events):
        writer.append(event, float(n))
    writer.flush()
    if end:
        writer.close(at_rest=True)
    return writer


def ask(capsys, *argv) -> tuple[int, list[str], str]:
    code = main(["events", *map(str, argv)])
    out, err = capsys.readouterr()
    return code, out.splitlines(), err


def test_json_is_the_lines_of_the_log(run, capsys):
    write(run, CampaignStarted("c", "zest", "m:f"), Message("warning", "a\x1b[31m"))
    code, lines, _ = ask(capsys, run, "--json")
    assert code == DONE
    assert [decode_record(line).seq for line in lines] == [1, 2]
    assert "\x1b" not in "".join(lines)
    _, lines, _ = ask(capsys, run, "--json", "--kind", "message", "--after", "1")
    assert [json.loads(line)["k"] for line in lines] == ["message"]
    assert ask(capsys, run, "--json", "--after", "2")[1] == []


def test_text_is_safe_to_print(run, capsys):
    write(run, Message("warning", "a\x1b[31m\nb"))
    code, lines, _ = ask(capsys, run)
    assert (code, len(lines)) == (DONE, 1)
    assert "\x1b" not in lines[0]


def test_follow_prints_what_comes_until_the_supervisor_ends(run, capsys):
    lock = RunLock(run)
    writer = write(run, CampaignStarted("c", "zest", "m:f"), end=False)

    def more() -> None:
        writer.append(Message("info", "x"), 2.0)
        writer.flush()
        writer.append(CampaignEnded("finished"), 3.0)
        writer.close(at_rest=True)
        lock.release()

    later = threading.Timer(0.3, more)
    later.start()
    code, lines, _ = ask(capsys, run, "--follow", "--json")
    later.join()
    assert code == DONE
    kinds = [json.loads(line)["k"] for line in lines]
    assert kinds == ["campaign_started", "message", "campaign_ended"]


def test_follow_of_an_ended_campaign_ends(run, capsys):
    write(run, CampaignStarted("c", "zest", "m:f"), CampaignEnded("finished"))
    assert len(ask(capsys, run, "--follow")[1]) == 2


@pytest.mark.parametrize(
    ("argv", "code"),
    [
        (["RUN", "--kind", "finding"], USAGE),
        (["RUN/log/campaign.jsonl.gz", "--follow"], USAGE),
        (["RUN/nowhere"], NOT_RUNNING),
    ],
)
def test_errors(run, capsys, argv, code):
    write(run, Message("info", "x"), CampaignEnded("finished"))
    found, lines, err = ask(capsys, *(word.replace("RUN", str(run)) for word in argv))
    assert (found, lines) == (code, [])
    assert "fuzztui: " in err


def test_an_empty_log_is_an_error(run, capsys):
    write(run)
    assert ask(capsys, run)[0] == NOT_RUNNING


def test_events_of_hosts_name_the_host(tmp_path, capsys):
    write_run(tmp_path / "c", hosted(2, 1, seconds=120, lost=["h2"], lost_s=30))
    _, lines, _ = ask(capsys, tmp_path / "c")
    begins = [line.split() for line in lines if "campaign " in line]
    assert [words[3] for words in begins if words[2] == "campaign"][-2:] == ["h2", "running"]
    assert any(words[3:5] == ["h1", "running"] for words in begins)
    lost = next(line for line in lines if " lost: " in line)
    assert lost.split()[2:4] == ["host", "h2"]
    assert any("ann@box2:/runs/ann/run2" in line and "ahead" in line for line in lines)
    _, lines, _ = ask(capsys, tmp_path / "c", "--json", "--kind", "campaign_state")
    shown = [json.loads(line) for line in lines]
    assert {row.get("h") for row in shown} == {None, "h1", "h2"}
    assert all({"hs", "ht"} <= row.keys() for row in shown if "h" in row)


def test_only_the_events_of_one_host(tmp_path, capsys):
    write_run(tmp_path / "c", hosted(3, 2, seconds=120))
    code, lines, _ = ask(capsys, tmp_path / "c", "--json", "--host", "h2")
    assert code == DONE
    shown = [json.loads(line) for line in lines]
    assert {row.get("h") or row["host"] for row in shown} == {"h2"}
    assert any(row["k"] == "host_state" for row in shown)
    both = ask(capsys, tmp_path / "c", "--json", "--host", "h2", "--host", "h1")[1]
    assert len(both) > len(lines)


def test_an_unknown_host_is_an_error_that_names_the_hosts(tmp_path, capsys):
    write_run(tmp_path / "c", hosted(2, 1, seconds=60))
    code, _, err = ask(capsys, tmp_path / "c", "--host", "h9", "--json")
    assert code == USAGE
    assert "h1, h2" in err
    assert (
        ask(capsys, tmp_path / "c", "--host", "h9", "--after", "5")[0] == DONE
    )  # not the whole log


def test_a_host_of_a_campaign_without_hosts_is_an_error(run, capsys):
    write(run, CampaignStarted("c", "zest", "m:f"))
    assert ask(capsys, run, "--host", "h1")[0] == USAGE
