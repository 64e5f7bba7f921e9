"""The sample campaigns inside the package, and the names that they had earlier."""

from __future__ import annotations

import argparse
import re
import shlex
import sys
from pathlib import Path

import fuzztui
from fuzztui.base.suggest import meant, near
from fuzztui.campaign import Campaign
from fuzztui.cli.output import DONE, USAGE, CliError, say

__all__ = ["SAMPLES", "campaign_files_like", "installation", "missing", "named", "samples"]

SAMPLES = Path(fuzztui.__file__).parent / "sample_campaigns"

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
"""Today's name of each sample that once had another one."""

_MAX_OFFERED = 3
"""Names that are offered at most where a name is wrong."""

_ALIKE = 0.75
"""How alike a word of a wrong name must be to one of a file's name, from 0 to 1."""

_HEAD_BYTES = 1 << 16
"""How much of a TOML file is searched for the table that makes it a campaign file."""


_INSTALL = re.compile(r"(?m)(?<=^#).*?\b(pip install '[\w.,\[\]-]+')")


def named(file: Path) -> tuple[Path, list[str]]:
    """The campaign file that a user means by ``file``, and the overrides that an old name implies.

    A sample is found by its name alone if no such file exists. Under its old name a sample keeps
    the name that its runs had, so that these runs are found and resumed.
    """
    if file.exists():
        return file, []
    if today := _RENAMED.get(file.name):
        say(f"{file.name} is called {today} now")
        beside = file.with_name(today)
        found = beside if beside.is_file() else SAMPLES / today
        return found, [f"campaign.name={file.stem.replace('_', '-')}"]
    if (SAMPLES / file.name).is_file():
        say(f"{file} is not here: using the sample campaign that comes with fuzztui")
        return SAMPLES / file.name, []
    return file, []


def campaign_files_like(name: str) -> list[str]:
    """Campaign files, here or samples, that a wrong ``name`` may mean, the most alike first.

    Those are the files whose names share words, or similar words, with ``name``
    (``tomlib``: ``tomllib-mu2.toml``).
    """
    stem = Path(name).name.removesuffix(".toml")
    if today := _RENAMED.get(f"{stem}.toml"):
        return [today]
    there = [*_campaigns_in(Path.cwd()), *sorted(path.name for path in SAMPLES.glob("*.toml"))]
    words_of = {file: set(_words(file)) for file in there}
    known = sorted(set().union(*words_of.values()))
    wanted = {found for word in _words(stem) for found in near(word, known, least=_ALIKE)}
    alike = [file for file, words in words_of.items() if wanted and wanted <= words]
    return alike[:_MAX_OFFERED]


def _words(file: str) -> list[str]:
    return re.split("[-_]", file.removesuffix(".toml").casefold())


def missing(file: Path) -> CliError:
    """The error for a campaign file that does not exist."""
    offer = meant(campaign_files_like(file.name))
    return CliError(
        f"{file}: there is no such file{offer} ('fuzztui samples' lists the samples)", USAGE
    )


def installation(campaign: Campaign) -> str:
    """The command by which the packages of a sample are installed, as its comments give it.

    For the interpreter of the target; "" if the file gives none.
    """
    try:
        found = _INSTALL.search(campaign.file.read_text(errors="replace"))
    except OSError:
        return ""
    python = shlex.quote(str(campaign.target.get("python") or sys.executable))
    return f"{python} -m {found[1]}" if found else ""


def _campaigns_in(directory: Path) -> list[str]:
    """The names of the TOML files in ``directory`` that have a table ``[engine]``."""
    return [path.name for path in sorted(directory.glob("*.toml")) if _is_campaign(path)]


def _is_campaign(path: Path) -> bool:
    try:
        if not path.is_file():
            return False
        with path.open("rb") as file:
            return b"[engine]" in file.read(_HEAD_BYTES)
    except OSError:
        return False


def samples(options: argparse.Namespace) -> int:
    """List the sample campaigns that come with fuzztui."""
    for path in sorted(SAMPLES.glob("*.toml")):
        first = path.read_text().partition("\n")[0].lstrip("# ")
        print(f"{path.name:<26} {first}")
    say("run one: fuzztui NAME.toml")
    return DONE
