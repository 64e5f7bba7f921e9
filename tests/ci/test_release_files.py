"""What a release is made of: links at an address, versions that agree, actions pinned by hash."""

import importlib.util
import re
from pathlib import Path

import pytest
import tomli
import yaml

import fuzztui

ROOT = Path(__file__).parents[2]
ADDRESS = "https://host.example/owner/fuzztui"
LINK = re.compile(r"\]\(([^)\s]+)\)")


def load():
    """``.ci`` is no package."""
    spec = importlib.util.spec_from_file_location("release", ROOT / ".ci/release.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load()
PYPROJECT = (ROOT / "pyproject.toml").read_text()
of_the_repository = pytest.mark.skipif(
    "urls" in tomli.loads(PYPROJECT)["project"],
    reason="a released sdist, not git's files: its links have an address already",
)


@of_the_repository
def test_each_link_of_the_readme_is_absolute_and_its_file_exists():
    text = release.absolute_links((ROOT / "README.md").read_text(), ROOT, ADDRESS, "v1")
    links = LINK.findall(release.FENCED.sub("", text))
    assert [link for link in links if not link.startswith("https://")] == []
    ours = [link.removeprefix(ADDRESS) for link in links if link.startswith(ADDRESS)]
    assert ours
    for link in ours:
        form = re.fullmatch(r"/(?:raw|blob|tree)/v1/([^#]+)(?:#.*)?", link)
        assert form and (ROOT / form[1]).exists(), link


def test_pictures_html_anchors_and_code(tmp_path):
    (tmp_path / "docs").mkdir()
    for name in ("README.md", "docs/a.md", "docs/a.png"):
        (tmp_path / name).touch()
    text = "![x](docs/a.png) [y](docs/a.md#b) [z](#c) <img src='docs/a.png'>\n"
    code = "```md\n[y](docs/none.md)\n```\n"
    made = release.absolute_links(text + code + "[d](docs)\n", tmp_path, ADDRESS, "v1")
    assert made == (
        f"![x]({ADDRESS}/raw/v1/docs/a.png) [y]({ADDRESS}/blob/v1/docs/a.md#b)"
        f" [z]({ADDRESS}/blob/v1/README.md#c) <img src='{ADDRESS}/raw/v1/docs/a.png'>\n{code}"
        f"[d]({ADDRESS}/tree/v1/docs)\n"
    )
    with pytest.raises(SystemExit, match=r"docs/none.md"):
        release.absolute_links("[y](docs/none.md)", tmp_path, ADDRESS, "v1")


@of_the_repository
def test_the_links_of_the_project_and_the_address_of_its_authors():
    made = release.with_address(PYPROJECT, ADDRESS, "v1", "a@host.example")
    project = tomli.loads(made)["project"]
    assert project["urls"]["Homepage"] == ADDRESS
    assert all(url.startswith(ADDRESS) for url in project["urls"].values())
    assert project["authors"][0]["email"] == "a@host.example"
    assert "email" not in tomli.loads(release.with_address(PYPROJECT, ADDRESS, "v1", ""))["project"]


def test_the_version_is_one_everywhere():
    changelog = (ROOT / "CHANGELOG.md").read_text()
    unreleased, newest = re.findall(r"(?m)^## (.*)$", changelog)[:2]
    version, _, date = newest.partition(" - ")
    assert unreleased == "Unreleased"
    assert version == fuzztui.__version__
    cited = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (cited["version"], str(cited["date-released"])) == (version, date)
    release.refuse_other_version(version)
    with pytest.raises(SystemExit, match=r"0\.0\.7"):
        release.refuse_other_version("0.0.7")


def test_actions_are_pinned_by_hash():
    files = [*(ROOT / ".github").rglob("*.yml")]
    used = [line for file in files for line in re.findall(r"uses: (.*)", file.read_text())]
    assert used
    pinned = re.compile(r"[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
    assert [line for line in used if not pinned.fullmatch(line)] == []


def test_ci_tries_the_pythons_that_the_package_names():
    project = tomli.loads(PYPROJECT)["project"]
    named = re.findall(r"Python :: (3\.\d+)'", str(project["classifiers"]))
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    assert ci["jobs"]["fast"]["strategy"]["matrix"]["python"] == named


def test_only_an_approved_tag_publishes():
    text = (ROOT / ".github/workflows/release.yml").read_text()
    workflow = yaml.safe_load(text)
    assert workflow[True] == {"push": {"tags": ["v[0-9]*"]}}  # YAML's "on"
    jobs = workflow["jobs"]
    writers = {name for name, job in jobs.items() if "write" in job["permissions"].values()}
    assert writers == {"publish"}
    assert jobs["publish"]["environment"] == "pypi"
    assert set(jobs["publish"]["needs"]) == {"build", "test"}
