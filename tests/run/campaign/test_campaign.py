"""The campaign file: what is accepted, and what is said about the rest."""

import json
import os
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fuzztui.engines.base.clock import FIXED
from fuzztui.engines.keys import MU2_KEYS, OPERATORS
from fuzztui.engines.kinds import KINDS
from fuzztui.engines.mutants import operators
from fuzztui.kernel.base.units import parse_budget, parse_duration, parse_size
from fuzztui.run.campaign import CampaignError, load, write_frozen
from fuzztui.run.campaign.files import key_lines
from fuzztui.run.campaign.rundir import prepare_run
from fuzztui.run.campaign.schema import ENGINES, Key, tables_for
from fuzztui.run.campaign.values import check
from fuzztui.run.inprocess.spec import write_spec
from fuzztui.tools.schema.docs import markdown

GOOD = """\
[campaign]
name = "demo"
budget = "30m"
seed = 7

[target]
function = "tomllib:loads"
include = ["tomllib"]
expected = ["tomllib.TOMLDecodeError"]

[engine]
kind = "zest"
instances = 2
"""


@pytest.fixture
def write(tmp_path):
    def write(text: str, name: str = "demo.toml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def problems(path: Path, *overrides: str, cwd: Path | None = None) -> list[str]:
    with pytest.raises(CampaignError) as caught:
        load(path, overrides, cwd=cwd)
    return [str(p) for p in caught.value.problems]


def test_a_good_file(write, tmp_path):
    campaign = load(write(GOOD), cwd=tmp_path).campaign
    assert (campaign.name, campaign.kind, campaign.instances) == ("demo", "zest", 2)
    assert (campaign.budget_s, campaign.budget_trials, campaign.seed) == (1800.0, 0, 7)
    assert campaign.output == tmp_path / "runs" / "demo"
    assert campaign.target["path"] == [str(tmp_path)]
    assert campaign.target["timeout_s"] == 1.0
    assert campaign.target["memory_bytes"] == 2 << 30


def test_relative_paths_are_relative_to_the_file_and_to_cwd_in_overrides(write, tmp_path):
    (tmp_path / "seeds").mkdir()
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "more").mkdir()
    path = write(GOOD + 'seeds = ["seeds"]\n')
    assert load(path).campaign.engine["seeds"] == [str(tmp_path / "seeds")]
    loaded = load(path, ["engine.seeds=more", "campaign.output=here"], cwd=tmp_path / "sub")
    assert loaded.campaign.engine["seeds"] == [str(tmp_path / "sub" / "more")]
    assert loaded.campaign.output == tmp_path / "sub" / "here"


def test_the_frozen_copy_means_the_same_from_anywhere(write, tmp_path):
    (tmp_path / "harness.py").write_text("def target(data): pass\n")
    path = write(GOOD.replace('"tomllib:loads"', '"harness.py"'))
    loaded = load(path, ["campaign.budget=15s", "target.env={A = '1'}"], cwd=tmp_path)
    run = tmp_path / "elsewhere"
    run.mkdir()
    write_frozen(loaded, run)
    again = load(run / "campaign.toml", cwd=Path("/")).campaign
    for field in ("name", "output", "seed", "budget_s", "kind", "instances", "target", "engine"):
        assert getattr(again, field) == getattr(loaded.campaign, field)


@pytest.mark.slow
def test_those_who_start_at_one_moment_do_not_trip_one_another(write, tmp_path):
    (tmp_path / "harness.py").write_text("def target(data): pass\n")
    loaded = load(write(GOOD.replace('"tomllib:loads"', '"harness.py"')))

    def start():
        for n in range(100):
            prepare_run(tmp_path / f"run{n}")
            write_frozen(loaded, tmp_path / f"run{n}")

    # Processes, as it happens: the name of the temporary file is a process's own.
    pids = []
    for _ in range(4):
        if not (pid := os.fork()):
            code = 1
            try:
                start()
                code = 0
            finally:
                os._exit(code)
        pids.append(pid)
    assert [os.waitpid(pid, 0)[1] for pid in pids] == [0] * 4
    assert all((tmp_path / f"run{n}" / "campaign.toml").stat().st_size for n in range(100))


