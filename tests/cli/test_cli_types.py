"""``types``, what ``ctl`` says of types and targets, and what ``status`` does."""

import json
from dataclasses import replace

import pytest
from folding import fold

from fuzztui.cli import ctl, ctl_targeting, types
from fuzztui.cli.output import CliError
from fuzztui.cli.parser import parse
from fuzztui.cli.runs import RunStatus
from fuzztui.cli.status import status_text
from fuzztui.features.targeting.analysis import AnalysedGoal, Influence, TargetingAnalysis
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.commands import (
    DemoteEntry,
    IgnoreGoal,
    PinGoal,
    SetTargetedShare,
    WeighType,
)

HOSTILE = "[/x]\x1b[31m\u202e"
DATE, PATH = "datetime.date", "pathlib.Path"
THEN, LOOP, DARK = "thumbs/app.py:18:then", "thumbs/app.py:17:loop", f"thumbs/{HOSTILE}.py:1:then"


def campaign(*events, engine="spoton"):
    return fold(ev.CampaignStarted("t", engine, "thumbs.app:main"), *events)


FIGURES = ev.TargetingStats(
    "main", 0.5, "", 240, 3, 2, names=[DATE, PATH, HOSTILE], distances=[2, 4, -1],
    weights=[1.0, 2.0, 0.0], factors=[1.0, 1.5, 8.0], probabilities=[409_999, 123_000, 0],
    picks=[12_345, 7, 0], matches=[9000, 7, 0], misses=[3345, 0, 0], new_arms=[4, 0, 0],
)  # fmt: skip
LEFT = ev.GoalsUncovered(
    "main", 340,
    {
        LOOP: {"frontier": False, "reached": 0, "types": [[PATH, 0]]},
        THEN: {"frontier": True, "reached": 12, "types": [[DATE, 2], [PATH, 4]]},
        DARK: {"frontier": True, "reached": 0, "types": []},
    },
)  # fmt: skip


def target(location, *names):
    near = tuple(Influence(name, 1) for name in names)
    return AnalysedGoal(location, "thumbs.app", "f", 1, 0, "then", 0, (0,), (), True, near)


DOCUMENT = TargetingAnalysis(
    ("thumbs",), "3.12",
    targets=(target(THEN, DATE), target(LOOP, PATH), target("thumbs/app.py:2:else", DATE)),
    types=(Influence(DATE, 2), Influence(PATH, 0), Influence("decimal.Decimal", 9),
           Influence("a.Order", 1), Influence("b.Order", 1)),
)  # fmt: skip


@pytest.fixture
def stands(monkeypatch, tmp_path):
    """What the run's log says, and its ``targets.json``."""

    def so(state, document=DOCUMENT):
        for module in (ctl_targeting, types):
            monkeypatch.setattr(module, "standing", lambda run: RunStatus(state, 1))
            monkeypatch.setattr(module, "find_one_target", lambda path: tmp_path)
        if document:
            (tmp_path / "targets.json").write_text(document.dumps())
        else:
            (tmp_path / "targets.json").unlink(missing_ok=True)

    so(campaign(FIGURES, LEFT))
    return so


def command(*argv):
    options = parse(["ctl", "RUN", *argv])
    asked = ctl.ACTIONS[options.action].make(options)
    if isinstance(asked, list):
        (asked,) = asked
    return asked


def listed(capsys, *argv):
    options = parse(["types", "RUN", *argv])
    assert options.command(options) == 0
    return capsys.readouterr().out


