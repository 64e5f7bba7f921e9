"""Asking an engine: whatever it prints, however it ends, nothing is left behind."""

import sys
import tempfile
from contextlib import closing

import pytest
from waiting import wait_until

from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.inprocess.ask import ask
from fuzztui.run.process.identity import marked


@pytest.fixture
def engine(tmp_path, monkeypatch):
    """``engine(code)``: a campaign whose interpreter runs that code in place of an engine."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def make(code):
        script = tmp_path / "script.py"
        script.write_text(code)
        python = tmp_path / "python"
        python.write_text(f'#!/bin/sh\nexec {sys.executable} -S {script} "$@"\n')
        python.chmod(0o755)
        file = tmp_path / "c.toml"
        file.write_text(
            f'[target]\nfunction = "tomllib:loads"\npython = "{python}"\nenv = {{ A = "b" }}\n'
            '[engine]\nkind = "mu2"\n'
        )
        return load(file).campaign

    yield make
    assert not list(tmp_path.glob("fuzztui-*"))


def test_answers_are_its_objects_and_nothing_else(engine):
    campaign = engine(
        "import json, os, sys\n"
        "print('a target prints'); print('[1]'); print('{\"broken')\n"
        "spec = json.load(open(sys.argv[4]))\n"
        "print(json.dumps({'kind': spec['engine']['kind'], 'more': sys.argv[5:]}))\n"
        "print(json.dumps({'env': [os.environ[k] for k in ('A', 'PYTHONHASHSEED')]}))\n"
    )
    assert list(ask(campaign, ["--mutants"])) == [
        {"kind": "mu2", "more": ["--mutants"]},
        {"env": ["b", "0"]},
    ]


@pytest.mark.parametrize(
    ("code", "words"),
    [
        ("import sys; sys.exit('fuzztui: it has no such thing')", "^it has no such thing$"),
        ("raise KeyError(3)", "exit status 1: KeyError: 3"),
        ("import os; os._exit(4)", "exit status 4: nothing was printed"),
        ("import os; os.kill(os.getpid(), 9)", "exit status -9"),
    ],
)
def test_an_engine_that_cannot_answer_says_why(engine, code, words):
    with pytest.raises(SupervisorError, match=words):
        list(ask(engine(code), []))


def test_an_interpreter_that_cannot_be_run(engine, tmp_path):
    campaign = engine("")
    (tmp_path / "python").unlink()
    with pytest.raises(SupervisorError, match=f"{tmp_path}/python: No such file"):
        list(ask(campaign, []))


def test_who_hears_enough_ends_it_and_its_children(engine, tmp_path):
    campaign = engine(
        "import os, time\n"
        "if os.fork() == 0:\n    os.setsid()\n    time.sleep(1000)\n"
        "print('{\"at\": 1}', flush=True)\n"
        "time.sleep(1000)\n"
    )
    with closing(ask(campaign, [])) as answers:
        assert next(answers) == {"at": 1}
        (home,) = tmp_path.glob("fuzztui-*")
        assert len(marked(home)) == 2
    wait_until(lambda: not marked(home))