def test_every_problem_is_reported_with_file_line_and_nearest_key(write):
    path = write(GOOD.replace("seed = 7", "sed = 7").replace("include", "inclde"))
    found = problems(path)
    assert found[0].startswith(f'{path}:4: campaign.sed: unknown key, did you mean "seed"?')
    assert "takes: name, output, budget, verdicts, seed" in found[0]
    assert found[1].startswith(f'{path}:8: target.inclde: unknown key, did you mean "include"?')


@pytest.mark.parametrize(
    ("change", "line", "words"),
    [
        (("30m", "30q"), 3, '"30m" or "2h"'),
        (("seed = 7", "seed = -1"), 4, "minimum is 0"),
        (("seed = 7", 'seed = "x"'), 4, "a whole number"),
        (("seed = 7", "seed = true"), 4, "a whole number"),
        (("tomllib:loads", "tomllib.loads"), 7, "module:function"),
        (("tomllib:loads", "missing.py:f"), 7, "does not exist"),
        (('["tomllib"]', "[1]"), 8, "a list of strings"),
        (('"zest"', '"zst"'), 12, 'did you mean "zest"'),
        (("instances = 2", "instances = 0"), 13, "minimum is 1"),
        (("instances = 2", 'seeds = ["nowhere"]'), 13, "does not exist"),
        (("instances = 2", 'coverage = "lines"'), 13, '"edges", "counts"'),
    ],
)
def test_wrong_values(write, change, line, words):
    path = write(GOOD.replace(*change))
    (found,) = problems(path)
    assert found.startswith(f"{path}:{line}: ")
    assert words in found


def test_a_wrong_kind_hides_nothing_else(write):
    found = problems(write(GOOD.replace('"zest"', '"zst"').replace("budget", "bugdet")))
    assert ["campaign.bugdet" in found[0], "engine.kind" in found[1]] == [True, True]


def test_impossible_combinations(write, tmp_path):
    (tmp_path / "d.dict").write_text('"x"\n')
    (tmp_path / "g.py").write_text("gen = None\n")
    text = GOOD.replace("include", 'generator = "g.py:gen"\ninput = "text"\ninclude')
    found = problems(write(text + 'dictionary = ["d.dict"]\n'))
    assert any("target.input" in p and "remove one" in p for p in found)
    assert any("engine.dictionary" in p and "generator" in p for p in found)
    assert "64MiB or more" in problems(write(GOOD), "target.memory=1")[0]
    assert "maximum is 1000" in problems(write(GOOD), "engine.instances=100000")[0]
    assert "never end" in problems(write(GOOD), "target.timeout=0")[0]
    assert "too few for 2 instances" in problems(write(GOOD), "campaign.budget=1")[0]


@pytest.mark.parametrize(
    ("override", "words"),
    [
        ('campaign.name="x\\u0000y"', "contains a NUL"),
        ("campaign.name=\udcff", "not UTF-8"),
        ('target.expected=["a\\u0000"]', "contains a NUL"),
        ('target.env={"A=B"="x"}', "name for an environment variable"),
        ('target.env={A="b\\u0000"}', "contains a NUL"),
        ("campaign.output=/dev/null", "is not a directory"),
        ("engine.max_size=0", "minimum is 1"),
        ('engine.max_size="9999999999 GiB"', "too large"),
        (f'engine.max_size="{"9" * 400} GiB"', "is not a size"),
        ("campaign.seed=1" + "0" * 400, "the number is too large"),
        (f"campaign.budget=1{'0' * 400}", "is not a duration"),
        (f'campaign.budget="{"9" * 100} trials"', "is not a duration"),
        ("stop.idle=" + "9" * 400, "a duration"),
        ("stop.idle=99999999999999999999d", "a duration"),
    ],
)
def test_what_an_engine_or_a_directory_could_not_take_is_said_before_the_start(
    write, override, words
):
    (found,) = problems(write(GOOD), override)
    assert words in found


def test_a_harness_file_has_to_say_what_the_application_is(write, tmp_path):
    (tmp_path / "h.py").write_text("run = None\n")
    text = GOOD.replace('"tomllib:loads"', '"h.py:run"')
    (found,) = problems(write(text.replace('include = ["tomllib"]\n', "")))
    assert ":7: target.function: " in found
    assert "target.include" in found
    assert load(write(text)).campaign.target["include"] == ["tomllib"]