def test_tables_of_types_and_of_what_is_left(stands, capsys):
    text = listed(capsys)
    lines = text.splitlines()
    assert lines[0].split("  ")[0] == "type"
    assert lines[1].split() == [DATE, "41.0%", "x1", "2", "12,345", "9,000", "3,345", "4"]
    assert lines[2].split() == [PATH, "12.3%", "x2", "4", "7", "7", "0", "0"]
    assert lines[3].split() == ["[/x]\\e[31m\\u202e", "0.0%", "banned", "-", "0", "0", "0", "0"]
    assert len({len(line) for line in lines[:4]}) == 1
    assert lines[5].split() == ["uncovered", "goal", "reached", "types", "and", "their",
                                "distances"]  # fmt: skip
    assert lines[6].startswith(THEN)
    assert lines[6].endswith(f"  frontier  12 of 340 trials checked  {DATE} 2, {PATH} 4")
    assert lines[7].startswith("thumbs/[/x]\\e[31m\\u202e.py:1:then  frontier")
    assert lines[7].endswith("0 of 340 trials checked  -")
    assert lines[8].startswith(LOOP)
    assert lines[-1] == "50% of mutations are targeted; 3 of 240 goals left, 2 on the frontier"
    assert "\x1b" not in text
    assert "\u202e" not in text


WIDE = "thumbs.kinds.of_images.TypeOfImage"
MANY = [[f"{WIDE}{n}", n] for n in range(8)]


def test_lines_fit_the_terminal_and_tell_how_many_types_more_there_are(stands, capsys, monkeypatch):
    names = [name for name, _ in MANY]
    figures = replace(
        FIGURES, names=names, distances=[2] * 8, weights=[1.0] * 8, factors=[1.0] * 8,
        probabilities=[9] * 8, picks=[1_234_567] * 8, matches=[9000] * 8, misses=[77] * 8,
        new_arms=[4] * 8,
    )  # fmt: skip
    row = {"frontier": True, "reached": 12, "types": MANY}
    far = "thumbs/in_a_deep/directory/of_images.py:18:then"
    stands(campaign(figures, replace(LEFT, left={THEN: row, far: row})))
    whole = listed(capsys)
    assert whole.count(f"{WIDE}7") == 3
    assert "misses" in whole
    monkeypatch.setattr(types, "at_terminal", lambda: True)
    monkeypatch.setenv("COLUMNS", "80")
    lines = listed(capsys).splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert lines[1].split() == ["TypeOfImage0", "0.0%", "x1", "2", "1,234,567", "9,000", "4"]
    left = [line for line in lines if "frontier" in line][:2]
    nearest = "TypeOfImage0 0, TypeOfImage1 1 +6"
    assert left[0].split() == [THEN, "frontier", "12", "of", "340", *nearest.split()]
    assert left[1].startswith("…/of_images.py:18:then ")
    assert listed(capsys, "--all") == whole
    monkeypatch.setenv("COLUMNS", "1000")
    assert listed(capsys) == whole


def test_what_is_pinned_or_beyond_what_is_told_is_said(stands, capsys):
    stands(campaign(replace(FIGURES, pinned=THEN, uncovered=310), LEFT))
    lines = listed(capsys).splitlines()
    assert lines[6].split()[:2] == [THEN, "pinned"]
    assert "(and 307 more that engines do not report)" in lines
    assert lines[-1].startswith(f"50% of mutations are targeted; pinned {THEN}; 310 of 240")


def test_what_is_ignored_is_said(stands, capsys, tmp_path):
    state = campaign(replace(FIGURES, ignored=[THEN, DARK]), LEFT)
    stands(state)
    lines = listed(capsys).splitlines()
    assert [line.split()[1] for line in lines[7:9]] == ["ignored", "ignored"]
    assert lines[7].startswith(THEN)
    assert lines[-1].endswith("3 of 240 goals left, 2 on the frontier; 2 ignored")
    assert "left, 2 on the frontier; 2 ignored\n" in status_text(tmp_path, RunStatus(state, 1))


def test_weights_that_differ_are_marked(stands, capsys):
    stands(campaign(FIGURES, replace(FIGURES, instance="s1", weights=[4.0, 2.0, 0.0])))
    lines = listed(capsys).splitlines()
    assert "x1*" in lines[1].split()
    assert lines[4] == "(*: instances have different weights; this is the first one's)"
    assert lines[-1].endswith("3 of 240 goals left, 2 on the frontier")


