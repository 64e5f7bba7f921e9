"""``ctl RUN mixture``, ``mutators`` and what ``status`` says of text mutators."""

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from folding import fold

from fuzztui.cli import ctl, mutators
from fuzztui.cli.output import FAILED, USAGE, CliError
from fuzztui.cli.parser import parse
from fuzztui.cli.runs import RunStatus
from fuzztui.cli.status import status_text
from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.remote.protocol import APPLIED, TIMEOUT, CommandAnswer
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import SetMixture, WeighMutator

HOSTILE = "[/x]\x1b[31m\u202e"


def campaign(*events):
    return fold(ev.CampaignStarted("t", "text", "lua"), *events)


FIGURES = ev.MutatorStats(
    "main", 0.25, 0.5, 0.25, trials=200,
    names=["swap-args", "eq-to-ne", HOSTILE, "fragment", "havoc"],
    tried=[100, 1000, 5, 0, 3000], applied=[50, 900, 5, 0, 3000], found=[5, 1, 0, 0, 30],
    crashes=[0, 2, 0, 0, 0], weights=[500_000, 300_000, 200_000, 0, 1_000_000],
)  # fmt: skip


@pytest.fixture
def stands(monkeypatch, tmp_path):
    """What the run's log says."""

    def so(state):
        for module in (ctl, mutators):
            monkeypatch.setattr(module, "standing", lambda run: RunStatus(state, 1))
        monkeypatch.setattr(ctl, "find_run", lambda path: path)
        monkeypatch.setattr(mutators, "find_one_target", lambda path: path)

    so(campaign(FIGURES))
    return so


def command(*argv):
    """The only command that is sent."""
    (one,) = commands(*argv)
    return one


def commands(*argv):
    options = parse(["ctl", "RUN", *argv])
    return ctl.ACTIONS[options.action].make(options)


@pytest.mark.parametrize(
    ("argv", "parts"),
    [
        (["havoc=0.1", "text=0.8", "splice=0.1"], (0.1, 0.8, 0.1)),
        (["splice=10%", "havoc=10%", "text=80%"], (0.1, 0.8, 0.1)),
        (["havoc=.1,text=.8,splice=.1"], (0.1, 0.8, 0.1)),
        (["text=0.8"], (0.1, 0.8, 0.1)),  # the others as they are to each other now
        (["havoc=0", "splice=0"], (0.0, 1.0, 0.0)),
    ],
)
def test_parts_of_a_mixture(stands, argv, parts):
    got = command("mixture", *argv)
    assert got.mixture == pytest.approx(parts)
    assert (got.adaptive, got.instance) == (False, "")


def test_how_a_mixture_is_kept(stands):
    assert command("mixture", "--adaptive") == SetMixture(0.25, 0.5, 0.25, adaptive=True)
    assert command("mixture", "--fixed") == SetMixture(0.25, 0.5, 0.25)
    got = command("mixture", "text=1", "--adaptive", "--instance", "main")
    assert got == SetMixture(0.0, 1.0, 0.0, adaptive=True, instance="main")


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        ([], "mixture needs probabilities"),
        (["12"], "'12' is not a part of a mixture"),
        (["bytes=0.5"], "'bytes=0.5' is not a part"),
        (["havoc=a"], "havoc=a is not a probability"),
        (["havoc=nan"], "havoc=nan is not a probability"),
        (["havoc=75"], "0% to 100%"),
        (["havoc=-0.1"], "havoc=-0.1 is not a probability"),
        (["havoc=0.1", "havoc=0.2"], "havoc is given twice"),
        (["havoc=0.5", "text=0.5", "splice=0.5"], "add to 1.5"),
        (["havoc=0.2", "text=0.5", "splice=0.1"], "add up to 0.8, not to 1"),
        (["havoc=0.7", "text=0.7"], "havoc and text add to 1.4"),
        (["--adaptive", "--fixed"], "exclude each other"),
    ],
)
def test_what_is_no_mixture(stands, argv, words):
    with pytest.raises(CliError, match=words) as e:
        command("mixture", *argv)
    assert e.value.code == USAGE


def test_a_part_needs_somebody_who_has_the_others(stands):
    stands(campaign())
    with pytest.raises(CliError, match="no instance has reported a mixture"):
        command("mixture", "text=1")
    whole = command("mixture", "havoc=0", "text=1", "splice=0")  # it may be about to tell
    assert whole == SetMixture(0.0, 1.0, 0.0)
    stands(campaign(FIGURES))
    with pytest.raises(CliError, match="there is no instance 's7'; choose from main"):
        command("mixture", "--adaptive", "--instance", "s7")
    stands(campaign(FIGURES, ev.InstanceState("s1", "running", 1)))
    with pytest.raises(CliError, match="s1 has not reported a mixture"):
        command("mixture", "--adaptive", "--instance", "s1")


