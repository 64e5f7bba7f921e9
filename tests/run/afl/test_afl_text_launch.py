"""What an afl-fuzz is started with that mutates inputs as text."""

import dataclasses
import shutil
from pathlib import Path

import pytest
from test_afl_launch import campaign

from fuzztui.cli import main
from fuzztui.engines.text.syntax import LANGUAGES
from fuzztui.run.afl import launcher
from fuzztui.run.afl.launcher import AflFuzz
from fuzztui.run.campaign import CampaignError, load, write_frozen
from fuzztui.run.campaign.model import run_of
from fuzztui.run.campaign.rundir import RunDir, SupervisorError, prepare_run

STEER, TEXT = Path("/cache/steer.so"), Path("/dev/null")
"""Libraries: the second must be there, or it would be compiled again."""

TABLE = {
    "havoc": 0.1, "text": 0.6, "splice": 0.3, "adaptive": True, "language": "", "templates": [],
    "without": [], "roll": "input", "rules": False,
}  # fmt: skip


@pytest.fixture
def home(tmp_path):
    prepare_run(tmp_path / "run")
    return RunDir(tmp_path / "run")


@pytest.fixture
def afl(monkeypatch):
    for name in [*launcher.DEFAULTS, "AFL_CUSTOM_MUTATOR_LIBRARY", "AFL_PYTHON_MODULE"]:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(launcher, "steering_library", lambda *progress: (STEER, ""))
    monkeypatch.setattr(launcher, "text_library", lambda *progress: (TEXT, ""))
    return AflFuzz()


def textual(home: RunDir, text: dict, **changes):
    made = campaign(home, **changes)
    return dataclasses.replace(made, tables={**made.tables, "text": {**TABLE, **text}})


def env_of(afl, home, index: int = 0, text: dict | None = None, **changes):
    home.instance("main" if index == 0 else f"s{index}").mkdir(exist_ok=True)
    return afl.prepare(textual(home, text or {}, **changes), home, index).env


def test_without_the_table_nothing_is_different(afl, home):
    home.instance("main").mkdir()
    env = afl.prepare(campaign(home), home, 0).env
    assert env["AFL_CUSTOM_MUTATOR_LIBRARY"] == str(STEER)
    assert not [key for key in env if "TEXT" in key or key == "AFL_CUSTOM_MUTATOR_ONLY"]
    assert "mixture" not in afl.hello(campaign(home), home, 0).capabilities


def test_it_mutates_beside_the_steering_library(afl, home):
    env = env_of(afl, home, dictionary=["/a b.dict"], extra_args=["-x", "mine", "-x/c"])
    main = home.instance("main")
    assert env["AFL_CUSTOM_MUTATOR_LIBRARY"] == f"{STEER};{TEXT}"
    assert env["AFL_CUSTOM_MUTATOR_ONLY"] == "1"
    assert env["FUZZTUI_TEXT"] == "0.1,0.6,0.3,1"
    assert env["FUZZTUI_TEXT_ROLL"] == "input"
    assert env["FUZZTUI_TEXT_BLOCK"] == f"{main}/.text"
    assert env["FUZZTUI_CONTROL"] == f"{main}/control.jsonl"
    assert env["FUZZTUI_TEXT_POOL"] == ""
    assert env["FUZZTUI_TEXT_WITHOUT"] == "template,fragment", "it has none"
    assert env["FUZZTUI_TEXT_TOKENS"] == "/src/mine\n/c", "what afl-fuzz gets, and it alone"
    env = env_of(afl, home, dictionary=["/a b.dict", "/b"])
    assert env["FUZZTUI_TEXT_TOKENS"] == "/a b.dict\n/b"


