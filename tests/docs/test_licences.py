"""A plain install holds permissive licences only, and the page about licences is true."""

import re
from importlib.metadata import Distribution, PackageNotFoundError, distribution
from pathlib import Path

import pytest
import tomli
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]
PROJECT = tomli.loads((ROOT / "pyproject.toml").read_text())["project"]
PERMISSIVE = {
    "0BSD", "Apache-2.0", "BSD", "BSD-2-Clause", "BSD-3-Clause", "CC0-1.0", "ISC", "MIT", "MIT-0",
    "MIT-CMU", "PSF-2.0", "Python-2.0", "Unlicense", "Zlib",
}  # fmt: skip
CLASSIFIED = {
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD",
    "ISC License (ISCL)": "ISC",
    "MIT License": "MIT",
    "Python Software Foundation License": "PSF-2.0",
}
"""Names of licences in classifiers, and their SPDX identifiers."""
ROW = re.compile(r"^\| ([\w-]+) \| (always|`\[\w+\]`) \| .* \| \**([^|*]+)\** \|$", re.MULTILINE)


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def licence(found: Distribution) -> str:
    """The expression that a package declares; without one, of its classifiers or ``License``."""
    said = found.metadata
    if expression := said.get("License-Expression"):
        return expression
    classes = [
        c.rpartition(" :: ")[2] for c in said.get_all("Classifier") or [] if c[:7] == "License"
    ]
    named = [CLASSIFIED.get(name, name) for name in classes]
    return " AND ".join(named) or said.get("License") or ""


def forbidden(expression: str) -> set[str]:
    """The licences of an expression that are not known as permissive; of "", one without name."""
    names = re.split(r" (?:AND|OR|WITH) ", re.sub(r"[()]", "", expression))
    return {name.strip() for name in names} - PERMISSIVE


def brought(requirements: list[str]) -> dict[str, Distribution]:
    """What these requirements install, with all that it needs, by normal name."""
    found: dict[str, Distribution] = {}
    done: set[tuple[str, str]] = set()
    queue = [(Requirement(text), "") for text in requirements]
    while queue:
        wanted, extra = queue.pop()
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": extra}):
            continue
        for part in ("", *wanted.extras):
            if (key := (normal(wanted.name), part)) not in done:
                done.add(key)
                found[key[0]] = distribution(wanted.name)
                queue += [(Requirement(text), part) for text in found[key[0]].requires or []]
    return found


def test_a_plain_install_holds_permissive_licences_only():
    packages = brought(PROJECT["dependencies"])
    assert len(packages) > len(PROJECT["dependencies"])  # also what these need
    wrong = {name: bad for name, d in packages.items() if (bad := forbidden(licence(d)))}
    assert wrong == {}, "not permissive: an extra may need it, a plain install may not"


def test_the_extra_that_is_not_permissive_is_seen():
    packages = brought(PROJECT["optional-dependencies"]["first"])
    assert forbidden(licence(packages["python-levenshtein"])) == {"GPL-2.0-or-later"}


@pytest.mark.parametrize(
    ("metadata", "bad"),
    [
        ("License-Expression: MIT AND (BSD-3-Clause OR Apache-2.0)", set()),
        ("License-Expression: MIT AND GPL-3.0-only\nLicense: MIT", {"GPL-3.0-only"}),
        ("License: MIT", set()),
        ("License: GNU Affero", {"GNU Affero"}),
        ("Classifier: License :: OSI Approved :: MIT License", set()),
        ("License: MIT\nClassifier: License :: OSI Approved :: GNU General Public License (GPL)",
         {"GNU General Public License GPL"}),
        ("Classifier: Typing :: Typed", {""}),
    ],
)  # fmt: skip
def test_how_a_licence_is_read(metadata, bad, tmp_path):
    info = tmp_path / "a-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.4\nName: a\nVersion: 1\n{metadata}\n")
    assert forbidden(licence(Distribution.at(info))) == bad


def test_the_table_has_each_requirement_with_its_extra_and_licence():
    page = (ROOT / "docs/licences.md").read_text()
    extras = PROJECT["optional-dependencies"]
    parts = {"always": PROJECT["dependencies"]}
    optional = ("first", "spoton", "text", "cluster", "web", "aws")
    parts |= {f"`[{name}]`": extras[name] for name in optional}
    expected = {
        (normal(Requirement(text).name), part) for part, texts in parts.items() for text in texts
    }
    rows = {(normal(name), part): said.strip() for name, part, said in ROW.findall(page)}
    assert set(rows) == expected
    for (name, _), said in rows.items():
        try:
            declared = licence(distribution(name))
        except PackageNotFoundError:  # an extra that is not installed here
            continue
        assert said == declared, name