TWO = campaign(
    replace(FIGURES, adaptive=True),
    replace(FIGURES, instance="s1", havoc=1.0, text=0.0, splice=0.0),
)


def test_instances_that_differ_keep_their_own_mixtures(stands):
    stands(TWO)
    assert commands("mixture", "--fixed") == [
        SetMixture(0.25, 0.5, 0.25, instance="main"), SetMixture(1.0, 0.0, 0.0, instance="s1"),
    ]  # fmt: skip
    main, s1 = commands("mixture", "text=.7")
    assert main.mixture == pytest.approx((0.15, 0.7, 0.15))
    assert s1.mixture == pytest.approx((0.3, 0.7, 0.0))
    assert command("mixture", "--fixed", "--instance", "s1") == SetMixture(1, 0, 0, instance="s1")
    assert command("mixture", "havoc=1", "text=0", "splice=0") == SetMixture(1.0, 0.0, 0.0)


def test_each_answer_is_printed(stands, capsys, monkeypatch):
    stands(TWO)
    sent = []

    class Client:
        def __init__(self, run, name):
            pass

        def send(self, command, timeout, **_about):
            sent.append(command.instance)
            done = command.instance == "main"
            return CommandAnswer(
                APPLIED if done else TIMEOUT, str(command.mixture), command.instance, 7
            )

        def close(self):
            pass

    monkeypatch.setattr(ctl, "ControlClient", Client)
    options = parse(["ctl", "RUN", "mixture", "--fixed"])
    assert options.command(options) == FAILED
    assert sent == ["main", "s1"]
    assert capsys.readouterr().out.splitlines() == [
        "applied by main at trial 7: havoc 25%, text 50%, splice 25%",
        "pending: no instance has answered yet; the answer will be in the log",
    ]


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["skip", "12", "13"], "skip takes one ID, or one text in quotes; remove '13'"),
        (["pause", "--adaptive"], "--adaptive is for mixture"),
        (["skip", "12", "--fixed"], "--fixed is for mixture"),
    ],
)
def test_what_goes_with_mixture_only(argv, words):
    options = parse(["ctl", "RUN", *argv])
    with pytest.raises(CliError, match=words) as e:
        options.command(options)
    assert e.value.code == USAGE


def listed(capsys, *argv):
    options = parse(["mutators", "RUN", *argv])
    assert options.command(options) == 0
    return capsys.readouterr().out


def test_a_table_of_operators_those_that_pay_first(stands, capsys):
    text = listed(capsys)
    lines = text.splitlines()
    first = [line.split()[0] for line in lines[1:6]]
    assert first[:3] == ["havoc", "swap-args", "eq-to-ne"]
    assert "(100,000.0)" in lines[2]  # 5 finds in 50 uses say as little
    assert "(1,111.1)" in lines[3]  # as one find
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert len({len(line) for line in lines[:6]}) == 1
    assert lines[6] == "(in brackets: uncertain, fewer than 3 saved inputs or 200 uses)"
    assert lines[7] == "mixture  havoc 25%, text 50%, splice 25%, fixed"
    assert lines[8] == "pays     best havoc (30 in 3,000 uses)"


@pytest.mark.parametrize("column", mutators.COLUMNS)
def test_sorted_by_any_column(stands, capsys, column):
    rows = json.loads(listed(capsys, "--json", "--sort", column))["mutators"]
    key = {"pays": None, "weight": "weight"}.get(column, column)
    if key is not None:
        values = [row[key] for row in rows]
        assert values == sorted(values, reverse=column not in ("name", "class"))


@pytest.mark.parametrize(
    ("words", "weight"),
    [(("swap-args", "3"), 3.0), (("args", "0"), 0.0), (("swap-args", "x4"), 2.0)],
)
def test_weights_of_one_mutator(stands, words, weight):
    stands(campaign(replace(FIGURES, wishes=[0.5, 1, 1, 1, 1])))
    assert command("weigh-mutator", *words) == WeighMutator("swap-args", weight)
    one = command("weigh-mutator", *words, "--instance", "main")
    assert one == WeighMutator("swap-args", weight, "main")


def test_a_factor_is_for_each_instances_weight(stands):
    stands(campaign(FIGURES, replace(FIGURES, instance="s1", wishes=[4, 1, 1, 1, 1])))
    assert commands("weigh-mutator", "swap-args", "x0.5") == [
        WeighMutator("swap-args", 0.5, "main"), WeighMutator("swap-args", 2.0, "s1"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("swap-argh", "3"), "there is no mutator 'swap-argh'; did you mean swap-args"),
        (("swap-args",), "needs a mutator and a weight"),
        (("swap-args", "often"), "'often' is not a weight"),
        (("swap-args", "101"), "a mutator's weight is from 0 to 100, not 101"),
        (("fragment", "2"), "not a text mutator: change the share of splice by mixture"),
        (("havoc", "2"), "not a text mutator: change the share of havoc by mixture"),
    ],
)
def test_what_is_no_weight_of_a_mutator(stands, words, why):
    with pytest.raises(CliError) as caught:
        command("weigh-mutator", *words)
    assert why in str(caught.value)


