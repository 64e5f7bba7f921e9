"""No text tells users to install fuzztui by its name from a package index.

The name is not registered there: whoever registers it first would run code on their machines.
docs/releasing.md says what changes once it is.
"""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACES = ("README.md", "SECURITY.md", "CONTRIBUTING.md", "docs", ".github", ".ci", "fuzztui/*")
NAMED = re.compile(
    r"\b(?:pip install|pipx install|pipx run|uvx|uv tool install|uv pip install)\s+"
    r"(?:-\S+\s+|[^\s'\"]*\.\S*\s+)*"  # options, and other requirements that are paths
    r"['\"]?fuzztui(?:\[[\w,]+\])?(?![\w./\[-]|\s*@)"
)
"""An installer, and the bare name as what it installs: no path, no address behind ``@``."""

BY_NAME = {
    "fuzztui/engines/fixtures/mocked.py",  # for the target's interpreter; changes with the engines
    "docs/releasing.md",  # says what will be possible
}


def texts():
    """Each file in which a user may find a command, by its path in the repository."""
    for place in PLACES:
        for found in ROOT.glob(place):
            files = found.rglob("*") if found.is_dir() else [found]
            for file in files:
                if file.suffix in (".md", ".py", ".toml", ".yml", ".1", "") and file.is_file():
                    yield file.relative_to(ROOT).as_posix(), file.read_text(errors="replace")


def test_nothing_is_installed_by_the_name_alone():
    named = {path for path, text in texts() if NAMED.search(text)}
    assert named - BY_NAME == set()


@pytest.mark.parametrize(
    ("text", "by_name"),
    [
        ("pip install fuzztui", True),
        ("python -m pip install -e . fuzztui\n", True),
        ("run `pip install 'fuzztui[first]'`", True),
        ("uvx fuzztui doctor", True),
        ("pip install -e '.[first]'", False),
        ("pip install 'fuzztui[first] @ git+https://host/owner/fuzztui@0123'", False),
        ("pip install /path/to/fuzztui", False),
        ("pipx install dist/fuzztui-0.2.0-py3-none-any.whl", False),
    ],
)
def test_what_counts_as_the_name_alone(text, by_name):
    assert bool(NAMED.search(text)) == by_name
