"""The user's configuration: everything wrong is reported at once, and the rest is used."""

import os
import re
from pathlib import Path

import pytest
from fakes import running

from fuzztui.cli.parser import parse
from fuzztui.kernel.base.user_dirs import config_dir
from fuzztui.tui.app.app import FuzzApp
from fuzztui.tui.app.config import RENAMED, has_few_colours, load_config, theme_of
from fuzztui.tui.app.feed import default_hz
from fuzztui.tui.base.config_file import MAX_BYTES
from fuzztui.tui.base.keynames import key_for_user, key_from_user, key_name
from fuzztui.tui.base.user_state import recall, remember
from fuzztui.tui.frame.action_context import ActionContext, with_keys
from fuzztui.tui.frame.actions import ACTIONS, BY_ID
from fuzztui.tui.labels.features import whole_legend

DOC = Path(__file__).parents[2] / "docs" / "config.md"
THEMES = {"midwatch", "daylight"}
SCREENS = [screen.scopes() for screen in FuzzApp.MODES.values()]


@pytest.fixture
def load(tmp_path):
    def write(text):
        file = tmp_path / "config.toml"
        file.write_bytes(text if isinstance(text, bytes) else text.encode())
        config, problems = load_config(file, THEMES, SCREENS)
        assert all(p.startswith(str(file)) for p in problems)
        return config, [p.removeprefix(str(file)) for p in problems]

    return write


def test_no_file_is_the_default(tmp_path):
    config, problems = load_config(tmp_path / "none", THEMES, SCREENS)
    assert problems == []
    assert (config.keys, config.file.bell, config.file.desktop) == ({}, True, True)


def test_the_example_of_the_docs_has_no_problem_and_sets_every_key(load):
    (example,) = re.findall(r"^```toml\n(.*?)^```$", DOC.read_text(), re.M | re.DOTALL)
    config, problems = load(example)
    assert problems == []
    file = config.file
    assert (file.theme, file.refresh, file.bell, file.desktop) == ("auto", 2.0, True, False)
    assert config.keys == {
        "campaign.stop": ("X",),
        "app.quit": ("Q", "ctrl+d"),
        "entry.demote": (),
        "table.sort": ("S",),
        "table.reverse": ("s",),
    }
    assert file.columns["corpus"] == ["entry", "input", "size", "t", "why"]
    assert file.columns["findings"] == ["-size", "-thanks"]


@pytest.mark.parametrize(
    ("text", "where", "what"),
    [
        ('theme = "dayligt"', ":1: theme: ", "daylight"),
        ("theme = 3", ":1: theme: ", "3"),
        ("\nrefresh = 0", ":2: refresh: ", "0.1"),
        ("refresh = true", ":1: refresh: ", "True"),
        ("refresh = nan", ":1: refresh: ", "nan"),
        ("refrsh = 1", ":1: refrsh: ", "refresh"),
        ("notify = 1", ":1: notify: ", "[notify]"),
        ("[notify]\nbell = 'no'", ":2: notify.bell: ", "'no'"),
        ("[notify]\nbel = true", ":2: notify.bel: ", "bell"),
        ("[keys]\ncampaign.stp = 'X'", ":2: keys.campaign.stp: ", "campaign.stop"),
        ("[keys]\n'campaign.stop' = 4", ":2: keys.campaign.stop: ", "4"),
        ("[keys]\ncampaign.stop = 'blub'", ":2: keys.campaign.stop: ", "'blub'"),
        ("[keys]\ncampaign.stop = ''", ":2: keys.campaign.stop: ", "''"),
        ("[keys]\ncampaign.stop = 'ctrl+c'", ":2: keys.campaign.stop: ", "ctrl+c"),
        ("[keys]\ncampaign.stop = '?'", ":2: keys.campaign.stop: ", "app.help"),
        ("[keys]\ncampaign.stop = 'd'", ":2: keys.campaign.stop: ", "entry.skip"),
        ("[keys]\nfocus.next = 'n'", ":2: keys.focus.next: ", "cannot"),
        ("[keys]\napp.help = []", ":2: keys.app.help: ", "needs"),
        ("[columns]\ncorpse = ['size']", ":2: columns.corpse: ", "corpus"),
        ("[columns]\ncorpus = ['siz']", ":2: columns.corpus: ", "size"),
        ("[columns]\ncorpus = 'size'", ":2: columns.corpus: ", "'size'"),
        ("[columns]\ncorpus = []", ":2: columns.corpus: ", "[]"),
        ("[columns]\ncorpus = ['size', '-t']", ":2: columns.corpus: ", "not both"),
        ("[columns]\ncorpus = ['size', 'size']", ":2: columns.corpus: ", "twice"),
        ("theme = ", ": ", "TOML"),
        (b"\ntheme = '\xff'", ":2: ", "UTF-8"),
        ("#" * (MAX_BYTES + 1), ": ", "KiB"),
        ("a=" + "[" * 5000, ": ", "TOML"),
        (f'"\\u001b{"x" * 5000}" = 1', ": ", "…"),
    ],
)
def test_a_wrong_value_has_its_line_and_key(load, text, where, what):
    config, (problem,) = load(text)
    assert problem.startswith(where)
    assert what in problem
    assert len(problem) < 400
    assert problem.isprintable()
    assert config.keys == {}
    assert config.file.columns == {}