def test_a_grammar_has_a_pool_that_all_instances_share(afl, home):
    text = {"language": "c", "without": ["swap-args", "drop-not"]}
    for index in range(2):
        env = env_of(afl, home, index, text, instances=2)
        assert env["FUZZTUI_TEXT_POOL"] == f"{home.out}/.pool"
        assert env["FUZZTUI_TEXT_WITHOUT"] == "swap-args,drop-not,template"
    for edits in ({"templates": ["a ==> b"]}, {"rules": True}):
        env = env_of(afl, home, 0, {**text, **edits})
        assert env["FUZZTUI_TEXT_WITHOUT"] == "swap-args,drop-not"
    env = env_of(afl, home, 0, {"language": "lisp", "rules": True})
    assert env["FUZZTUI_TEXT_POOL"] == f"{home.out}/.pool", "of edits: there is no grammar"
    assert env["FUZZTUI_TEXT_WITHOUT"] == "fragment"


def test_a_mutants_turn_mutates_as_text_too(afl, home):
    part = dataclasses.replace(textual(home, {"language": "c"}), slot="m7")
    slot = home.in_slot("m7")
    slot.instance("m7").mkdir(parents=True)
    env = afl.prepare(part, slot, 0).env
    assert env["FUZZTUI_TEXT_BLOCK"] == f"{slot.out}/m7/.text"
    assert env["FUZZTUI_TEXT_POOL"] == str(home.pool), "one for the run"


def test_a_mutator_of_the_users_stays_beside_both(afl, home):
    env = env_of(afl, home, env={"AFL_CUSTOM_MUTATOR_LIBRARY": "/mine.so"})
    assert env["AFL_CUSTOM_MUTATOR_LIBRARY"] == f"{STEER};{TEXT};/mine.so"


def test_it_mutates_where_nothing_can_be_steered(afl, home, monkeypatch):
    monkeypatch.setattr(launcher, "steering_library", lambda *progress: (None, "why"))
    assert env_of(afl, home)["AFL_CUSTOM_MUTATOR_LIBRARY"] == str(TEXT)
    hello = afl.hello(textual(home, {}), home, 0)
    assert "mixture" in hello.capabilities
    assert {n for n, why in hello.unable.items() if why == "why"} == {"skip", "promote", "reset"}


def test_mopt_by_the_users_wish_mutates_nothing_as_text_and_says_so(afl, home):
    changes = {"instances": 2, "options": {"s1": ["-L", "0"]}}
    assert "AFL_CUSTOM_MUTATOR_LIBRARY" not in (env := env_of(afl, home, 1, **changes))
    assert not [key for key in env if "TEXT" in key]
    hello = afl.hello(textual(home, {}, **changes), home, 1)
    assert "-L" in hello.unable["mixture"] and "mixture" not in hello.capabilities
    assert "mixture" in afl.hello(textual(home, {}, **changes), home, 0).capabilities


def test_without_a_compiler_it_is_refused(afl, home, monkeypatch, tmp_path):
    for tool in ("afl-fuzz",):
        (tmp_path / tool).write_text("#!/bin/sh\n")
        (tmp_path / tool).chmod(0o755)
    monkeypatch.setattr(launcher, "text_library", lambda *progress: (None, "no C compiler"))
    there = {"afl_path": str(tmp_path), "command": ["/bin/sh"]}
    with pytest.raises(SupervisorError, match=r"^\[text\]: .* no C compiler\. Without \[text\]"):
        afl.setup(textual(home, {}, **there), home, lambda words: None)
    afl.setup(campaign(home, **there), home, lambda words: None)
    with pytest.raises(OSError, match="no C compiler"):  # its fleet was adopted, its cache emptied
        env_of(afl, home)


def test_a_library_that_is_gone_is_made_again(afl, home, monkeypatch, tmp_path):
    cached = tmp_path / "text.so"
    made = []

    def compiled(*progress):
        made.append(cached.write_text(""))
        return cached, ""

    monkeypatch.setattr(launcher, "text_library", compiled)
    for _ in range(2):
        for _ in range(2):
            assert str(cached) in env_of(afl, home)["AFL_CUSTOM_MUTATOR_LIBRARY"]
        cached.unlink()
    assert len(made) == 2


# ------------------------------------------------------------------ the campaign file

AFL = '[target]\ncommand = ["true"]\n[engine]\nkind = "afl"\n'
PYTHON = '[target]\nfunction = "tomllib:loads"\n[engine]\nkind = "text"\n'


