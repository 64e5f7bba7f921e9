"""``fuzztui init``: what it writes, and what it never overwrites."""

import contextlib
import importlib.util
import io
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import tomli
from on_terminal import OnTerminal

from fuzztui.cli import init_drafts, init_files, main
from fuzztui.cli.asking import Asking
from fuzztui.cli.output import DONE, USAGE
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.tools.scaffold.files import HARNESS, SEEDS, CampaignDraft

PARSER = '''
class FormatError(Exception): ...

class DigitError(FormatError): ...

def parse(text):
    """Numbers in brackets."""
    if not text.startswith("[") or not text.endswith("]"):
        raise FormatError("brackets")
    if not all(part.strip().isdigit() for part in text[1:-1].split(",")):
        raise DigitError("digits")
    return text

def picky(text: str):
    """Nothing but words that are hard to guess."""
    if not text or text.replace("opening", "").replace("closing", ""):
        raise FormatError("words")
    return len(text)
'''
TARGET = {"function": "m:f"}
MADE = {HARNESS: "x = 1\n"}
TESTS = "from brackets import parse\n\ndef test():\n    assert parse('[1, 2]')\n    parse('[3]')\n"


@pytest.fixture
def project(tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "brackets-1.0"
    (folder / "tests").mkdir(parents=True)
    (folder / "brackets.py").write_text(PARSER)
    (folder / "tests" / "test_brackets.py").write_text(TESTS)
    monkeypatch.chdir(folder)
    monkeypatch.setattr("os.environ", {k: v for k, v in os.environ.items() if k != "VIRTUAL_ENV"})
    return folder


def drafted(cli, *argv: str) -> dict[str, object]:
    """The table of the target in a campaign that is only printed."""
    return tomli.loads(cli("init", "--print", *argv).out)["target"]


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_without_a_terminal_it_asks_for_an_option(project, cli, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    before = files(project)
    err = cli("init", code=USAGE).err
    assert "--yes" in err
    assert "--function" in err
    assert files(project) == before


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (["nowhere", "--yes"], "nowhere"),
        (["--yes", "-o", "../other.toml"], "../other.toml"),
        (["--yes", "-o", "pyproject.toml"], "pyproject.toml"),
        (["--yes", "-o", "campaign"], "campaign"),
        (["--function", "no reference"], "no reference"),
        (["--command", "'unclosed"], "unclosed"),
        (["--command", "./nowhere @@"], "./nowhere"),
        (["--yes", "--python", "/nowhere/python"], "/nowhere/python"),
    ],
)
def test_wrong_arguments_are_named(argv, named, project, cli):
    before = files(project)
    err = cli("init", *argv, code=USAGE).err
    assert named in err
    assert files(project) == before


def test_a_function_and_a_program_are_two_targets(project, cli):
    words = ["--yes", "--function", "brackets:parse", "--command", "./prog @@"]
    assert "--command" in cli("init", *words, code=USAGE).err


def test_a_directory_with_nothing_to_fuzz(tmp_path, cli):
    err = cli("init", str(tmp_path), "--yes", code=USAGE).err
    assert "--function" in err
    assert "--command" in err
    assert files(tmp_path) == set()


