"""``fuzztui events``: the log as lines."""

from __future__ import annotations

import json
import threading
from pathlib import Path

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE, NOT_RUNNING, USAGE
from fuzztui.log.writer import LogWriter
from fuzztui.remote.lock import RunLock
from fuzztui.wire.codec import decode_record
from fuzztui.wire.events import CampaignEnded, CampaignStarted, Message


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
