"""``fuzztui metrics``: read by Prometheus' own parser."""

import http.client
import json
import re
import subprocess
import sys
import threading
import urllib.request
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from run_logs import run_with
from waiting import DEADLINE_S

from fuzztui.cli import main
from fuzztui.kernel.wire import events as ev
from fuzztui.tools.status.metrics import METRICS, exposition

HOSTILE = 'a"b\\c\nd{}=,\udcff'


@pytest.fixture
def run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return run_with(
        tmp_path / "run",
        ev.CampaignStarted(HOSTILE, wall=1.0, version="0", target="app:f", engine="zest", seed=1),
        ev.InstanceHello("main"),
        ev.InstanceState("main", "running"),
        (10.0, ev.Stats("main", execs=1234, corpus=5, edges=77)),
        (11.0, ev.FindingSaved("main", "crash", "crashes/id:000000")),
        (12.0, ev.CampaignEnded("finished", "budget")),
        at_rest=False,
    )


def samples(text):
    return {
        (s.name, *sorted(s.labels.items())): s.value
        for family in text_string_to_metric_families(text)
        for s in family.samples
    }


def figures(text, name):
    return [value for (known, *_), value in samples(text).items() if known == name]


def test_each_figure_is_read_back(run, cli):
    text = cli("metrics", run).out
    assert figures(text, "fuzztui_executions_total") == [1234]
    assert figures(text, "fuzztui_instance_corpus_entries") == [5]
    assert figures(text, "fuzztui_covered_edges") == [77]
    assert figures(text, "fuzztui_mutants") == []
    names = {dict(labels)["campaign"] for (_, *labels) in samples(text)}
    assert names == {HOSTILE.replace("\udcff", "?")}
    assert {name for name, *_ in samples(text)} <= METRICS.keys()


def test_finds_per_cpu_hour(tmp_path, monkeypatch, run, cli):
    names = {name for name, *_ in samples(cli("metrics", run).out)}
    assert not any("cpu" in name for name in names)  # no CPU time, no rate
    run_with(
        tmp_path / "other",
        (0.0, ev.CampaignStarted("c", "zest", "lib:f", instances=["main"])),
        (0.0, ev.InstanceState("main", "running")),
        (0.0, ev.Resources("main")),
        (1700.0, ev.EntrySaved("main", 1, "queue/id:000001", op="havoc", cov=True)),
        (1800.0, ev.Resources("main", 0.5)),
        at_rest=False,
    )
    text = cli("metrics", tmp_path / "other").out
    assert figures(text, "fuzztui_cpu_seconds_total") == [900]
    assert figures(text, "fuzztui_instance_cpu_seconds_total") == [900]
    for prefix in ("", "instance_", "mutator_"):
        found = figures(text, f"fuzztui_{prefix}late_yield_per_cpu_hour")
        assert found == [4, 0], prefix  # edges, signatures; kills are unknown


def test_types_follow_the_names(run, cli):
    for family in text_string_to_metric_families(cli("metrics", run).out):
        assert family.documentation
        assert (family.type == "counter") == any(s.name.endswith("_total") for s in family.samples)


def test_several_runs_are_one_text(run, cli):
    text = cli("metrics", run, run).out
    assert text.count("# TYPE fuzztui_executions_total ") == 1
    assert text.count("\nfuzztui_executions_total{") == 2


def test_without_campaigns_there_is_nothing():
    assert exposition([]) == ""


def test_a_file_is_written_until_the_campaign_has_ended(run, tmp_path, capsys):
    file = tmp_path / "fuzz.prom"
    assert main(["metrics", str(run), "-o", str(file), "--every", "1h"]) == 0  # it has ended
    assert figures(file.read_text(), "fuzztui_corpus_entries") == [5]
    assert main(["metrics", str(run), "-o", str(tmp_path / "none" / "x")]) == 1
    assert str(tmp_path / "none" / "x") in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ["--listen", "0.0.0.0:9464"],
        ["--listen", "[::]:9464"],
        ["--listen", "example.org:9464"],
        ["--listen", "x"],
        ["--listen", "70000"],
        ["--listen", "0", "-o", "x"],
        ["--every", "3s"],
    ],
)
def test_what_cannot_be_is_refused(run, arguments, cli):
    assert cli("metrics", run, *arguments, code=2).err


@pytest.mark.slow
def test_served_on_loopback(run):
    process = subprocess.Popen(
        [sys.executable, "-m", "fuzztui", "metrics", str(run), "--listen", "0"],
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    timer = threading.Timer(60, process.kill)
    timer.start()
    try:
        (url,) = re.findall(r"http://127[.]0[.]0[.]1:\d+/metrics", process.stderr.readline())
        with urllib.request.urlopen(url, timeout=DEADLINE_S) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            assert figures(answer.read().decode(), "fuzztui_executions_total") == [1234]
        connection = http.client.HTTPConnection(url.split("/")[2], timeout=DEADLINE_S)
        connection.request("GET", "/other")
        assert connection.getresponse().status == 404
    finally:
        timer.cancel()
        process.kill()
        process.wait()
        process.stderr.close()


def test_each_mutant_of_a_finished_campaign_is_in_one_state(tmp_path, cli):
    rows = [{"id": f"m{n}", "line": n + 1} for n in range(5)]
    run = run_with(
        tmp_path / "run",
        ev.CampaignStarted("c", "mu2", "lib:f", 7, instances=["main"], wall=1e9),
        ev.MutantsFound("main", "lib", "lib.py", "/lib.py", rows),
        ev.MutantState("main", "m0", "killed"),
        (12.0, ev.CampaignEnded("finished", "budget")),
    )
    counts = figures(cli("metrics", run).out, "fuzztui_mutants")
    assert sum(counts) == 5 and max(counts) == 4


def test_the_board_for_grafana_asks_for_metrics_and_labels_that_exist():
    board = json.loads((Path(__file__).parents[2] / "docs/grafana/fuzztui.json").read_text())
    asked = [target for panel in board["panels"] for target in panel["targets"]]
    assert len({panel["id"] for panel in board["panels"]}) == len(board["panels"])
    for target in asked:
        (name,) = re.findall(r"fuzztui_\w+", target["expr"])
        assert name in METRICS
        own = {"campaign", "category", "state", "of"}
        own |= {kind for kind in ("instance", "host") if name.startswith(f"fuzztui_{kind}_")}
        assert {*re.findall(r"\{\{(\w+)\}\}", target["legendFormat"])} <= own
    assert {"fuzztui_covered_edges", "fuzztui_instance_covered_edges"} <= METRICS.keys()
