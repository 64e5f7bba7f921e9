"""Commands of ``fuzztui`` that a feature of a package adds."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from fuzztui.cli import main
from fuzztui.cli.output import DONE, FAILED, CliError
from fuzztui.kernel.model import feature as features
from fuzztui.kernel.model.feature import Feature


@pytest.fixture
def word(monkeypatch):
    """Makes the only feature of a package, whose word ``tide`` does what a function says."""
    functions = ModuleType("words_of_a_package")
    monkeypatch.setitem(sys.modules, functions.__name__, functions)

    def make(add):
        functions.add = add
        made = Feature("tide", words={"tide": f"{functions.__name__}:add", "status": "no:such"})
        monkeypatch.setattr(features, "package_features", lambda: (made,))

    return make


def test_its_arguments_are_parsed_and_it_is_carried_out(word, capsys):
    def add(parser):
        parser.add_argument("height", type=int)
        return lambda options: print(options.height * 2) or DONE

    word(add)
    assert main(["tide", "21"]) == DONE
    assert capsys.readouterr().out == "42\n"
    with pytest.raises(SystemExit) as ended:
        main(["tide", "high"])
    assert ended.value.code == 2
    assert "fuzztui tide" in capsys.readouterr().err


def raising(error):
    def run(_options):
        raise error

    return run


@pytest.mark.parametrize(
    ("add", "text"),
    [
        (lambda _: raising(KeyError("moon")), "feature tide: words_of_a_package:add: KeyError"),
        (lambda _: None, "feature tide: words_of_a_package:add: TypeError"),
        (lambda _: 1 / 0, "feature tide: words_of_a_package:add: ZeroDivisionError"),
        (lambda _: raising(CliError("no water", FAILED)), "no water"),
    ],
)
def test_what_fails_is_one_line_that_names_the_feature(word, capsys, add, text):
    word(add)
    assert main(["tide"]) == FAILED
    said = capsys.readouterr().err
    assert text in said
    assert "Traceback" not in said


def test_a_word_of_fuzztui_stays_its_own(word, capsys):
    word(lambda _: None)
    with pytest.raises(SystemExit) as ended:
        main(["status", "--help"])
    assert ended.value.code == 0
