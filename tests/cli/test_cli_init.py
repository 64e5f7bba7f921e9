"""``fuzztui init``: what it writes, and what it never overwrites."""

import io
import os
import pty
import select
import subprocess
import sys
import time
from pathlib import Path

import pytest
import tomli

from fuzztui.base.files import temporary_directory
from fuzztui.cli import init_files, main
from fuzztui.cli.output import DONE, USAGE
from fuzztui.scaffold.files import HARNESS, SEEDS, CampaignDraft

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


def run(capsys, *argv: str) -> tuple[int, str, str]:
    code = main(["init", *argv])
    out, err = capsys.readouterr()
    return code, out, err


def files(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


# ------------------------------------------------------------------- without a campaign


def test_without_a_terminal_it_asks_for_an_option(project, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", io.StringIO())
    before = files(project)
    code, _, err = run(capsys)
    assert code == USAGE
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
def test_wrong_arguments_are_named(argv, named, project, capsys):
    before = files(project)
    code, _, err = run(capsys, *argv)
    assert code == USAGE
    assert named in err
    assert files(project) == before


def test_a_function_and_a_program_are_two_targets(project, capsys):
    with pytest.raises(SystemExit) as ended:
        run(capsys, "--yes", "--function", "brackets:parse", "--command", "./prog @@")
    assert ended.value.code == USAGE
    assert "--command" in capsys.readouterr().err


def test_a_directory_with_nothing_to_fuzz(tmp_path, capsys):
    code, _, err = run(capsys, str(tmp_path), "--yes")
    assert code == USAGE
    assert "--function" in err
    assert "--command" in err
    assert files(tmp_path) == set()


@pytest.mark.parametrize("interrupted", [KeyboardInterrupt, OSError])
def test_an_interrupt_leaves_nothing(interrupted, tmp_path, monkeypatch):
    def fail(*args, **kwargs):
        raise interrupted

    draft = CampaignDraft("n", "zest", {"function": "m:f"}, seeds=[b"a"], harness="x = 1\n")
    file = tmp_path / "campaign.toml"
    for name in ("replace_bytes", "publish_text", "load"):
        with monkeypatch.context() as m:
            m.setattr(init_files, name, fail)
            with pytest.raises(interrupted):
                init_files.write_draft(draft, file)
        assert files(tmp_path) == set(), name


def test_a_failure_keeps_files_that_existed(tmp_path, monkeypatch):
    (tmp_path / HARNESS).write_text("mine")
    draft = CampaignDraft("n", "zest", {"function": "m:f"}, seeds=[b"a"], harness="x = 1\n")
    monkeypatch.setattr(init_files, "load", lambda *a, **k: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        init_files.write_draft(draft, tmp_path / "campaign.toml")
    assert files(tmp_path) == {HARNESS}


# ----------------------------------------------------------------------- with a trial


@pytest.mark.slow
def test_it_writes_a_campaign_that_is_valid(project, capsys):
    code, _, err = run(capsys, "--yes")
    assert (code, err.count("start it")) == (DONE, 1)
    data = tomli.loads((project / "campaign.toml").read_text())
    assert data["target"]["function"] == "brackets:parse"
    assert data["target"]["expected"] == ["brackets.FormatError"]  # not its subclass
    assert data["campaign"]["name"] == "brackets"
    seeds = {path.read_bytes() for path in (project / SEEDS).iterdir()}
    assert {b"[1, 2]", b"[3]"} <= seeds
    assert b"{}" not in seeds  # it is rejected
    assert main(["check", "campaign.toml"]) == DONE
    # A second time nothing is overwritten, unless that is asked for.
    (project / "campaign.toml").write_text("mine")
    code, _, err = run(capsys, "--yes")
    assert (code, (project / "campaign.toml").read_text()) == (USAGE, "mine")
    assert "campaign.toml" in err
    assert run(capsys, "--yes", "-o", "other.toml", "--force")[0] == DONE
    assert (project / "campaign.toml").read_text() == "mine"
    assert run(capsys, "--yes", "--force")[0] == DONE
    assert tomli.loads((project / "campaign.toml").read_text()) == data


@pytest.mark.slow
def test_a_generator_is_proposed_where_texts_are_mostly_invalid(project, capsys):
    code, out, _ = run(capsys, "--print", "--function", "brackets:picky")
    assert code == DONE
    assert tomli.loads(out)["target"]["generator"] == f"{HARNESS}:generate"
    assert files(project) & {"campaign.toml", HARNESS} == set()
    assert run(capsys, "--yes", "--function", "brackets:picky")[0] == DONE
    assert {"'opening',", "'closing',"} <= set((project / HARNESS).read_text().split())
    assert main(["check", "campaign.toml"]) == DONE


@pytest.mark.slow
def test_a_target_that_cannot_be_imported_is_not_written(project, capsys):
    (project / "brackets.py").write_text("import nowhere_at_all\n\ndef parse(text): ...\n")
    before = files(project)
    code, _, err = run(capsys, "--yes")
    assert code == USAGE
    assert "pip install nowhere_at_all" in err
    assert files(project) == before


@pytest.mark.slow
def test_without_questions_the_next_target_is_tried(project, capsys):
    (project / "aaa.py").write_text("import nowhere_at_all\n\ndef parse(text: str): ...\n")
    code, out, err = run(capsys, "--print")
    assert code == DONE
    assert "nowhere_at_all" in err
    assert tomli.loads(out)["target"]["function"] == "brackets:parse"


@pytest.mark.slow
def test_a_file_is_named_by_its_module_or_with_what_it_imports(project, capsys):
    (project / "fuzz").mkdir()
    (project / "fuzz" / "target.py").write_text(
        "from brackets import parse\n\n"
        "def try_it(data: bytes):\n    parse(data.decode('latin-1'))\n"
    )
    code, out, _ = run(capsys, "--print", "--function", "fuzz/target.py:try_it")
    target = tomli.loads(out)["target"]
    assert (code, target["function"]) == (DONE, "fuzz/target.py:try_it")
    assert target["include"] == ["brackets"]
    assert (target["input"], target["expected"]) == ("bytes", ["brackets.FormatError"])
    code, out, _ = run(capsys, "--print", "--function", "brackets.py:parse")
    assert (code, tomli.loads(out)["target"]["function"]) == (DONE, "brackets:parse")


@pytest.mark.slow
def test_a_hypothesis_test_is_taken_as_it_is(project, capsys):
    (project / "tests" / "test_given.py").write_text(
        "from hypothesis import given, strategies as st\nimport brackets\n\n"
        "@given(st.text())\ndef test_it(text):\n    len(text)\n"
    )
    code, out, _ = run(capsys, "--print", "--function", "tests/test_given.py:test_it")
    assert code == DONE
    target = tomli.loads(out)["target"]
    assert target["function"] == "tests/test_given.py:test_it"
    assert target["include"] == ["brackets"]
    assert "input" not in target


class Terminal:
    """A process on a terminal of its own."""

    def __init__(self, folder: Path, *argv: str) -> None:
        self.fd, inner = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "fuzztui", *argv],
            cwd=folder, stdin=inner, stdout=inner, stderr=inner, start_new_session=True,
        )  # fmt: skip
        os.close(inner)
        self.text = ""

    def expect(self, words: str, seconds: float = 120) -> None:
        end = time.monotonic() + seconds
        while words not in self.text:
            assert time.monotonic() < end, self.text
            if select.select([self.fd], [], [], 0.2)[0]:
                try:
                    self.text += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    assert words in self.text, self.text
        self.text = self.text.partition(words)[2]

    def send(self, text: str) -> None:
        os.write(self.fd, text.encode())


@pytest.mark.slow
def test_the_dialogue(project):
    terminal = Terminal(project, "init")
    terminal.expect("]: ")
    terminal.send("99\n")  # no such number
    terminal.expect("]: ")
    terminal.send("brackets:nowhere\n")  # no such function: asked again
    terminal.expect("nowhere")
    terminal.expect("]: ")
    terminal.send("1\n")
    terminal.expect("[Y/n]: ")
    assert "campaign.toml" not in files(project)
    terminal.send("\n")
    terminal.expect("[Y/n]: ")
    assert "campaign.toml" in files(project)
    terminal.send("n\n")
    assert terminal.process.wait(60) == DONE


@pytest.mark.slow
@pytest.mark.parametrize("key", ["\x03", "\x04"])
def test_ctrl_c_and_ctrl_d_write_nothing(key, project):
    terminal = Terminal(project, "init")
    for answers in range(2):
        terminal.expect("]: ")
        if answers == 0:
            terminal.send("\n")
    if key == "\x03":  # the terminal is not the process's controlling one
        terminal.process.send_signal(2)
    else:
        terminal.send(key)
    assert terminal.process.wait(60) == (130 if key == "\x03" else USAGE)
    assert files(project) & {"campaign.toml", SEEDS} == set()


def test_a_check_leaves_no_files_behind(tmp_path, monkeypatch):
    """The draft is checked in a temporary directory."""
    made = []

    def noted(*args, **kwargs):
        made.append(1)
        return temporary_directory(*args, **kwargs)

    monkeypatch.setattr(init_files, "temporary_directory", noted)
    (tmp_path / "m.py").write_text("def f(data: bytes): ...\n")
    monkeypatch.setattr(init_files, "ready", lambda *args: None)
    draft = CampaignDraft(
        "n", "zest", {"function": "m:f"}, seeds=[b"a"], harness="def generate(s): ..."
    )
    init_files.checked(draft, tmp_path / "campaign.toml")
    assert made
    assert files(tmp_path) == {"m.py"}
