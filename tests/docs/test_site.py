"""The site that mkdocs makes of docs/: complete, without the network, and searched."""

import json
import os
import re
import runpy
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("material", reason="needs the extra docs")
pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
REPOSITORY = "https://example.org/someone/fuzztui"
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "video": "src",
          "embed": "src", "object": "data"}  # fmt: skip
"""Elements whose attribute a browser loads, besides most of ``link``."""
OWN_LINKS = {"canonical", "next", "prev"}


def built(folder: Path, **env: str) -> Path:
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", folder],
        cwd=ROOT, capture_output=True, text=True, check=False,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", **env},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Strict: a link or an anchor without a goal, or a page outside of the nav, is an error."""
    return built(tmp_path_factory.mktemp("site") / "site")


class Loaded(HTMLParser):
    """What a browser loads for a page, and where its links lead."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag == "a":
            self.links.append(values.get("href") or "")
        elif tag == "link" and values.get("rel") not in OWN_LINKS:
            self.loaded.append(values.get("href") or "")
        elif tag in LOADED:
            self.loaded.append(values.get(LOADED[tag]) or "")


def read(page: Path) -> Loaded:
    found = Loaded()
    found.feed(page.read_text())
    return found


def test_a_browser_loads_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) > 40
    for page in pages:
        assert [to for to in read(page).loaded if re.match(r"(\w+:)?//", to)] == [], page.name
    for style in site.rglob("*.css"):
        assert re.findall(r"(?:url\(|@import )[\"']?(?:https?:)?//", style.read_text()) == []


def test_links_to_other_files_lead_into_the_repository_where_it_has_an_address(site, tmp_path):
    def outside(folder: Path) -> list[str]:
        links = [to for page in folder.rglob("*.html") for to in read(page).links]
        return [to for to in links if to.startswith(REPOSITORY)]

    assert outside(site) == []
    published = built(tmp_path / "site", FUZZTUI_REPO_URL=REPOSITORY)
    assert f"{REPOSITORY}/blob/main/.github/actions/fuzztui/action.yml" in outside(published)


def test_pages_are_read_as_in_the_repository(site):
    """A list after a paragraph is a list, and a bar of code in a table is no backslash and bar."""
    for page in site.rglob("*.html"):
        text = re.sub(r"<(pre|script).*?</\1>", "", page.read_text(), flags=re.DOTALL)
        for paragraph in re.findall(r"<p>(.*?)</p>", text, re.DOTALL):
            assert not re.search(r"^([-*] |\d+\. |\|)", paragraph, re.MULTILINE), page.name
        for code in re.findall(r"<td>.*?</td>", text, re.DOTALL):
            assert r"\|" not in code, (page.name, code)


@pytest.mark.parametrize(
    ("words", "page"),
    [
        ("duration", "campaign.html"),
        ("promote mutants", "actions.html"),
        ("fail under", "commands.html"),
        ("largest gain", "keys.html"),
        ("campaign_started", "events.html"),
    ],
)
def test_the_search_finds_keys_commands_and_events(site, words, page):
    index = json.loads((site / "search/search_index.json").read_text())
    separator = re.compile(index["config"]["separator"])
    hits = {
        entry["location"].partition("#")[0]
        for entry in index["docs"]
        if set(words.split()) <= set(separator.split(re.sub("<[^>]*>", " ", entry["text"].lower())))
    }
    assert page in hits


def test_repeated_headings_have_the_anchors_of_the_repository():
    spaced = runpy.run_path(str(ROOT / "docs/site_hook.py"))["spaced"]
    assert spaced("# One two\n## One two\n") == "# One two\n## One two {#one-two-1}\n"
    assert spaced("a\n- b\n- c\n```\n# d\n- e\n```\n") == "a\n\n- b\n- c\n```\n# d\n- e\n```\n"
