"""Runs that are only a log and files, as a machine leaves them."""

import json
from pathlib import Path

import pytest
from merged_runs import CAMPAIGN

from fuzztui.cli import main
from fuzztui.kernel.log.writer import LogWriter
from fuzztui.kernel.wire.events import EntrySaved, FindingSaved
from fuzztui.run.campaign import load, write_frozen
from fuzztui.run.campaign.rundir import prepare_run


@pytest.fixture
def make(tmp_path):
    """``make(name, events)``: a run with this log, and the files that the log names."""

    def made(name, log, *, function="tomllib:loads", kind="mu2", step=0.5) -> Path:
        run = tmp_path / name
        file = tmp_path / f"{run.name}.toml"
        file.write_text(CAMPAIGN.format(run=run, function=function, kind=kind))
        prepare_run(run)
        write_frozen(load(file), run)
        writer = LogWriter(run / "log")
        for n, event in enumerate(log):
            writer.append(event, n * step)
            path = getattr(event, "file", "")
            if isinstance(event, (EntrySaved, FindingSaved)):
                path = run / "out" / event.instance / event.file
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(f"{name} {event.instance} {event.file}")
        writer.close(at_rest=True)
        return run

    return made


@pytest.fixture
def ask(capsys):
    def asked(*words):
        code = main([str(word) for word in words])
        out, err = capsys.readouterr()
        return code, out, err

    return asked


@pytest.fixture
def status(ask):
    return lambda run: json.loads(ask("status", run, "--json")[1])
