"""No log makes a command fail or print a control character: any records, in any order."""

from __future__ import annotations

import json

import pytest
from examples import examples
from random_logs import random_log, write_log

from fuzztui.cli import main

COMMANDS = [
    ["status", "RUN"], ["status", "RUN", "--json"],
    ["replay", "RUN", "--json"], ["replay", "RUN", "--json", "--at", "30s"],
    ["mutators", "RUN"], ["mutators", "RUN", "--json"],
    ["types", "RUN"], ["types", "RUN", "--json"],
    ["comparisons", "RUN"], ["comparisons", "RUN", "--json"],
    ["mutants", "list", "RUN"], ["mutants", "list", "RUN", "--json"],
    ["mutants", "matrix", "RUN"], ["mutants", "show", "RUN", "m:f:math:0:*"],
]  # fmt: skip


def as_run(home, records, junk):
    """A run directory with that log, as a supervisor leaves one behind."""
    (home / "log").mkdir(parents=True)
    first = records[0].seq if records else 1
    write_log(home / "log" / f"tail-{first:012d}.jsonl", records, junk)
    return home


def clean(text):
    return all(ch.isprintable() or ch in "\n" for ch in text)


def ask_all(tmp_path, seeds, capsys):
    for seed in seeds:
        run = as_run(tmp_path / f"run{seed}", random_log(seed), junk=seed % 4)
        for command in COMMANDS:
            argv = [word if word != "RUN" else str(run) for word in command]
            try:
                status = main(argv)
            except SystemExit as e:
                status = e.code
            out, err = capsys.readouterr()
            assert status in range(20), argv
            assert clean(out), argv
            assert clean(err), argv
            if "--json" in argv and out:
                json.loads(out)


def test_a_few_random_logs(tmp_path, capsys):
    ask_all(tmp_path, range(12), capsys)


@pytest.mark.slow
def test_many_random_logs(tmp_path, capsys):
    ask_all(tmp_path, range(12, 12 + examples(400)), capsys)