def test_as_json(stands, capsys):
    whole = json.loads(listed(capsys, "--json"))
    assert [row["name"] for row in whole["types"]] == [DATE, PATH, HOSTILE]
    assert [row["location"] for row in whole["left"]] == [THEN, DARK, LOOP]
    assert (whole["uncovered"], whole["banned"], whole["pinned"]) == (3, [HOSTILE], None)
    stands(campaign(replace(FIGURES, ignored=[THEN]), LEFT))
    whole = json.loads(listed(capsys, "--json"))
    assert whole["ignored"] == [THEN]
    assert [row["ignored"] for row in whole["left"]] == [False, False, True]


@pytest.mark.parametrize("json_", [True, False])
def test_a_run_of_another_kind_says_so(stands, json_):
    argv = ["types", "RUN", *(["--json"] if json_ else [])]
    stands(campaign(engine="zest"))
    with pytest.raises(CliError, match="types need engine spoton, not zest"):
        parse(argv).command(parse(argv))
    stands(campaign())
    with pytest.raises(CliError, match=r"no engine of the campaign has reported types$"):
        parse(argv).command(parse(argv))


def test_no_type_and_nothing_left_is_no_error(stands, capsys):
    stands(campaign(ev.TargetingStats("main", 0.5, targets=7)))
    text = listed(capsys)
    assert text.endswith("no mutation is targeted any more; 0 of 7 goals left, 0 on the frontier\n")


def test_the_status_names_what_is_aimed_at(tmp_path):
    state = campaign(replace(FIGURES, pinned=HOSTILE), LEFT)
    text = status_text(tmp_path, RunStatus(state, 1))
    assert (
        f"types     50% of mutations are targeted; most probable {DATE} 41%, {PATH} 12%; 3 of 240"
        " goals left, 2 on the frontier; pinned [/x]\\e[31m\\u202e\n"
    ) in text
    assert "types " not in status_text(tmp_path, RunStatus(campaign(), 1))


def test_what_has_changed_is_told(stands, capsys, tmp_path):
    figures = ev.TargetingStats("main", 0.5, changed=[f"{HOSTILE}.py", "a.py"])
    state = campaign(ev.InstanceState("main", "running", 1), figures)
    words = (
        "[/x]\\e[31m\\u202e.py and a.py have changed since their types were analysed: "
        "stop and start the campaign to have them analysed again\n"
    )
    assert f"\nchanged   {words}" in status_text(tmp_path, RunStatus(state, 1))
    stands(state)
    assert listed(capsys).endswith(f"0 of 0 goals left, 0 on the frontier\n{words}")


@pytest.mark.parametrize(
    ("figures", "words"),
    [
        ({"edges": 60}, "60 edges"),
        ({"edges": 60, "edges_total": 200}, "60 of 200 edges (30.0%)"),
        ({"edges": 60, "edges_valid": 41}, "60 edges, 41 by valid inputs"),
        (
            {"edges": 60, "edges_total": 200, "edges_valid": 41, "edges_third_party": 2113},
            "60 of 200 edges (30.0%), 41 by valid inputs, 2,113 3rd-party lines",
        ),
        (
            {"edges": 0, "edges_total": 200, "edges_third_party": 0},
            "0 of 200 edges, 0 3rd-party lines",
        ),
        ({}, "-"),
    ],
)
def test_the_status_tells_kinds_of_coverage_apart(tmp_path, figures, words):
    text = status_text(tmp_path, RunStatus(campaign(ev.Stats("main", 1, **figures)), 1))
    assert f"coverage  {words}\n" in text