def test_all_problems_come_at_once_in_the_order_of_the_file_and_the_rest_is_used(load):
    config, problems = load(
        "[keys]\ncampaign.stop = 'q'\ncampaign.pause = 'W'\n[notify]\nbell = 1\ndesktop = false\n"
        "[columns]\ncorpus = ['size']\nlog = ['x']\n[other]\n"
    )
    assert [p.split(":")[1] for p in problems] == ["2", "5", "9", "10"]
    assert config.keys == {"campaign.pause": ("W",)}
    assert (config.file.bell, config.file.desktop) == (True, False)
    assert config.file.columns == {"corpus": ["size"]}


def test_keys_of_different_screens_or_modes_do_not_clash(load):
    text = "[keys]\nentry.skip = '!'\nmutant.skip = '!'\nlog.kind = '!'\nreplay.play = 'x'\n"
    assert load(text)[1] == []


def test_a_key_that_two_actions_share_by_themselves_is_kept(load):
    config, problems = load("[keys]\nreplay.back = ['left', 'K']")
    assert problems == []
    assert config.keys == {"replay.back": ("left", "K")}


def test_names_of_earlier_versions_go_on_working(load):
    config, problems = load(
        '[keys]\nview.operators = "f9"\noperator.copy = ["y"]\nmutator.find = "f"\n'
        '[columns]\noperators = ["operator", "found"]\n'
    )
    assert not problems
    assert config.keys["view.mutators"] == ("f9",)
    assert (config.keys["mutator.copy"], config.keys["mutator.find"]) == (("y",), ("f",))
    assert config.file.columns == {"mutators": ["operator", "found"]}
    assert set(RENAMED.values()) <= {*BY_ID, *whole_legend().columns}


def test_keys_are_swapped_if_both_are_set(load):
    assert load("[keys]\ntable.sort = 'S'\ntable.reverse = 's'")[1] == []
    config, (problem,) = load("[keys]\ntable.sort = 'S'")
    assert "table.reverse" in problem
    assert config.keys == {}
    # The second one gets its own key back, which the first one has now.
    config, problems = load("[keys]\ntable.sort = 'S'\ntable.reverse = 'q'")
    assert len(problems) == 2
    assert config.keys == {}