def loaded(tmp_path: Path, text: str):
    (tmp_path / "c.toml").write_text(text)
    return load(tmp_path / "c.toml", cwd=tmp_path)


def parts_of(tmp_path: Path, table: str) -> tuple[float, ...]:
    text = loaded(tmp_path, f"{AFL}[text]\n{table}").campaign.table("text")
    return text["havoc"], text["text"], text["splice"]


@pytest.mark.parametrize(
    ("table", "parts"),
    [
        ("", (0.25, 0.5, 0.25)),
        ("adaptive = false", (0.25, 0.5, 0.25)),
        ("text = 0.6", (0.4, 0.6, 0)),
        ("text = 1", (0, 1, 0)),
        ("splice = 0.1", (0.225, 0.675, 0.1)),
        ("splice = 0.5", (0.125, 0.375, 0.5)),
        ("splice = 1", (0, 0, 1)),
        ("havoc = 0.1", (0.1, 0.9, 0)),
        ("text = 0.6\nsplice = 0.1", (0.3, 0.6, 0.1)),
        ("havoc = 0.6\nsplice = 0.1", (0.6, 0.3, 0.1)),
        ("havoc = 0.6\ntext = 0.4", (0.6, 0.4, 0)),
        ("havoc = 0.3333333\ntext = 0.3333333\nsplice = 0.3333334", (1 / 3, 1 / 3, 1 / 3)),
    ],
)
def test_what_is_not_said_follows_from_what_is(tmp_path, table, parts):
    assert parts_of(tmp_path, table) == pytest.approx(parts, abs=1e-6)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (f"{AFL}[text]\nhavoc = 0.5\ntext = 0.4", "c.toml:5: text: havoc 0.5 + text 0.4 = 0.9: "),
        (f"{AFL}[text]\ntext = 0.8\nsplice = 0.4", "text 0.8 + splice 0.4 = 1.2"),
        (f"{AFL}[text]\ntext = 1.5", "text.text: 1.5 is not a number from 0 to 1"),
        (f"{AFL}[text]\nhavoc = nan", "text.havoc: nan is not a number from 0 to 1"),
        (
            f'{AFL}[text]\nwithout = ["swap-arg"]',
            'not a text mutator, did you mean "swap-args"?',
        ),
        (f'{AFL}[text]\ntemplates = ["a ==> b"]', "text.templates: 'a ==> b': needs text.language"),
        (f'{AFL}[text]\ntemplates = ["f(:[a]) ==> :[b]"]', "the hole :[b], which the pattern"),
        (f'{AFL}[text]\nlanguage = "c"\ntemplates = ["a"]', "'a': a template is PATTERN ==>"),
        (f'{AFL}[text]\nlanguage = "cobol"', "text.language: 'cobol' is not one of"),
        (f"{AFL}[text]\nhavocs = 1", 'unknown key, did you mean "havoc"?'),
        (PYTHON.replace('"text"', '"zest"') + "[text]\n", "text: is for engine.kind = text or afl"),
        (PYTHON.replace("[engine]", 'generator = "a:b"\n[engine]'), "generator: unknown key"),
    ],
)
def test_what_is_wrong_is_said_in_words(tmp_path, text, words):
    with pytest.raises(CampaignError) as caught:
        loaded(tmp_path, text)
    (problem,) = caught.value.problems
    assert words in str(problem)


def test_an_afl_campaign_without_the_table_mutates_bytes(tmp_path):
    assert loaded(tmp_path, AFL).campaign.table("text") == {}
    assert "text" not in loaded(tmp_path, AFL).frozen or not loaded(tmp_path, AFL).frozen["text"]


def test_the_engine_text_takes_the_defaults(tmp_path):
    text = loaded(tmp_path, PYTHON).campaign.table("text")
    assert (text["havoc"], text["text"], text["splice"]) == (0.25, 0.5, 0.25)
    assert (text["adaptive"], text["language"], text["templates"]) == (True, "", [])
    assert (text["roll"], text["rules"]) == ("input", True)
    own = loaded(tmp_path, f"{PYTHON}[text]\nrules = false\n").campaign.table("text")
    assert not own["rules"]