@pytest.mark.parametrize("name", [".", "..", "..."])
def test_a_name_of_dots_is_not_the_directory_that_it_names(write, name, tmp_path):
    loaded = load(write(GOOD), [f'campaign.name="{name}"'], cwd=tmp_path)
    assert loaded.campaign.output == tmp_path / "runs" / "demo"


def test_files_that_are_no_campaign(write, tmp_path):
    assert "no such file" in problems(tmp_path / "none.toml")[0]
    assert "not a regular file" in problems(tmp_path)[0]
    path = write("[campaign\n")
    assert problems(path)[0].startswith(f"{path}:1: is not valid TOML")
    path.write_bytes(b"a = 1\n\xff\n")
    assert problems(path)[0].startswith(f"{path}:2: is not UTF-8")
    assert "engine.kind" in problems(write(""))[0]
    assert "unknown table" in problems(write(GOOD + "[extra]\n"))[0]
    assert "is not a table" in problems(write("campaign = 1\n" + GOOD.partition("[target]")[2]))[0]


def test_overrides_are_named_in_errors(write):
    found = problems(write(GOOD), "campaign.budget=15x", "nonsense")
    assert any(p.startswith("--set nonsense: ") for p in found)
    (found,) = problems(write(GOOD), "campain.budget=15s")
    assert found.startswith('--set campain.budget=15s: campain: unknown table, did you mean "camp')
    (found,) = problems(write(GOOD), "campaign.budget=15x")
    assert found.startswith("--set campaign.budget=15x: campaign.budget: ")


def test_a_string_is_a_list_of_one(write):
    assert load(write(GOOD), ["target.include=json"]).campaign.target["include"] == ["json"]


@given(st.floats(0, 1e6, allow_nan=False))
def test_durations_in_seconds(x):
    assert parse_duration(x) == x
    assert parse_duration(f"{round(x, 3):.3f}s") == pytest.approx(round(x, 3))


def test_units():
    assert parse_duration("1h30m") == 5400
    assert parse_duration("250ms") == 0.25
    assert parse_size("512MiB") == 512 << 20
    assert parse_budget("50_000 trials") == (0.0, 50000)
    assert parse_budget(50000) == (0.0, 50000)
    assert parse_budget("2h") == (7200.0, 0)
    for bad in ("", "5", "1x", "m", "-1s", "0s", "0 trials", True, None, [], -3, float("nan")):
        with pytest.raises(ValueError, match=r"is not|has no unit"):
            parse_budget(bad)


@given(st.text() | st.integers() | st.floats() | st.booleans() | st.none())
def test_any_value_gives_a_number_or_a_sentence(value):
    for parse in (parse_duration, parse_size, parse_budget):
        try:
            parse(value)
        except ValueError as e:
            assert "is not" in str(e)


def test_key_lines_sees_through_strings_and_arrays():
    text = 'a = """\n[not]\nb = 1\n"""\n[t] # c\n"q k".z = [\n 1,\n]\nlast=2\n'
    assert key_lines(text) == {"a": 1, "t": 5, "t.q k.z": 6, "t.last": 9}


def test_key_lines_numbers_the_entries_of_arrays_of_tables():
    text = "[[t]]\na=1\n[t.b]\nc=1\n[[t]]\na=2\n[[t.s]]\nd=1\n[[t.s]]\nd=2\n[u]\na=1\n"
    assert key_lines(text) == {
        "t": 1, "t.1": 1, "t.1.a": 2, "t.1.b": 3, "t.1.b.c": 4, "t.2": 5, "t.2.a": 6,
        "t.2.s": 7, "t.2.s.1": 7, "t.2.s.1.d": 8, "t.2.s.2": 9, "t.2.s.2.d": 10, "u": 11, "u.a": 12,
    }  # fmt: skip
    assert key_lines("[[ p.t ]]\na=1\n", "p.") == {"t": 1, "t.1": 1, "t.1.a": 2}


OPTIONAL = {"siblings", "notify", "mutants", "oracle", "text", "cluster"}


def test_the_documented_keys_are_the_accepted_ones():
    page = (Path(__file__).parents[3] / "docs" / "campaign.md").read_text()
    assert page == markdown(page), "run: make docs"
    for kind in ENGINES:
        assert {"campaign", "stop", "target", "engine"} == set(tables_for(kind)) - OPTIONAL