@pytest.mark.parametrize("interrupted", [KeyboardInterrupt, OSError])
def test_an_interrupt_leaves_nothing(interrupted, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise interrupted

    draft = CampaignDraft("n", "zest", TARGET, seeds=[b"a"], harnesses=MADE)
    file = tmp_path / "campaign.toml"
    for name in ("replace_bytes", "publish_text", "load"):
        with monkeypatch.context() as m:
            m.setattr(init_files, name, fail)
            with pytest.raises(interrupted):
                init_files.write_draft(draft, file)
        assert files(tmp_path) == set(), name


def test_a_failure_keeps_files_that_existed(tmp_path, monkeypatch):
    (tmp_path / HARNESS).write_text("mine")
    draft = CampaignDraft("n", "zest", TARGET, seeds=[b"a"], harnesses=MADE)
    monkeypatch.setattr(init_files, "load", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        init_files.write_draft(draft, tmp_path / "campaign.toml")
    assert files(tmp_path) == {HARNESS}


@pytest.mark.slow
def test_it_writes_a_campaign_that_is_valid(project, cli):
    assert cli("init", "--yes").err.count("start it") == 1
    data = tomli.loads((project / "campaign.toml").read_text())
    assert data["target"]["function"] == "brackets:parse"
    assert data["target"]["expected"] == ["brackets.FormatError"]  # not its subclass
    assert data["campaign"]["name"] == "brackets"
    seeds = {path.read_bytes() for path in (project / SEEDS).iterdir()}
    assert {b"[1, 2]", b"[3]"} <= seeds
    assert b"{}" not in seeds  # it is rejected
    cli("check", "campaign.toml")
    # A second time nothing is overwritten, unless that is asked for.
    (project / "campaign.toml").write_text("mine")
    assert "campaign.toml" in cli("init", "--yes", code=USAGE).err
    assert (project / "campaign.toml").read_text() == "mine"
    cli("init", "--yes", "-o", "other.toml", "--force")
    assert (project / "campaign.toml").read_text() == "mine"
    cli("init", "--yes", "--force")
    assert tomli.loads((project / "campaign.toml").read_text()) == data


@pytest.mark.slow
def test_a_generator_is_proposed_where_texts_are_mostly_invalid(project, cli):
    assert drafted(cli, "--function", "brackets:picky")["generator"] == f"{HARNESS}:generate"
    assert files(project) & {"campaign.toml", HARNESS} == set()
    cli("init", "--yes", "--function", "brackets:picky")
    assert {"'opening',", "'closing',"} <= set((project / HARNESS).read_text().split())
    cli("check", "campaign.toml")


SHAPES = """
class ShapeError(Exception): ...

def parse_pair(text: str, base: int):
    if not (text.startswith("(") and text.endswith(")")):
        raise ShapeError("parentheses")
    return [int(part, max(2, min(base, 36))) for part in text[1:-1].split(",")]

def load(fp):
    line = fp.readline()
    if b"=" not in line:
        raise ShapeError("no equals sign")
    return line.split(b"=")

class Parser:
    def parse(self, text: str):
        if ":" not in text:
            raise ShapeError("no colon")
        return text.split(":")
"""
SHAPE_TESTS = """
import pytest
from shapes import Parser, load, parse_pair

@pytest.mark.parametrize("text", ["(12, 3)", "(1)", "(11,0)", "(10, 1, 1)"])
def test_pair(text):
    parse_pair(text, 10)

def test_parser():
    assert Parser().parse("a:b")
    load(open_bytes(b"key=value"))
"""


@pytest.fixture
def shapes(project) -> Path:
    (project / "brackets.py").unlink()
    (project / "tests" / "test_brackets.py").write_text(SHAPE_TESTS)
    (project / "shapes.py").write_text(SHAPES)
    return project


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "harness", "kind"),
    [
        ("parse_pair", "fuzz_parse_pair.py", None),
        ("load", "fuzz_load.py", "bytes"),
        ("Parser.parse", "fuzz_parser_parse.py", "text"),
    ],
)
def test_a_harness_makes_the_call(name, harness, kind, shapes, cli):
    cli("init", "--yes", "--function", f"shapes:{name}")
    target = tomli.loads((shapes / "campaign.toml").read_text())["target"]
    assert target["function"] == f"{harness}:target"
    assert target["include"] == ["shapes"]
    assert target.get("input") == kind
    assert target.get("generator") == (f"{harness}:generate" if kind is None else None)
    assert "shapes.ShapeError" in target["expected"]
    cli("check", "campaign.toml")
    assert main(["campaign.toml", "--headless", "--set", "campaign.budget=200"]) in (DONE, 10)
    if kind is None:  # the texts that were accepted with drawn arguments
        examples = (shapes / harness).read_text().partition("TOKENS")[0]
        assert "'(11,0)'" in examples
        assert "'{}'" not in examples
    # The harness is no target of the next fuzztui init, and is not lost by it.
    (shapes / harness).write_text("mine = 1\n")
    again = cli("init", "--yes", "--function", f"shapes:{name}", "-o", "other.toml", code=USAGE)
    assert (shapes / harness).read_text() == "mine = 1\n"
    assert harness in again.err


