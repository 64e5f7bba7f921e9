"""The goals on the third set: what --report says of rows that are made up."""

import argparse

import pytest
from experiment_modules import experiment
from lab.rows import Rows
from lab.subjects import THIRD, choose

SEEDS = range(1, 6)


zest_peers, mu2_kills = experiment("zest_peers"), experiment("mu2_kills")
ENGINES = [zest_peers.Engine(name, "1") for name in ("zest", "base", "atheris")]


def options(tmp_path, name, rows):
    found = Rows(name, tmp_path / "rows.jsonl")
    for row in rows:
        found.add(**row)
    return argparse.Namespace(rows=found, results=found.file, seconds=60.0, schedule="adaptive")


def covered(subject, engine, seed, early=0.0, end=0.0):
    """A row: as many branches as ``engine`` has by default, and these shares more."""
    of = {"zest": 120, "base": 100, "atheris": 100}[engine]
    marks = {str(mark): int(of * (1 + early)) + seed for mark in zest_peers.MARKS}
    branches = int(of * (1 + end)) + seed
    return {
        "subject": subject, "engine": engine, "version": "1", "seed": seed, "seconds": 60.0,
        "wall_s": 61.0, "trials": 9, "inputs": 9, "cells": 50, "valid": 40, "of": 99, "digest": "d",
        "over": {} if engine == "atheris" else marks, "branches": branches, "branches_of": 200,
        "branches_over": {} if engine == "atheris" else marks,
    }  # fmt: skip


def shown(tmp_path, changed, capsys, drop=()):
    rows = [
        covered(s.name, e.name, seed, **changed.get((s.name, e.name), {}))
        for s in THIRD
        for e in ENGINES
        for seed in SEEDS
    ]
    for row in rows:
        for key in drop:
            del row[key]
    args = options(tmp_path, "zest_peers", rows)
    met = zest_peers.report(choose("third"), ENGINES, args)
    said = capsys.readouterr().out
    assert f"are {'met' if met else 'not met'}" in said
    assert "== third: 10 of 10 subjects" in said
    return met, said


@pytest.mark.parametrize(
    ("changed", "met"),
    [
        ({}, True),
        ({("dns", "zest"): {"end": -0.3}}, False),  # below base and atheris
        ({("dns", "zest"): {"early": -0.3}}, False),  # below base at 10 s
        ({("dns", "base"): {"end": 0.15}, ("dns", "atheris"): {"end": 0.15}}, True),
        ({("dns", "atheris"): {"end": 0.3}}, False),  # atheris is ahead
    ],
)
def test_goals_of_zest(tmp_path, capsys, changed, met):
    assert shown(tmp_path, changed, capsys)[0] is met


@pytest.mark.parametrize(
    ("zest", "base", "line"),
    [
        (0, 0, "1.200 over 9 subjects; significantly below on none"),  # neither has begun
        (0, 90, "0.000 over 10 subjects; significantly below on pydot"),
        (90, 0, "1.200 over 9 subjects; significantly below on none"),
    ],
)
def test_a_subject_that_covers_nothing_yet(zest, base, line):
    to = zest_peers.Comparison()
    for name in [subject.name for subject in THIRD if subject.name != "pydot"]:
        to.add(name, [120] * 5, [100] * 5)
    to.add("pydot", [zest] * 5, [base] * 5)
    assert f"geometric mean {line}" in to.line("base")
    assert to.line("base").endswith("; not compared on pydot") == (not base)


def test_what_was_not_run_is_not_compared():
    to = zest_peers.Comparison()
    to.add("pydot", [120] * 5, [])
    assert to.line("atheris") == "zest to atheris: not compared"


def test_a_report_needs_no_atheris(tmp_path):
    rows = [covered("dns", "atheris", 1) | {"version": "3.0.0"}]
    args = options(tmp_path, "zest_peers", rows)
    vars(args).update(report=True, base="HEAD", scratch=tmp_path, python="no such interpreter")
    assert [each.version for each in zest_peers.engines(args)][2:] == ["3.0.0"]


def test_rows_without_branches_are_shown_and_meet_no_goal(tmp_path, capsys):
    met, said = shown(tmp_path, {}, capsys, ("branches", "branches_of", "branches_over"))
    assert not met
    rows = [line.split()[:3] for line in said.splitlines()]
    assert ["dns", "99", "5/5/5"] in rows, "their cells"
    assert ["dns", "0", "0/0/0"] in rows, "but no branches"


def killed(subject, kind, seed, kills, at):
    mutants = [f"m{n}" for n in range(kills + seed)]
    return {
        "subject": subject, "kind": kind, "schedule": "adaptive" if kind == "mu2" else "",
        "seed": seed, "seconds": 60.0, "trials": 9, "edges": 9, "corpus": 9, "total": 400,
        "invalid": 0, "killed": dict.fromkeys(mutants, ("value", 1)),
        "killed_s": dict.fromkeys(mutants, at),
    }  # fmt: skip


@pytest.mark.parametrize(
    ("kills", "at", "met"),
    [
        (110, 0.5, True),
        (102, 0.5, False),  # +2% in the mean
        (110, 4.0, True),  # behind at 1 and 2 s, where there is no goal
        (110, 7.0, False),  # behind at 5 s
    ],
)
def test_goals_of_mu2(tmp_path, capsys, kills, at, met):
    rows = [
        killed(s.name, kind, seed, *((kills, at) if kind == "mu2" else (100, 0.5)))
        for s in THIRD
        for kind in mu2_kills.KINDS
        for seed in SEEDS
    ]
    assert mu2_kills.report(choose("third"), options(tmp_path, "mu2_kills", rows)) is met
    assert "5 s: mean" in capsys.readouterr().out


def test_kills_of_old_rows_have_no_time(tmp_path, capsys):
    rows = [killed("dns", kind, seed, 100, 1.0) for kind in mu2_kills.KINDS for seed in SEEDS]
    for row in rows:
        del row["killed_s"]
    mu2_kills.report(choose("dns"), options(tmp_path, "mu2_kills", rows))
    said = capsys.readouterr().out
    assert "5 s: mean - over 0 subjects" in said
    assert ["dns", "5", "400"] in [line.split()[:3] for line in said.splitlines()]