@pytest.mark.parametrize(
    ("table", "adaptive"),
    [
        ('language = "c"', True),
        ("adaptive = false", False),
        ("text = 0.75", False),
        ("splice = 0.5\nadaptive = true", True),
    ],
)
def test_only_a_table_without_probabilities_adapts_by_default(tmp_path, table, adaptive):
    new = loaded(tmp_path, f"{AFL}[text]\n{table}")
    assert new.campaign.table("text")["adaptive"] is adaptive
    again = loaded(tmp_path, new.toml())
    assert again.campaign.table("text") == new.campaign.table("text")


def test_a_run_of_an_earlier_version_keeps_its_mixture(tmp_path):
    for part in ("out", "supervisor", "log"):
        (tmp_path / part).mkdir()
    file = tmp_path / "campaign.toml"
    file.write_text(f"{AFL}[text]\n")
    assert run_of(file)
    text = load(file).campaign.table("text")
    assert (text["havoc"], text["text"], text["splice"]) == (0.25, 0.75, 0.0)
    assert (text["adaptive"], text["roll"], text["rules"]) == (False, "step", False)
    new = loaded(tmp_path, f"{AFL}[text]\n")
    file.write_text(new.toml())
    assert load(file).campaign.table("text") == new.campaign.table("text")


def with_seeds(tmp_path: Path, *names: str) -> str:
    (tmp_path / "seeds" / "more").mkdir(parents=True)
    for name in names:
        (tmp_path / "seeds" / name).write_text("x")
    return AFL + 'seeds = ["seeds"]\n[text]\n'


@pytest.mark.parametrize(
    ("names", "language"),
    [
        (("a.js", "more/b.MJS", "README"), "javascript"),
        (("a.c", "b.h", "c.py"), "c"),
        (("a.c", "b.py"), ""),
        (("a.scm", "b.el"), "lisp"),
        (("a.awk", "b.awk"), "awk"),
        (("a.xyz", "b.xyz"), ""),
        (("id:000000", "id:000001.lua"), ""),
        ((), ""),
    ],
)
def test_the_language_of_most_seeds(tmp_path, names, language):
    text = with_seeds(tmp_path, *names)
    new = loaded(tmp_path, text)
    assert new.campaign.table("text")["language"] == language
    assert new.frozen["text"].get("language", "") == language
    for key in ('language = "none"', "splice = 0.5", "havoc = 1"):
        assert not loaded(tmp_path, text + key).campaign.table("text")["language"], key
    assert loaded(tmp_path, f'{text}language = "go"').campaign.table("text")["language"] == "go"


@pytest.mark.parametrize(
    ("table", "words"),
    [
        ("", 'c.toml:6: text.language: "lua", by the suffixes of the seeds'),
        ("splice = 0.5", "text.language: no language: lines and what is between brackets"),
        ('language = "lua"', ""),
        ('language = "none"', ""),
        ("text = 1", ""),
    ],
)
def test_check_reports_a_guessed_language(tmp_path, capsys, table, words):
    loaded(tmp_path, f"{with_seeds(tmp_path, 'a.lua')}{table}")
    assert main(["check", str(tmp_path / "c.toml")]) == 0
    err = capsys.readouterr().err
    assert (words in err) if words else ("text.language" not in err)


@pytest.mark.parametrize("table", ["", "text = 0.6\nadaptive = true\nlanguage = 'c'"])
@pytest.mark.parametrize("engine", [AFL, PYTHON])
def test_the_frozen_copy_means_the_same(tmp_path, engine, table):
    first = loaded(tmp_path, f"{engine}[text]\n{table}")
    run = tmp_path / "elsewhere"
    run.mkdir()
    write_frozen(first, run)
    assert load(run / "campaign.toml", cwd=Path("/")).campaign.table(
        "text"
    ) == first.campaign.table("text")


def test_all_grammars_are_known(tmp_path):
    for language in LANGUAGES:
        assert loaded(tmp_path, f"{AFL}[text]\nlanguage = '{language}'").campaign.table("text")
    assert shutil.which("true")
