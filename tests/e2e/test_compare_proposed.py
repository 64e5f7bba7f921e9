"""Values that cannot be compared as a whole: what is proposed works when it is pasted."""

import json
import re

import pytest
from homes import Home, of_trials

pytestmark = pytest.mark.slow

LIB = """\
import threading

class Doc:
    def __init__(self, text):
        self._lock = threading.Lock()  # nothing shows it
        self.words = text.split(",")

def parse(text: str):
    return Doc(text)

def dumps(doc):
    return ",".join(doc.words)
"""
PROPOSED = re.compile(r'compare = "(lib:dumps)"')


@pytest.fixture
def lib(tmp_path) -> Home:
    home = Home(tmp_path)
    (tmp_path / "lib.py").write_text(LIB)
    return home


def campaign(lib: Home, kind: str, output: str, compare: str = "") -> None:
    target = f'path = ["."]\n{compare}'
    lib.file.write_text(of_trials("lib:parse", kind, 400, target=target, output=output))


@pytest.mark.parametrize("kind", ["zest", "mu2"])
def test_what_is_proposed_compares_the_whole_value(lib: Home, kind: str) -> None:
    campaign(lib, kind, "run")
    lib("check", str(lib.file))
    shown = [lib.stderr]
    lib(str(lib.file), "--headless")
    file = lib.path / "test_lib.py"
    lib("export", "run", "--pytest", str(file), "--jobs", "1")
    shown.append(lib.stderr)
    assert "# not compared: " in file.read_text()
    assert all(map(PROPOSED.search, shown)), shown
    if kind == "mu2":
        assert json.loads(lib("status", "run", "--json"))["mutants"]["uncompared"]
        assert "compared " in lib("status", "run")

    campaign(lib, kind, "again", f'compare = "{PROPOSED.search(shown[0])[1]}"')
    lib("check", str(lib.file))
    assert not PROPOSED.search(lib.stderr)
    lib(str(lib.file), "--headless")
    lib("export", "again", "--pytest", str(file), "--jobs", "1")
    text = file.read_text()
    assert "not compared" not in text
    assert "same(dumps(parse(" in text