# ------------------------------------------------------------------------ mu2


def test_a_mu2_campaign(write, tmp_path):
    (tmp_path / "h.py").write_text("def same(a, b): return a == b")
    path = write(GOOD.replace('"zest"', '"mu2"'))
    loaded = load(path, ["target.compare=h.py:same", "engine.operators=math"], cwd=tmp_path)
    campaign = loaded.campaign
    assert campaign.target["compare"] == f"{tmp_path}/h.py:same"
    engine = campaign.engine
    assert (engine["schedule"], engine["oracle"], engine["exact"]) == (
        "adaptive", "differential", True,
    )  # fmt: skip
    assert (engine["operators"], engine["mutate"]) == (["math"], [])
    copy = tmp_path / "copy.toml"
    copy.write_text(loaded.toml())
    assert load(copy).campaign.engine == engine
    assert load(path).campaign.engine["operators"] == list(OPERATORS[:-1])


@pytest.mark.parametrize(
    ("value", "budget"),
    [("0", (0.0, 0)), ('"0"', (0.0, 0)), ('"5m"', (300.0, 0)), ('"700 trials"', (0.0, 700))],
)
def test_the_budget_of_an_exact_pass_may_be_none(write, value, budget):
    path = write(GOOD.replace('"zest"', '"mu2"'))
    assert load(path).campaign.engine["exact_budget"] is None
    frozen = load(path, [f"engine.exact_budget={value}"])
    assert frozen.campaign.engine["exact_budget"] == budget
    (problem,) = problems(path, "campaign.budget=0")
    assert "campaign.budget" in problem, "no other budget may be 0"


@pytest.mark.parametrize(
    ("written", "used", "frozen"),
    [
        ('"real"', "", "real"),
        ('"fixed"', FIXED, "fixed"),
        ("2030-02-28", "2030-02-28T00:00:00+00:00", "2030-02-28"),
        ("2030-02-28T10:00:00", "2030-02-28T10:00:00+00:00", "2030-02-28T10:00:00"),
        ('"2030-02-28 10:00+02:00"', "2030-02-28T10:00:00+02:00", "2030-02-28 10:00+02:00"),
    ],
)
def test_the_clock_is_a_word_or_a_moment(write, tmp_path, written, used, frozen):
    loaded = load(write(GOOD.replace("[target]", f"[target]\nclock = {written}")))
    assert loaded.campaign.target["clock"] == used
    copy = tmp_path / "campaign.toml"
    copy.write_text(loaded.toml())
    assert tomllib.loads(copy.read_text())["target"].get("clock", "real") == frozen
    assert load(copy).campaign.target["clock"] == used


@pytest.mark.parametrize("wrong", ['"fixd"', '"2030-02-30"', "1066-01-01", "12:00:00", "7", "true"])
def test_a_wrong_clock(write, wrong):
    path = write(GOOD.replace("[target]", f"[target]\nclock = {wrong}"))
    (problem,) = problems(path)
    assert problem.startswith(f"{path}:7: target.clock: ")
    assert 'is not "real", "fixed", or a date or time in ISO 8601' in problem
    assert ('did you mean "fixed"' in problem) == ("fixd" in wrong)


def test_afl_refuses_the_clock_and_says_what_to_do(write):
    text = '[target]\ncommand = ["true"]\nclock = "fixed"\n[engine]\nkind = "afl"\n'
    path = write(text)
    (problem,) = problems(path)
    assert problem.startswith(f"{path}:3: target.clock: unknown key")
    assert "libfaketime" in problem


def test_what_mu2_adds_zest_does_not_take(write):
    (problem,) = problems(write(GOOD), "engine.oracle=paper")
    assert "unknown key" in problem


@pytest.mark.parametrize(("key", "table"), [("seeds", "engine"), ("budget", "campaign")])
def test_a_key_of_another_table_is_said_to_belong_there(write, key, table):
    text = f'[target]\nfunction = "m:f"\n{key} = 1\n[engine]\nkind = "zest"\n'
    (problem,) = problems(write(text))
    assert f"target.{key}" in problem
    assert f"[{table}]" in problem


