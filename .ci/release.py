#!/usr/bin/env python3
"""Build what a package index gets: the sdist and the wheel of one version, at one address.

    .ci/release.py ADDRESS VERSION [--contact EMAIL] [-o dist]

ADDRESS is the repository's on the web, such as https://github.com/OWNER/fuzztui; no file of the
repository names it. In a copy of the tree the links and pictures of README.md are made absolute,
at the tag ``vVERSION``, and the project's links are added. The archives are checked with twine,
check-wheel-contents and pyroma. Needs the extra ``release``; docs/releasing.md says the rest.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
NO_SOURCE = (".git", ".venv", "*.egg-info", "__pycache__", ".*_cache", ".hypothesis", "runs")
PICTURES = (".webp", ".png", ".svg", ".gif", ".jpg")
FENCED = re.compile(r"(?ms)^```.*?^```$")
LINK = re.compile(r"""(\]\(|\b(?:src|href|srcset)=["'])(?![a-z]+:)([^)"'\s]+)""")
"""A link of Markdown or HTML that has no scheme, after what introduces it."""


def absolute_links(text: str, tree: Path, address: str, tag: str) -> str:
    """Return a README with absolute links. Exits for a link to a file that ``tree`` lacks."""

    def absolute(found: re.Match[str]) -> str:
        path, mark, anchor = found[2].partition("#")
        path = path or "README.md"
        if not (tree / path).exists():
            raise SystemExit(f"README.md: {path}: there is no such file")
        kind = "tree" if (tree / path).is_dir() else "blob"
        kind = "raw" if path.endswith(PICTURES) else kind
        return f"{found[1]}{address}/{kind}/{tag}/{path}{mark}{anchor}"

    return _outside_code(text, lambda part: LINK.sub(absolute, part))


def _outside_code(text: str, change: Callable[[str], str]) -> str:
    """Change the parts of a Markdown text that are in no code block."""
    parts, end = [], 0
    for block in FENCED.finditer(text):
        parts += [change(text[end : block.start()]), block[0]]
        end = block.end()
    return "".join([*parts, change(text[end:])])


def with_address(pyproject: str, address: str, tag: str, contact: str) -> str:
    """Return pyproject.toml with the project's links, and the authors' address if there is one."""
    links = {
        "Homepage": address,
        "Documentation": f"{address}/tree/{tag}/docs",
        "Changelog": f"{address}/blob/{tag}/CHANGELOG.md",
        "Issues": f"{address}/issues",
    }
    table = "".join(f"{name} = {json.dumps(value)}\n" for name, value in links.items())
    head = "[project.optional-dependencies]\n"
    changed = pyproject.replace(head, f"[project.urls]\n{table}\n{head}", 1)
    if contact:
        authors = '{ name = "The fuzztui authors" }'
        changed = changed.replace(authors, f"{authors[:-2]}, email = {json.dumps(contact)} }}", 1)
    return changed


def refuse_other_version(version: str) -> None:
    """Exit if the sources are not of this version, or the changelog does not describe it."""
    package = (ROOT / "fuzztui/__init__.py").read_text(encoding="utf-8")
    if f'__version__ = "{version}"' not in package:
        raise SystemExit(f"fuzztui/__init__.py: __version__ is not {version}")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"(?m)^## {re.escape(version)} - \d{{4}}-\d\d-\d\d$", changelog):
        raise SystemExit(f"CHANGELOG.md: there is no heading '## {version} - YYYY-MM-DD'")


def check(archives: list[Path], rating: int) -> None:
    """Exit if one of the tools finds something. ``rating``: the least that pyroma may give."""
    sdist, wheel = sorted(archives, key=lambda path: path.suffix)[:2]
    for argv in (
        ["twine", "check", "--strict", str(sdist), str(wheel)],
        ["check_wheel_contents", "--config", str(ROOT / "pyproject.toml"), str(wheel)],
        ["pyroma", "-n", str(rating), str(sdist)],
    ):
        _run([sys.executable, "-m", *argv])


def _run(argv: list[str]) -> None:
    print("+", *argv, flush=True)
    if status := subprocess.run(argv, check=False).returncode:
        raise SystemExit(status)


def main() -> None:
    """Build and check."""
    doc = (__doc__ or "").partition("\n")[0]
    parser = argparse.ArgumentParser(description=doc)
    parser.add_argument("address", help="of the repository, such as https://github.com/OWNER/NAME")
    parser.add_argument("version", help="such as 0.2.0, or v0.2.0")
    parser.add_argument("--contact", default="", metavar="EMAIL", help="of the authors")
    parser.add_argument("-o", "--output", type=Path, default=Path("dist"), metavar="DIR")
    given = parser.parse_args()
    version, address = given.version.removeprefix("v"), given.address.rstrip("/")
    if not re.fullmatch(r"https://[\w.-]+(/[\w.-]+)+", address):
        parser.error(f"{address}: not an address such as https://github.com/OWNER/NAME")
    refuse_other_version(version)
    with tempfile.TemporaryDirectory() as scratch:
        tree = Path(scratch, "fuzztui")
        ignored = shutil.ignore_patterns(*NO_SOURCE)
        shutil.copytree(ROOT, tree, symlinks=True, ignore=ignored)
        readme, pyproject = tree / "README.md", tree / "pyproject.toml"
        text = readme.read_text(encoding="utf-8")
        readme.write_text(absolute_links(text, tree, address, f"v{version}"), encoding="utf-8")
        text = pyproject.read_text(encoding="utf-8")
        changed = with_address(text, address, f"v{version}", given.contact)
        pyproject.write_text(changed, encoding="utf-8")
        made = Path(scratch, "dist")
        _run([sys.executable, "-m", "build", "--outdir", str(made), str(tree)])
        check(list(made.iterdir()), rating=10 if given.contact else 9)
        given.output.mkdir(parents=True, exist_ok=True)
        for archive in made.iterdir():
            shutil.copy(archive, given.output)


if __name__ == "__main__":
    main()