@pytest.mark.parametrize(
    ("argv", "asked"),
    [
        (["weigh-type", DATE, "3"], WeighType(DATE, 3.0)),
        (["weigh-type", DATE, "0"], WeighType(DATE, 0.0)),
        (["weigh-type", PATH, "x2"], WeighType(PATH, 4.0)),
        (["weigh-type", PATH, "x0.5"], WeighType(PATH, 1.0)),
        (["weigh-type", "Path", "X2"], WeighType(PATH, 4.0)),
        (
            ["weigh-type", "Decimal", "x2"],
            WeighType("decimal.Decimal", 2.0),
        ),  # nothing is known of it
        (["ban", "date"], WeighType(DATE, 0.0)),
        (["ban", HOSTILE], WeighType(HOSTILE, 0.0)),
        (["unban", HOSTILE], WeighType(HOSTILE, 1.0)),
        (["ban", DATE, "--instance", "main"], WeighType(DATE, 0.0, "main")),
        (["pin", THEN], PinGoal(THEN)),
        (["pin", "app.py:18:then"], PinGoal(THEN)),
        (["pin", "app.py:2:else"], PinGoal("thumbs/app.py:2:else")),  # engines know if it is left
        (["unpin"], PinGoal("")),
        (["ignore", "app.py:18:then"], IgnoreGoal(THEN)),
        (["ignore", THEN, "--instance", "main"], IgnoreGoal(THEN, True, "main")),
        (["unignore", "app.py:18:then"], IgnoreGoal(THEN, False)),
        (["targeted", "70%"], SetTargetedShare(0.7)),
        (["targeted", "0.7", "--instance", "main"], SetTargetedShare(0.7, "main")),
        (["targeted", "--adaptive"], SetTargetedShare(adaptive=True)),
        (["demote", "main/12"], DemoteEntry(12, "main")),
        (["demote", "id:000012"], DemoteEntry(12)),
    ],
)
def test_commands(stands, argv, asked):
    assert command(*argv) == asked


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["weigh-type"], "weigh-type needs a type and a weight"),
        (["weigh-type", DATE], "weigh-type needs a type and a weight"),
        (["weigh-type", DATE, "2", "3"], "weigh-type needs a type and a weight"),
        (["weigh-type", DATE, "much"], "'much' is not a weight"),
        (["weigh-type", DATE, "xx2"], "'xx2' is not a weight"),
        (["weigh-type", DATE, "nan"], "a weight is from 0 to 1,000,000, not nan"),
        (["weigh-type", DATE, "1e7"], "a weight is from 0 to 1,000,000"),
        (["weigh-type", PATH, "x1e6"], "a weight is from 0 to 1,000,000, not 2000000"),
        (["weigh-type", DATE, "x-1"], "a weight is from 0 to 1,000,000, not -1"),
        (["weigh-type", HOSTILE, "x2"], "is banned, so x2 has no effect"),
        (["ban"], "ban needs a type"),
        (["ban", "datetime.dat"], "no goal depends on a type 'datetime.dat'.*mean datetime.date"),
        (["ban", "decimal"], "did you mean decimal.Decimal"),
        (["ban", "Order"], r"did you mean a\.Order or b\.Order\?"),
        (["ban", "qqq"], "no goal depends on a type 'qqq'$"),
        (["pin"], "pin needs a goal's location"),
        (["pin", "thumbs/app.py:19:then"], f"did you mean {THEN}"),
        (["pin", DARK], "no type is known to decide this branch"),
        (["unpin", THEN], "unpin takes no location"),
        (["ignore"], "ignore needs a goal's location"),
        (["unignore"], "unignore needs a goal's location"),
        (["ignore", "thumbs/app.py:19:then"], f"did you mean {THEN}"),
        (["unignore", DARK], "no type is known to decide this branch"),
        (["targeted"], "targeted needs either the share"),
        (["targeted", "70%", "--adaptive"], "targeted needs either the share"),
        (["targeted", "70"], "targeted=70 is not a probability"),
        (["targeted", "nan"], "targeted=nan"),
        (["ban", DATE, "--instance", "s7"], "there is no instance 's7'; choose from main"),
        (["demote"], "demote needs a queue entry's ID"),
    ],
)
def test_what_is_refused_before_it_is_sent(stands, argv, words):
    with pytest.raises(CliError, match=words):
        command(*argv)