@pytest.mark.parametrize("kind", ["fifo", "directory", "loop", "endless"])
def test_what_is_no_file_is_reported_and_not_waited_for(tmp_path, kind):
    file = tmp_path / "config.toml"
    {
        "fifo": os.mkfifo,
        "directory": Path.mkdir,
        "loop": lambda f: f.symlink_to(f),
        "endless": lambda f: f.symlink_to("/dev/zero"),
    }[kind](file)
    config, (problem,) = load_config(file, THEMES, SCREENS)
    assert problem.startswith(f"{file}: ")
    assert config.keys == {}


def test_a_link_to_a_file_is_followed(tmp_path):
    (tmp_path / "dotfiles").write_text("refresh = 3")
    (tmp_path / "config.toml").symlink_to("dotfiles")
    assert load_config(tmp_path / "config.toml", THEMES, SCREENS)[0].file.refresh == 3.0


@pytest.mark.parametrize("home", ["", "relative"])
def test_without_a_configuration_home_it_is_in_the_home(tmp_path, monkeypatch, home):
    monkeypatch.setenv("XDG_CONFIG_HOME", home)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert config_dir() == tmp_path / ".config" / "fuzztui"


def test_the_variable_overrides_the_file(monkeypatch):
    monkeypatch.delenv("FUZZTUI_HZ", raising=False)
    assert default_hz(0.5) == 0.5
    monkeypatch.setenv("FUZZTUI_HZ", "9")
    assert default_hz(0.5) == 9.0


def test_what_decides_the_theme():
    every = {"option": "a", "remembered": "d", "configured": "e"}
    env = {"FUZZTUI_THEME": "b", "NO_COLOR": "1"}
    found = [theme_of(env, **every)]
    found.append(theme_of(env, **{**every, "option": ""}))
    found.append(theme_of({"NO_COLOR": "1"}, **{**every, "option": ""}))
    found.append(theme_of({"NO_COLOR": ""}, remembered="d", configured="e"))
    found.append(theme_of({}, configured="e"))
    found.append(theme_of({}, configured="auto"))
    assert [theme for theme, _ in found] == ["a", "b", "ansi", "d", "e", ""]