@pytest.mark.parametrize(
    ("override", "words"),
    [
        (
            'engine.operators=["math", "negat"]',
            'not a mutation operator, did you mean "negate"?',
        ),
        ("engine.operators=[]", "there would be no mutants"),
        ("engine.operators=[3]", "is not a list of mutation operators"),
        ("engine.oracle=loose", "is not one of"),
        ("engine.exact=1", "is not true or false"),
        ("target.compare=nonsense", "is not"),
    ],
)
def test_wrong_values_of_mu2(write, override, words):
    (problem,) = problems(write(GOOD.replace('"zest"', '"mu2"')), override)
    assert words in problem
    assert problem.startswith("--set")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("C", 'did you mean "c"?'),
        ("js", 'did you mean "javascript"?'),
        ("c++", 'did you mean "cpp"?'),
        ("JavaScript", 'did you mean "javascript"?'),
        ("sql", "(for another language leave the key out: brackets and quotes are spliced then)"),
    ],
)
def test_a_language_by_another_name(write, name, words):
    text = GOOD.replace('"zest"', '"text"')
    (problem,) = problems(write(text), f"text.language={name}")
    assert words in problem


def test_numbers_as_on_every_command_line(write):
    path = write(GOOD.replace('"zest"', '"text"'))
    text = load(path, ["text.splice=.9", "campaign.name=.x"]).campaign.table("text")
    assert text["splice"] == 0.9
    (problem,) = problems(path, "text.splice=.x")
    assert "'.x' is not a number from 0 to 1" in problem


def test_a_pattern_that_means_something_else_in_another_python(write, recwarn):
    (problem,) = problems(write(GOOD), "oracle.message=[[:alpha:]]")
    assert "is ambiguous: possible nested set" in problem
    assert not recwarn.list


def test_a_function_that_a_file_cannot_have(write, tmp_path):
    old = tmp_path / "old.py"
    old.write_text("def such(text): pass\n")
    path = write(GOOD)
    (problem,) = problems(path, f"oracle.against={old}:nosuch")
    assert f"'nosuch' is not defined in {old}, did you mean \"such\"?" in problem
    (problem,) = problems(path, f"oracle.against={old}:qqq")
    assert f"'qqq' is not defined in {old}; the file defines such" in problem
    for text in ("from other import *\n", "nosuch = 1\n", "globals()['no' + 'such'] = 1\n"):
        old.write_text(text)
        load(path, [f"oracle.against={old}:nosuch"])


def test_a_campaign_for_another_engine(write):
    text = GOOD.replace('"zest"', '"text"') + '[text]\nsplice = 0.5\n[oracle]\nmessage = "bug"\n'
    campaign = load(write(text), kind="mu2").campaign
    assert (campaign.kind, campaign.table("text"), campaign.table("oracle")) == ("mu2", {}, {})
    spoton = GOOD.replace('"zest"', '"spoton"\ntargeted = 0.5')
    assert "targeted" not in load(write(spoton), kind="mu2").campaign.engine


OF_OTHERS = [
    (kind, f"{table}.{key.name}")
    for kind in KINDS
    for table in ("target", "engine")
    for key in {key.name: key for other in KINDS for key in tables_for(other)[table]}.values()
    if key.name not in {known.name for known in tables_for(kind)[table]}
]


@pytest.mark.parametrize(("kind", "key"), OF_OTHERS)
def test_a_key_that_only_other_kinds_read_is_refused_except_in_an_old_run(write, kind, key):
    table, _, name = key.partition(".")
    text = GOOD.replace('"zest"', f'"{kind}"').replace(f"[{table}]", f'[{table}]\n{name} = "x"')
    (problem,) = problems(path := write(text))
    line = text.splitlines().index(f'{name} = "x"') + 1
    readers = [k for k in KINDS if name in {known.name for known in tables_for(k)[table]}]
    assert problem.startswith(f"{path}:{line}: {key}: ")
    assert f"engine.kind = {' or '.join(readers)}" in problem
    run = path.parent / "run"
    prepare_run(run)
    (run / "campaign.toml").write_text(text)
    campaign = load(run / "campaign.toml").campaign
    assert (campaign.kind, name in getattr(campaign, table)) == (kind, False)


def test_the_operators_are_those_of_the_engine():
    assert [o.name for o in operators.OPERATORS] == list(OPERATORS)
    default = next(key.default for key in MU2_KEYS if key.name == "operators")
    assert default == list(operators.DEFAULT_OPERATORS)