@pytest.mark.parametrize(
    "argv",
    [
        ["ban", DATE],
        ["weigh-type", DATE, "2"],
        ["pin", THEN],
        ["unpin"],
        ["ignore", THEN],
        ["targeted", "1"],
    ],
)
def test_only_spoton_aims(stands, argv):
    stands(campaign(ev.InstanceState("main", "running", 1), engine="zest"), None)
    with pytest.raises(CliError, match=f"{argv[0]} is for engine spoton; .* is zest"):
        command(*argv)


def test_before_anybody_has_told_anything_it_is_sent(stands):
    stands(campaign(), None)
    assert command("ban", "m.C") == WeighType("m.C", 0.0)
    assert command("weigh-type", "m.C", "x2") == WeighType("m.C", 2.0)
    assert command("pin", THEN) == PinGoal(THEN)
    assert command("ignore", THEN) == IgnoreGoal(THEN)


def test_without_targets_json_the_log_tells(stands):
    stands(campaign(FIGURES, LEFT), None)
    assert command("ban", DATE) == WeighType(DATE, 0.0)
    with pytest.raises(CliError, match=r"no goal depends on a type 'decimal\.Decimal'"):
        command("ban", "decimal.Decimal")


def test_instances_that_differ_are_weighed_each_by_its_own(stands):
    stands(campaign(FIGURES, replace(FIGURES, instance="s1", weights=[4.0, 2.0, 0.0])))
    options = parse(["ctl", "RUN", "weigh-type", DATE, "x0.5"])
    assert ctl.ACTIONS["weigh-type"].make(options) == [
        WeighType(DATE, 0.5, "main"), WeighType(DATE, 2.0, "s1"),
    ]  # fmt: skip
    assert command("weigh-type", PATH, "x2") == WeighType(PATH, 4.0)
    assert command("weigh-type", DATE, "x2", "--instance", "s1") == WeighType(DATE, 8.0, "s1")


@pytest.mark.parametrize("argv", [["ban", DATE, PATH], ["targeted", "1", "2"], ["pin", THEN, "x"]])
def test_one_word_is_enough(stands, argv):
    options = parse(["ctl", "RUN", *argv])
    with pytest.raises(CliError, match=f"{argv[0]} takes one ID, or one text in quotes; remove"):
        options.command(options)


ALIASES = """\
[target]
function = "thumbs:collect"
generator = "gens:gen"
[engine]
kind = "spoton"
[engine.aliases]
"datetime.date" = ["gens.Day", "gens.Time"]
"pathlib.Path" = "gens.Time"
"lib.Body" = "gens.Body"
"""


@pytest.mark.parametrize("name", ["gens.Day", "Day"])
def test_a_generators_type_is_taken_for_what_it_is_an_alias_of(stands, tmp_path, capsys, name):
    (tmp_path / "campaign.toml").write_text(ALIASES)
    assert command("weigh-type", name, "3") == WeighType(DATE, 3.0)
    assert "using datetime.date" in capsys.readouterr().err
    assert command("ban", DATE) == WeighType(DATE, 0.0)
    assert not capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("gens.Time", r"of several types; name datetime\.date or pathlib\.Path"),
        ("Body", r"gens\.Body is an alias of lib\.Body, on which no goal depends"),
        ("gens.Dya", r"no goal depends on a type 'gens\.Dya'; did you mean gens\.Day"),
    ],
)
def test_aliases_that_do_not_help(stands, tmp_path, name, words):
    (tmp_path / "campaign.toml").write_text(ALIASES)
    with pytest.raises(CliError, match=words):
        command("weigh-type", name, "x2")


def test_aliases_of_a_file_that_cannot_be_read(stands, tmp_path):
    (tmp_path / "campaign.toml").write_text(ALIASES + "odd = [")
    with pytest.raises(CliError, match="no goal depends on a type 'Day'"):
        command("ban", "Day")