def test_weights_that_users_have_set_are_listed(stands, capsys):
    stands(campaign(replace(FIGURES, wishes=[0.5, 1, 1, 1, 1])))
    (line,) = [line for line in listed(capsys).splitlines() if line.startswith("swap-args")]
    assert line.endswith("set to 0.5")
    rows = {row["name"]: row["wish"] for row in json.loads(listed(capsys, "--json"))["mutators"]}
    assert (rows["swap-args"], rows["eq-to-ne"]) == (0.5, 1.0)


def test_as_json(stands, capsys):
    rows = {row["name"]: row for row in json.loads(listed(capsys, "--json"))["mutators"]}
    assert rows["eq-to-ne"].pop("yield")["whole"]["cpu_s"] is None
    assert rows["eq-to-ne"] == {
        "name": "eq-to-ne", "class": "text", "tried": 1000, "applied": 900, "found": 1,
        "crashes": 2, "found_per_million": 1111.111, "weight": 0.3, "wish": 1.0,
    }  # fmt: skip
    assert rows["fragment"]["found_per_million"] is None
    stands(campaign())
    assert json.loads(listed(capsys, "--json"))["mutators"] == []


def found_by(*ops):
    """A campaign with an hour of CPU time, in which each operation has found an entry."""
    saved = [ev.EntrySaved("main", n, f"queue/id:{n:06}", op=op, cov=True)
             for n, op in enumerate(ops)]  # fmt: skip
    state = campaign(ev.Resources("main", 0.0), *saved)
    apply(state, [ev.Record(state.seq + 1, state.t + 3600, ev.Resources("main", 1.0))])
    return state


def test_finds_per_cpu_hour_of_any_engine(stands, capsys):
    stands(found_by("havoc,rep:2", "compare", "havoc,rep:4", "orig:seed", "[/x]\x1b[31m"))
    rows = {
        row["name"]: row["yield"]["whole"]
        for row in json.loads(listed(capsys, "--json"))["mutators"]
    }
    assert {name: round(of["edges_per_cpu_hour"], 1) for name, of in rows.items()} == {
        "havoc": 2.0, "compare": 1.0, "[/x]\x1b[31m": 1.0,
    }  # fmt: skip
    text = listed(capsys)
    numbers = {words[0]: words[1:] for line in text.splitlines() if (words := line.split())}
    assert numbers["havoc"] == ["2.0", "2.0", "0", "0"]  # edges, signatures; no mutants
    assert numbers["all"][0] == "4.0"
    assert "\x1b" not in text


def test_without_cpu_times_no_rate_is_printed(stands, capsys):
    stands(campaign(ev.EntrySaved("main", 0, "queue/id:000000", op="havoc", cov=True)))
    (row,) = json.loads(listed(capsys, "--json"))["mutators"]
    assert row["yield"]["whole"]["edges"] == 1
    assert row["yield"]["whole"]["edges_per_cpu_hour"] is None
    assert "unknown" in listed(capsys)


def test_where_there_are_none_it_says_so(stands):
    stands(campaign())
    with pytest.raises(CliError, match="no engine of the campaign has reported"):
        mutators.mutators(SimpleNamespace(run=None, json=False, sort="pays"))


def test_the_status_names_the_mixture_and_who_finds_most(tmp_path):
    text = status_text(tmp_path, RunStatus(campaign(FIGURES), 1))
    assert "mixture   havoc 25%, text 50%, splice 25%, fixed\n" in text
    assert "pays      best havoc (30 in 3,000 uses)" in text
    text = status_text(tmp_path, RunStatus(TWO, 1))
    assert "mixture   main adaptive; s1 fixed 100/0/0\n" in text
    assert "          on average havoc 62.5%, text 25%, splice 12.5%\n" in text
    later = replace(FIGURES, trials=10_000, tried=[100, 1000, 5, 0, 18_750], havoc=0.5, text=0.25)
    command = SetMixture(0.5, 0.25, 0.25)
    told = [
        ev.CommandIssued("c1", encode_command(command), "ann@box"),
        ev.CommandApplied("c1", "main"),
    ]
    text = status_text(tmp_path, RunStatus(campaign(FIGURES, *told, *[later] * 4), 1))
    assert "havoc 50%, text 25%, splice 25%, fixed since 0:00:04 by ann@box\n" in text
    text = status_text(tmp_path, RunStatus(campaign(replace(later, havoc=0.25, text=0.5)), 1))
    assert "mixture   havoc 25% (did 50%), text 50%, splice 25%, fixed\n" in text
    assert "mixture" not in status_text(tmp_path, RunStatus(campaign(), 1))


def test_the_former_name_of_the_command_still_works():
    assert parse(["operators", "RUN"]).command is mutators.mutators
