"""``fuzztui`` without arguments: the home screen on a terminal, else the help."""

from pathlib import Path

import pytest

from fuzztui.cli import home as home_module
from fuzztui.cli import main, parser
from fuzztui.cli.home import sample_rows, start_detached
from fuzztui.cli.output import DONE, NOT_RUNNING, CliError
from fuzztui.cli.samples import SAMPLES
from fuzztui.run.home import listing
from fuzztui.tui.app.home import INIT, HomeView


class Chosen:
    """A home screen that ends with a choice."""

    def __init__(self, choice, ended=False):
        self.choice, self.choice_ended = choice, ended
        self.last_view = HomeView()


@pytest.fixture
def at_home(monkeypatch, tmp_path):
    """Let ``main([])`` meet home screens that end with these choices, then with none."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(listing, "supervised_runs", list)
    monkeypatch.setattr(parser, "_at_terminal", lambda: True)
    seen: list[object] = []

    def run(*choices):
        left = [*choices, Chosen(None)]

        def run_home(opening):
            seen.append(opening.view.at)
            return DONE, left.pop(0)

        monkeypatch.setattr(home_module, "run_home", run_home)
        return main([])

    run.seen = seen
    return run


def test_elsewhere_the_help_is_printed(cli, monkeypatch):
    monkeypatch.setattr(parser, "_at_terminal", lambda: False)
    assert "fuzztui COMMAND" in cli().out


def test_home_comes_back_after_a_run_with_the_cursor_on_it(at_home, monkeypatch):
    opened = []
    monkeypatch.setattr(home_module, "attach", lambda options: opened.append(options.run))
    monkeypatch.setattr(home_module, "replay", lambda options: opened.append(options.path))
    one, two = Path("/r/one"), Path("/r/two")
    assert at_home(Chosen(one), Chosen(two, ended=True)) == DONE
    assert opened == [one, two] and at_home.seen == [None, one, two]


def test_a_run_that_cannot_be_opened_is_told_and_home_comes_back(at_home, monkeypatch, capsys):
    def fail(options):
        raise CliError("r: the log is empty", NOT_RUNNING)

    monkeypatch.setattr(home_module, "attach", fail)
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert at_home(Chosen(Path("/r"))) == DONE
    assert "r: the log is empty" in capsys.readouterr().err and len(at_home.seen) == 2

    def leave(prompt):
        raise KeyboardInterrupt

    monkeypatch.setattr("builtins.input", leave)
    assert at_home(Chosen(Path("/r"))) == NOT_RUNNING


def test_a_new_campaign_starts_init(at_home, monkeypatch):
    started = []
    monkeypatch.setattr(home_module.subprocess, "run", lambda argv, **_: started.append(argv[-1]))
    monkeypatch.setattr("builtins.input", lambda prompt: "")
    assert at_home(Chosen(INIT)) == DONE
    assert started == ["init"]


@pytest.mark.slow
def test_why_a_campaign_was_not_started_is_returned(tmp_path):
    assert "missing.toml" in start_detached([str(tmp_path / "missing.toml")])
    broken = tmp_path / "campaign.toml"
    broken.write_text("[engine]\nkind = [\n")
    assert start_detached([str(broken)]).startswith(f"{broken}:")


@pytest.mark.slow
def test_each_sample_is_offered_and_says_what_is_missing(monkeypatch):
    monkeypatch.setattr(home_module.shutil, "which", lambda name: None)
    rows = {row.file: row for row in sample_rows()}
    assert rows.keys() == {path.name for path in SAMPLES.glob("*.toml")}
    assert rows["crashy-afl.toml"].needs == "needs AFL++" and not rows["tomllib-mu2.toml"].needs
    assert all(row.title for row in rows.values())