def test_the_later_of_choice_and_file_decides(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    remember("daylight", "midwatch")
    assert recall(THEMES, "midwatch") == ("daylight", "")
    assert recall(THEMES, "auto") == ("", "")  # the file was changed since
    assert recall(THEMES, "") == ("daylight", "")  # nothing else was asked for
    remember("daylight")
    assert recall(THEMES, "midwatch") == ("", "")


@pytest.mark.parametrize("broken", [False, True])
def test_the_command_prints_values_and_problems(tmp_path, monkeypatch, capsys, broken):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    for name in ("NO_COLOR", "FUZZTUI_THEME", "FUZZTUI_HZ"):
        monkeypatch.delenv(name, raising=False)
    (tmp_path / "fuzztui").mkdir()
    wrong = "app.quit = '?'\n" if broken else ""
    text = f"theme = 'daylight'\n[keys]\ncampaign.stop = '@'\n{wrong}"
    (tmp_path / "fuzztui" / "config.toml").write_text(text)
    options = parse(["config"])
    assert options.command(options) == (2 if broken else 0)
    out, err = capsys.readouterr()
    assert 'theme = "daylight"' in out
    assert 'keys.campaign.stop = ["@"]' in out
    assert ("config.toml:4: keys.app.quit" in err) == broken
    options = parse(["config", "--keys"])
    options.command(options)
    listed = {line[2:].split()[0]: line for line in capsys.readouterr().out.splitlines()}
    assert listed["campaign.stop"].startswith("* campaign.stop")
    assert " @ " in listed["campaign.stop"]
    assert " ? " in listed["app.help"]


@pytest.mark.parametrize("action", ACTIONS, ids=lambda a: a.id)
def test_the_registrys_keys_are_written_as_users_write_them(action):
    for key in action.keys:
        assert key_from_user(key_for_user(key)) == key


@pytest.mark.slow
async def test_the_users_keys_work_and_are_shown(drive, load):
    config, _ = load("[keys]\nview.corpus = 'W'\napp.help = ['f1', '!']\nentry.skip = []")
    async with drive(running(), config=config, press="2") as d:
        assert d.app.current_mode == "overview"
        await d.press("W")
        assert d.app.current_mode == "corpus"
        assert "f1 Help" in d.lines()[-1]
        assert "Skip" not in d.lines()[-1]
        await d.press("d")
        assert not d.commands
        await d.press("!")
        lines = ["".join(s.text for s in line) for line in d.app.screen.lines()]
        (help_line,) = [line for line in lines if "Show every key" in line]
        assert help_line.split()[:2] == ["f1", "!"]


def test_reasons_name_the_users_keys(load):
    config, _ = load("[keys]\nmixture.adaptive = 'F'\nmutant.requeue = []")
    text = "press {mixture.adaptive:A}, {mutant.requeue:r} or {app.quit:q}, not {this}"
    assert with_keys(text, ActionContext()) == "press A, r or q, not {this}"
    assert "press F, the key or q" in with_keys(text, ActionContext(keys=config.keys))


def test_reasons_name_the_registrys_keys():
    folder = Path(__file__).parents[2] / "fuzztui"
    named = [
        found
        for files in ("tui/frame/*.py", "tui/app/help.py", "features/*/screen/[ac]*.py")
        for file in folder.glob(files)
        for found in re.findall(r"(?<!`)\{([a-z_]+\.[a-z_.]+):([^{}]+)\}", file.read_text())
        if found[0].partition(".")[0] in {id.partition(".")[0] for id in BY_ID}
    ]
    assert len(named) > 10
    assert [(id, key) for id, key in named if key_name(BY_ID[id].keys[0]) != key] == []


@pytest.mark.slow
async def test_the_palette_shows_the_users_keys(drive, load):
    config, _ = load("[keys]\ncampaign.stop = 'f7'")
    async with drive(running(), config=config, press=["ctrl+p"]) as d:
        await d.pilot.press(*"Endthecampaign")
        await d.until_shows("f7")


@pytest.mark.slow
async def test_the_users_columns_are_shown_in_their_order(drive, load):
    config, _ = load("[columns]\ncorpus = ['size', 'entry']\nfindings = ['-t', '-by']")
    for size in ((120, 40), (40, 12)):
        async with drive(running(), config=config, size=size, press="2") as d:
            await d.until(lambda: d.table._layout.cells)
            assert [c.id for c, _ in d.table._layout.cells] == ["size", "entry"]
            await d.pilot.click(d.table, offset=(8, 0))  # the title of the second one
            assert d.table.rows.sort_column.id == "entry"
            await d.press("3")
            await d.until(lambda: d.table._layout.cells)
            assert {"t", "by"}.isdisjoint(c.id for c, _ in d.table._layout.cells)


@pytest.mark.slow
async def test_a_filter_searches_hidden_columns(drive, load):
    config, _ = load("[columns]\ncorpus = ['size']")
    async with drive(running(), config=config, press=["2", "slash", *"second/3"]) as d:
        await d.until(lambda: 0 < len(d.table.source) < 20)


async def test_problems_are_one_notification(drive):
    problems = ["config.toml:1: a[/b]: \x1b[31m", "config.toml:2: more"]
    async with drive(running(), problems=problems) as d:
        (notice,) = d.notices()
        assert "config.toml:1" in notice
        assert "\x1b" not in notice
        assert "config.toml:2" not in notice


@pytest.mark.parametrize(
    ("env", "few"),
    [
        ({"TERM": "xterm"}, True),
        ({"TERM": "linux"}, True),
        ({"TERM": "xterm-16color"}, True),
        ({"TERM": "xterm", "COLORTERM": "truecolor"}, False),
        ({"TERM": "xterm-256color"}, False),
        ({"TERM": "xterm-kitty"}, False),
    ],
)
def test_a_terminal_of_sixteen_colours_is_known(env, few):
    assert has_few_colours(env) is few
