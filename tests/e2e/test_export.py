"""``fuzztui export RUN --pytest FILE`` after a real campaign."""

import re
import subprocess
import sys

import pytest
from homes import GENERATED
from waiting import DEADLINE_S

pytestmark = pytest.mark.slow

PROGRAM = """\
import datetime


class Node:
    def __init__(self, kind, items):
        self.kind, self.items = kind, items


def words(text):
    found, at = [], 0
    while at < len(text):
        end = at
        while end < len(text) and text[end] != " ":
            end += 1
        found.append(text[at:end])
        at = end + 1
    return found


def parse(data: bytes):
    text = data.decode("latin-1")
    if text[:1] == "!":
        raise KeyError("a bug")
    if text[:1] == "%":
        return datetime.date.today().year, text
    if len(text) > 6:
        raise ValueError(f"{len(text)} characters")
    if text[:1] == "n":
        return Node("n", words(text))
    return [words(text), len(text) * 2]
"""


@pytest.fixture
def run(home):
    """A finished run of the program above, with a finding."""
    home.fuzzes(PROGRAM, "mu2", b"!", b"%", b"n a b", b"too long for it", b"a b")
    home.headless("500 trials", code=10)
    return home


def run_pytest(home, file, **changes):
    argv = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-o", "addopts="]
    argv += ["-c", "/dev/null", "--rootdir", str(home.path), str(file)]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=DEADLINE_S, check=False)
    return done.returncode, done.stdout


def test_the_file_passes_kills_what_it_says_and_sees_a_change(run):
    file = run.path / "tests" / "test_fuzz_prog.py"
    out = run("export", str(run.run), "--pytest", str(file))
    killed, of = re.search(r"(\d+) of (\d+) confirmed", out).groups()
    assert killed == of
    assert int(of) > 10
    code, said = run_pytest(run, file)
    assert code == 0, said
    assert "1 xfailed" in said
    text = file.read_text()
    assert "import prog" in text or "from prog import" in text
    assert "NOT CHECKED" not in text
    assert not re.search(r'parse\(b"%', text)  # a test of this would fail next year
    assert "fuzztui" not in re.sub(r'^(#.*|""".*?""")$', "", text, flags=re.M | re.S)

    (run.path / "prog.py").write_text(PROGRAM.replace('Node("n"', 'Node("m"'))
    assert run_pytest(run, file)[0] == 1
    (run.path / "prog.py").write_text(PROGRAM.replace('raise KeyError("a bug")', "return 1"))
    code, said = run_pytest(run, file)
    assert code == 1
    assert "XPASS(strict)" in said

    (run.path / "prog.py").write_text(PROGRAM)
    few = run("export", str(run.run), "--pytest", str(file), "--tests", "1", "--no-findings")
    assert int(re.search(r"(\d+) of", few)[1]) < int(of)
    assert "1 passed" in run_pytest(run, file)[1]


def test_a_file_whose_tests_were_not_run_says_so(run):
    folder = run.path / "tests"
    folder.mkdir(exist_ok=True)
    (folder / "conftest.py").write_text("raise RuntimeError\n")
    run("export", str(run.run), "--pytest", str(folder / "test_unchecked.py"), code=1)
    assert "NOT CHECKED" in (folder / "test_unchecked.py").read_text()


def test_a_file_of_the_user_is_not_replaced(run):
    file = run.path / "test_mine.py"
    file.write_text("def test_mine(): pass\n")
    run("export", str(run.run), "--pytest", str(file), code=2)
    assert file.read_text() == "def test_mine(): pass\n"
    run("export", str(run.run), "--pytest", str(run.path / "no-module.txt"), code=2)
    (run.run / "campaign.toml").write_text(
        (run.run / "campaign.toml").read_text().replace('"prog:parse"', '"prog:gone"')
    )
    run("export", str(run.run), "--pytest", str(run.path / "test_new.py"), code=1)
    assert "prog:gone" in run.stderr
    assert not (run.path / "test_new.py").exists()


def test_what_varies_is_not_asserted(run):
    varying = PROGRAM.replace('f"{len(text)} characters"', "repr({'a', 'b', 'c', 'd', 'e'})")
    (run.path / "prog.py").write_text(varying)
    file = run.path / "test_fuzz_prog.py"
    run("export", str(run.run), "--pytest", str(file))
    assert "varies" in run.stderr
    assert run_pytest(run, file)[0] == 0


@pytest.mark.parametrize("odd", [False, True])
def test_inputs_of_a_generator(home, odd):
    """As a literal, or, if there is none, from its choices."""
    made = "[r.below(9), r.below(9)]"
    wrapped = f"Box({made})" if odd else made
    (home.path / "gen.py").write_text(
        "class Box:\n    def __init__(self, items):\n        self.items = items\n"
        "    def __iter__(self):\n        return iter(self.items)\n"
        f"def make(r):\n    return {wrapped}\n"
    )
    (home.path / "app.py").write_text(
        "def check(items):\n    total = 0\n    for item in items:\n"
        "        total += item * 3\n    return total > 11\n"
    )
    home.file.write_text(GENERATED.format(kind="mu2"))
    home.headless("300 trials")
    file = home.path / "tests" / "test_fuzz_app.py"
    out = home("export", str(home.run), "--pytest", str(file))
    killed, of = re.search(r"(\d+) of (\d+) confirmed", out).groups()
    assert killed == of != "0"
    assert ("made(make, " in file.read_text()) == odd
    assert run_pytest(home, file)[0] == 0