YIELDS = """
class WordError(Exception): ...

def words(text):
    for word in text.split(","):
        if not word:
            raise WordError
        yield word

def parse(text: str): return map(len, words(text))

def parse_part(text: str, count: int):
    for n, word in enumerate(words(text)):
        if n < count:
            yield word
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["parse", "parse_part"])
def test_an_iterator_is_read_to_its_end(name, project, cli):
    (project / "yields.py").write_text(YIELDS)
    cli("init", "--yes", "--function", f"yields:{name}")
    target = tomli.loads((project / "campaign.toml").read_text())["target"]
    assert target["function"] == f"fuzz_{name}.py:target"
    assert target["expected"] == ["yields.WordError"]  # raised when the result is read


@pytest.mark.slow
def test_without_questions_a_target_that_accepts_nothing_gives_way(shapes, cli):
    code = "class Base:\n    def parse(self, data: bytes): raise NotImplementedError\n"
    (shapes / "aaa.py").write_text(code)
    out, err = cli("init", "--print", "--yes")
    assert "aaa:Base.parse" in err
    assert "--function" in err.rpartition("aaa:Base.parse")[2]  # what to do for that one
    assert tomli.loads(out)["target"]["function"] == "fuzz_parser_parse.py:target"


@pytest.mark.slow
def test_a_thread_of_the_target_does_not_delay_the_trial(project, cli):
    thread = "import threading, time\nthreading.Thread(target=time.sleep, args=(50,)).start()\n"
    (project / "brackets.py").write_text(thread + PARSER + "\nprint('imported')\n")
    # Known only from a trial that has ended.
    assert drafted(cli, "--function", "brackets:parse")["expected"] == ["brackets.FormatError"]


def test_plain_tests_are_counted_where_nothing_can_be_fuzzed(tmp_path, cli):
    (tmp_path / "test_it.py").write_text("def test_a(): ...\ndef test_b(): ...\n")
    err = cli("init", str(tmp_path), "--yes", code=USAGE).err
    assert "2 tests" in err
    assert "@given" in err.partition("2 tests")[2]


def test_a_directory_that_cannot_be_written_to(project, cli, monkeypatch):
    monkeypatch.setattr("os.access", lambda *args: False)  # root may write everywhere
    err = cli("init", "--yes", code=USAGE).err
    assert str(project) in err
    assert "--print" in err


def test_seeds_of_an_earlier_init_do_not_stay(tmp_path, monkeypatch):
    monkeypatch.setattr(init_files, "load", lambda *args: None)
    draft = CampaignDraft("n", "zest", TARGET, seeds=[b"a", b"b", b"c"])
    init_files.write_draft(draft, tmp_path / "campaign.toml")
    for mine in ("mine.txt", "2024"):
        (tmp_path / SEEDS / mine).write_text("kept")
    fewer = CampaignDraft("n", "zest", TARGET, seeds=[b"d"])
    init_files.write_draft(fewer, tmp_path / "campaign.toml")
    assert files(tmp_path / SEEDS) == {"00", "mine.txt", "2024"}


@pytest.mark.slow
def test_a_target_that_cannot_be_imported_is_not_written(project, cli):
    (project / "brackets.py").write_text("import nowhere_at_all\n\ndef parse(text): ...\n")
    before = files(project)
    err = cli("init", "--yes", code=USAGE).err
    assert "pip install nowhere_at_all" in err
    assert files(project) == before


@pytest.mark.slow
def test_the_project_itself_is_never_installed_from_the_package_index(project, cli):
    (project / "brackets.py").write_text("import brackets._compiled\n\ndef parse(text): ...\n")
    err = cli("init", "--yes", code=USAGE).err
    assert f"pip install -e {project}" in err
    assert "pip install brackets" not in err


@pytest.mark.slow
def test_without_questions_the_next_target_is_tried(project, cli):
    (project / "aaa.py").write_text("import nowhere_at_all\n\ndef parse(text: str): ...\n")
    out, err = cli("init", "--print")
    assert "nowhere_at_all" in err
    assert tomli.loads(out)["target"]["function"] == "brackets:parse"


@pytest.mark.slow
def test_a_file_is_named_by_its_module_or_with_what_it_imports(project, cli):
    (project / "fuzz").mkdir()
    (project / "fuzz" / "target.py").write_text(
        "from brackets import parse\n\n"
        "def try_it(data: bytes):\n    parse(data.decode('latin-1'))\n"
    )
    target = drafted(cli, "--function", "fuzz/target.py:try_it")
    assert target["function"] == "fuzz/target.py:try_it"
    assert target["include"] == ["brackets"]
    assert (target["input"], target["expected"]) == ("bytes", ["brackets.FormatError"])
    assert drafted(cli, "--function", "brackets.py:parse")["function"] == "brackets:parse"


@pytest.mark.slow
def test_a_hypothesis_test_is_taken_as_it_is(project, cli):
    (project / "tests" / "test_given.py").write_text(
        "from hypothesis import given, strategies as st\nimport brackets\n\n"
        "@given(st.text())\ndef test_it(text):\n    len(text)\n"
    )
    target = drafted(cli, "--function", "tests/test_given.py:test_it")
    assert target["function"] == "tests/test_given.py:test_it"
    assert target["include"] == ["brackets"]
    assert "input" not in target


def test_several_hypothesis_tests_are_one_target(project, cli):
    tests = (
        "from hypothesis import given, strategies as st\nfrom brackets import parse\n\n"
        "@given(st.text())\ndef test_one(text):\n    len(text)\n\n"
        "@given(st.text())\ndef test_two(text):\n    len(text)\n"
    )
    (project / "tests" / "test_given.py").write_text(tests)
    target = drafted(cli, "--yes")
    assert target["function"] == ["tests/"]
    assert target["include"] == ["brackets"]
    assert target["examples"] == ".hypothesis/examples"


@pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl-fuzz is not installed")
def test_a_command_that_a_build_makes(tmp_path, monkeypatch, cli):
    (tmp_path / "tool.c").write_text("int main(void) { return 0; }\n")
    (tmp_path / "Makefile").write_text("everything:\n\t$(CC) -o $(NAME) tool.c\n")
    monkeypatch.chdir(tmp_path)
    target = drafted(cli, "--yes", "--command", "./tool @@")
    assert "make" in target["build"]
    assert target["command"] == ["./tool", "@@"]
    assert target.get("coverage", False) == bool(shutil.which("gcov"))


def test_what_a_user_has_installed_elsewhere_is_not_the_project(project, capsys, monkeypatch):
    """Neither in the environment that is active, nor in that of a project in C."""
    packages = project / "site"
    (packages / "tool").mkdir(parents=True)
    (packages / "tool" / "__init__.py").write_text("def parse(text): ...\n")
    info = packages / "tool-1.0.dist-info"
    info.mkdir()
    (info / "REQUESTED").touch()
    (info / "RECORD").write_text("tool/__init__.py,,\n")
    python = project / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    (project / "env" / "pyvenv.cfg").touch()
    python.write_text(f"#!/bin/sh\necho '[[3, 12, 1], \"{packages}\"]'\n")
    python.chmod(0o755)
    for name, in_c, active in (("own", False, ""), ("c", True, ""), ("active", False, "1")):
        folder = project / name
        folder.mkdir()
        if active:
            monkeypatch.setenv("VIRTUAL_ENV", str(project / "env"))
        else:
            (folder / ".venv").symlink_to(project / "env")
        if in_c:
            (folder / "tool.c").write_text("int main(void) { return 0; }\n")
            (folder / "Makefile").write_text("tool: tool.c\n\t$(CC) -o $@ $<\n")
        main(["init", "--print", "--yes", str(folder)])
        out, err = capsys.readouterr()
        assert ("modules: tool" in err) == (name == "own"), err
        assert ("make" in out) == in_c


@pytest.mark.parametrize(("rate", "starves"), [(100.0, True), (1e4, False), (0.0, False)])
def test_the_first_run_is_for_coverage_where_mutants_would_starve_it(
    rate, starves, tmp_path, monkeypatch
):
    monkeypatch.setattr(init_drafts, "mutants_of", lambda draft, file: 2021)
    heard = io.StringIO()
    draft = CampaignDraft("n", "zest", TARGET)
    asking = Asking(True, heard)
    drafted = init_drafts._with_mutants(draft, tmp_path / "c.toml", rate, asking)
    assert ("2,021" in heard.getvalue()) is starves
    assert ("2,021" in drafted.text()) is (rate > 0)
    assert tomli.loads(drafted.text())["engine"]["kind"] == "zest"
    other = CampaignDraft("n", "text", TARGET)
    assert init_drafts._with_mutants(other, tmp_path / "c.toml", rate, asking) is other


@pytest.mark.slow
def test_a_compiled_function_is_fuzzed_only_if_nothing_else_can_be(project, cli):
    module = importlib.util.find_spec("_json").origin
    if module is None or not module.endswith(".so"):
        pytest.skip("this Python has no _json in a file")
    (project / "tests" / "test_brackets.py").unlink()
    (project / "brackets.py").unlink()
    folder = project / "pkg"
    folder.mkdir()
    shutil.copy(module, folder / "_json.so")
    (folder / "__init__.py").write_text("from ._json import encode_basestring as loads\n")
    out, err = cli("init", "--print", "--yes")
    assert tomli.loads(out)["target"]["function"] == "pkg:loads"
    assert 'if [target] has: extensions = ["pkg._json"]' in err
    assert 'set target.extensions = ["pkg._json"]' in err.partition("coverage guides nothing")[2]
    (folder / "text.py").write_text("def scan(text: str): return text.strip()\n")
    assert drafted(cli, "--yes")["function"] == "pkg.text:scan"


class Dialogue(OnTerminal):
    """``fuzztui init`` in a directory."""

    def __init__(self, folder: Path) -> None:
        super().__init__([sys.executable, "-P", "-m", "fuzztui", "init"], cwd=folder)

    def interrupt(self) -> None:
        """Send SIGINT, again if it came between the prompt and the read, where input() loses it."""
        for _ in range(5):
            self.process.send_signal(signal.SIGINT)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(10)
                return


@pytest.mark.slow
def test_the_dialogue(project):
    terminal = Dialogue(project)
    terminal.until("]: ")
    terminal.send("99\n")  # no such number
    terminal.until("]: ")
    terminal.send("yes\n")  # a program, but none of the project
    terminal.until("]: ")
    terminal.send("brackets:nowhere\n")  # no such function: asked again
    terminal.until("nowhere")
    terminal.until("]: ")
    terminal.send("1\n")
    terminal.until("[Y/n]: ")
    assert "campaign.toml" not in files(project)
    terminal.send("\n")
    terminal.until("[Y/n]: ")
    assert "campaign.toml" in files(project)
    terminal.send("n\n")
    assert terminal.process.wait(60) == DONE


@pytest.mark.slow
@pytest.mark.parametrize("key", ["\x03", "\x04"])
@pytest.mark.parametrize("answers", [[], ["brackets:picky\n"], ["brackets:picky\n", "\n"]], ids=len)
def test_ctrl_c_and_ctrl_d_write_nothing(answers, key, project):
    """At the target, at the generator, before the files are written."""
    terminal = Dialogue(project)
    terminal.until("]: ")
    for answer in answers:
        terminal.send(answer)
        terminal.until("]: ")
    if key == "\x03":  # the terminal is not the process's controlling one
        terminal.interrupt()
    else:
        terminal.send(key)
    assert terminal.process.wait(60) == (130 if key == "\x03" else USAGE)
    assert files(project) & {"campaign.toml", SEEDS, HARNESS} == set()


def test_a_check_leaves_no_files_behind(tmp_path, monkeypatch):
    """The draft is checked in a temporary directory."""
    made = []

    def noted(*args, **kwargs):
        made.append(1)
        return temporary_directory(*args, **kwargs)

    monkeypatch.setattr(init_files, "temporary_directory", noted)
    (tmp_path / "m.py").write_text("def f(data: bytes): ...\n")
    monkeypatch.setattr(init_files, "ready", lambda *args: None)
    generator = {HARNESS: "def generate(s): ..."}
    draft = CampaignDraft("n", "zest", TARGET, seeds=[b"a"], harnesses=generator)
    init_files.checked(draft, tmp_path / "campaign.toml")
    assert made
    assert files(tmp_path) == {"m.py"}
