"""The documents: links lead somewhere, and the examples are campaigns as they stand."""

import re
from pathlib import Path

import pytest

from fuzztui.campaign import load

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
LINK = re.compile(r"\]\(([^)\s]+)\)")
BLOCK = re.compile(r"^```(?:python|toml)\n# ([\w.]+).*\n((?:.*\n)*?)^```", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """As GitHub makes them of headings."""
    heads = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page):
    for link in LINK.findall(page.read_text()):
        if "://" in link:
            continue
        name, _, anchor = link.partition("#")
        other = page.parent / name if name else page
        assert other.exists(), link
        assert not anchor or anchor in anchors(other), link


def test_the_readme_tells_of_all_samples():
    told = (ROOT / "README.md").read_text()
    names = [path.name for path in (ROOT / "sample_campaigns").glob("*.toml")]
    assert [n for n in names if n not in told and not n.startswith("lambda-")] == []


@pytest.mark.parametrize("pages", [["spoton"], ["spoton", "hypothesis"], ["aws"]], ids="-".join)
def test_examples_are_good_when_pasted(pages, tmp_path):
    files = {}
    for page in pages:
        files |= dict(BLOCK.findall((ROOT / "docs" / f"{page}.md").read_text()))
    for name, text in files.items():
        (tmp_path / name).write_text(text)
        if name.endswith(".py"):
            compile(text, name, "exec")
    campaigns = [load(tmp_path / name).campaign for name in files if name.endswith(".toml")]
    assert campaigns
    for campaign in campaigns:
        for key in (campaign.target["function"], campaign.target.get("generator", "")):
            if key:
                module, _, function = key.rpartition(":")
                source = files[f"{Path(module).name.removesuffix('.py')}.py"]
                assert re.search(rf"^(def|class) {function}\b", source, re.MULTILINE), key