@pytest.mark.parametrize(
    ("more", "seconds"),
    [(['campaign.budget="30s"'], 15), (['campaign.budget="2m"'], 60), (["campaign.budget=1h"], 900),
     (["campaign.budget=700"], 0), (["engine.exact=false"], 0), (["engine.exact_budget=7s"], 7),
     (["engine.exact_budget=0"], 0)],
)  # fmt: skip
def test_an_exact_pass_takes_at_most_half_of_the_budget(write, tmp_path, more, seconds):
    campaign = load(write(GOOD.replace('"zest"', '"mu2"')), more).campaign
    assert campaign.exact_s == seconds
    (tmp_path / "out" / "main").mkdir(parents=True)
    write_spec(tmp_path / "spec.json", campaign, tmp_path / "out" / "main")
    engine = json.loads((tmp_path / "spec.json").read_text())["engine"]
    if seconds:
        assert engine["exact_budget"] == [seconds, 0]


@pytest.mark.parametrize(
    ("kind", "bare"),
    [("integer", "4"), ("boolean", "true"), ("part", "0.5"), ("budget", "60000"),
     ("duration", "90")],
)  # fmt: skip
def test_a_value_in_quotes_is_refused_with_what_looks_otherwise(kind: Any, bare: str) -> None:
    key = Key("some", kind, "")
    check(key, tomllib.loads(f"x = {bare}")["x"], Path())
    with pytest.raises(ValueError, match="write ") as caught:
        check(key, bare, Path())
    advice = str(caught.value).partition("write ")[2]
    if advice.endswith(" without quotes"):
        check(key, tomllib.loads(f"x = {advice.removesuffix(' without quotes')}")["x"], Path())
    else:
        meant = re.findall(r'"[^"]+"', advice)
        assert meant
        for each in meant:
            check(key, tomllib.loads(f"x = {each}")["x"], Path())


@pytest.mark.parametrize(("kind", "text"), [("choice", "z\u0435st"), ("duration", "30\u043c")])
def test_letters_that_look_alike_are_shown_as_others(kind: Any, text: str) -> None:
    key = Key("some", kind, "", choices=("zest",) if kind == "choice" else ())
    with pytest.raises(ValueError, match=r"\\u04"):
        check(key, text, Path())


@pytest.mark.parametrize(
    ("text", "overrides", "places"),
    [
        ('[target]\nfuntion = "a:b"\n[engine]\nkind = "zest"\n', (), ["demo.toml:2"]),
        ('[target]\nfuntion = "a:b"\n[engine]\nknd = "zest"\n', (), ["demo.toml:4"]),
        ('[target]\n[engine]\nkind = "zest"\nseds = []\n', (), ["demo.toml:4", "demo.toml:1"]),
        ('[target]\n[engine]\nkind = "zest"\n', ("engine.seds=1",), ["--set", "demo.toml:1"]),
    ],
    ids=["explains what is missing", "also the kind", "comes before it", "also on a command line"],
)
def test_a_typo_and_what_is_missing(write, text, overrides, places):
    found = problems(write(text), *overrides)
    assert [place in problem for place, problem in zip(places, found, strict=True)] == [True] * len(
        places
    )
    assert "did you mean" in found[0]


@pytest.mark.parametrize("name", ["lib.py", "notes.txt"])
def test_another_kind_of_file_is_no_wrong_toml(write, name):
    (problem,) = problems(write("import os\n\ndef f(): pass\n", name))
    assert "fuzztui init" in problem
    assert "TOML" not in problem


def test_a_campaign_file_of_another_name_has_its_mistake_named(write):
    (problem,) = problems(write("[engine]\nkind = zest\n", "campaign.toml.old"))
    assert "campaign.toml.old:2:" in problem
    assert "fuzztui init" not in problem


@pytest.mark.parametrize(
    "before",
    [
        "# a\u2028 it's [\n",
        "[project]\ndependencies = [\n" + '    "a",\n' * 40 + "]\n",
        'text = """\na = 1\n"""\n',
    ],
)
def test_lines_of_keys_are_found_behind_statements_of_several_lines(before):
    text = before + "[target]\nfunction = 'a:b'\n"
    lines = key_lines(text)
    assert lines["target.function"] == text.count("\n")
    assert "a" not in lines
