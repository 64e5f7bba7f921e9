"""The sample campaigns inside the package, and their former names."""

from __future__ import annotations

import argparse
import re
import shlex
import shutil
import sys
import textwrap
from itertools import takewhile, zip_longest
from pathlib import Path

from fuzztui.cli.output import DONE, CliError, UsageError, at_terminal, say
from fuzztui.kernel.base.suggest import meant, near
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.files import SAMPLES, nearest_file

_RENAMED = {
    "first_json.toml": "json-fuzzfirst.toml",
    "first_nested.toml": "nested-fuzzfirst.toml",
    "first_python.toml": "slips-fuzzfirst.toml",
    "oracle_calc.toml": "calc-oracle.toml",
    "text_lua.toml": "lua-text.toml",
    "text_mujs.toml": "mujs-text.toml",
    "text_python.toml": "pycparser-text.toml",
    "text_tcc.toml": "tcc-text.toml",
}
"""The present name of each renamed sample, by its former name."""

_MAX_OFFERED = 3
"""Maximum number of names that are suggested for a wrong name."""

_ALIKE = 0.75
"""Minimum similarity, from 0 to 1, of a word in a wrong name to a word in a file's name."""

_MIN_WIDTH = 30
"""Minimum number of columns of a sample's description; a narrower terminal breaks the lines."""

_HEAD_BYTES = 1 << 16
"""Bytes of a TOML file that are searched for ``[engine]``, which marks a campaign file."""


_INSTALL = re.compile(r"(?m)(?<=^#).*?\b(pip install(?: '?[\w.,\[\]-]+'?)+)$")


def named(file: Path) -> tuple[Path, list[str]]:
    """Return the campaign file for the argument ``file``, and overrides.

    If no such file exists, a sample of that name is returned. For a sample's former name, the
    override keeps the campaign name of earlier runs, so that these are found and resumed.
    """
    if file.exists():
        return file, []
    if today := _RENAMED.get(file.name):
        say(f"{file.name} is now called {today}")
        beside = file.with_name(today)
        found = beside if beside.is_file() else SAMPLES / today
        return found, [f"campaign.name={file.stem.replace('_', '-')}"]
    if (SAMPLES / file.name).is_file():
        say(f"{file} does not exist: using the sample campaign that comes with fuzztui")
        return SAMPLES / file.name, []
    return file, []


def campaign_or_project(file: Path | None) -> Path:
    """Return the campaign file for an optional argument; without it, the nearest one.

    That is ``campaign.toml`` or ``pyproject.toml``. Raises :class:`CliError` if there is none in
    the current directory or above it.
    """
    if file is not None:
        return file
    if (found := nearest_file(Path.cwd())) is None:
        raise UsageError(
            "name a campaign file, or write one with fuzztui init: there is neither campaign.toml "
            f"nor pyproject.toml in {Path.cwd()} or above it"
        )
    say(f"using {found}")
    return found


def campaign_files_like(name: str) -> list[str]:
    """Return campaign files and samples with names similar to ``name``, for suggestions.

    All words of ``name`` must be similar to words of the file's name (``tomlib``:
    ``tomllib-mu2.toml``).
    """
    stem = Path(name).name.removesuffix(".toml")
    if today := _RENAMED.get(f"{stem}.toml"):
        return [today]
    files = [*_campaigns_in(Path.cwd()), *sorted(path.name for path in SAMPLES.glob("*.toml"))]
    words_of = {file: set(_words(file)) for file in files}
    known = sorted(set().union(*words_of.values()))
    wanted = {found for word in _words(stem) for found in near(word, known, least=_ALIKE)}
    alike = [file for file, words in words_of.items() if wanted and wanted <= words]
    return alike[:_MAX_OFFERED]


def _words(file: str) -> list[str]:
    return re.split("[-_]", file.removesuffix(".toml").casefold())


def missing(file: Path) -> CliError:
    """Return the error for a campaign file that does not exist."""
    offer = meant(campaign_files_like(file.name))
    return UsageError(f"{file}: there is no such file{offer} ('fuzztui samples' lists the samples)")


def installation(campaign: Campaign) -> str:
    """Return the command that installs a sample's packages for the target's interpreter.

    The command is taken from the comments of the file; an empty string if there is none.
    """
    try:
        found = _INSTALL.search(campaign.file.read_text(errors="replace"))
    except OSError:
        return ""
    python = shlex.quote(str(campaign.target.get("python") or sys.executable))
    return f"{python} -m {found[1]}" if found else ""


def _campaigns_in(directory: Path) -> list[str]:
    """Return the names of the TOML files in ``directory`` that have a table ``[engine]``."""
    return [path.name for path in sorted(directory.glob("*.toml")) if _is_campaign(path)]


def _is_campaign(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return b"[engine]" in file.read(_HEAD_BYTES)
    except OSError:
        return False


def about(sample: Path) -> str:
    """Return the first sentence of a sample's comment."""
    comment = takewhile(lambda line: line.startswith("# "), sample.read_text().splitlines())
    text = " ".join(line.removeprefix("# ").strip() for line in comment)
    return re.split(r"(?<=[.!?]) ", text, maxsplit=1)[0]


def samples(options: argparse.Namespace) -> int:
    """List the sample campaigns that come with fuzztui."""
    paths = sorted(SAMPLES.glob("*.toml"))
    indent = max((len(path.name) for path in paths), default=0) + 2
    width = shutil.get_terminal_size().columns if at_terminal() else sys.maxsize
    for path in paths:
        room = max(_MIN_WIDTH, width - indent)
        lines = textwrap.wrap(about(path), room, break_on_hyphens=False, break_long_words=False)
        for name, line in zip_longest([path.name], lines, fillvalue=""):
            print(f"{name:<{indent}}{line}".rstrip(), flush=True)
    say("run one: fuzztui NAME.toml")
    return DONE
