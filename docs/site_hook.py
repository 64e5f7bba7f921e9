"""What mkdocs.yml needs to make a site of Markdown that is written for the repository.

Files outside of docs/ become pages, links lead to the pages, and what GitHub reads and Python's
Markdown does not (lists and tables right after a paragraph, bars in code in tables) is made alike.
"""

from __future__ import annotations

import posixpath
import re
from collections import Counter
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page
from pymdownx.slugs import slugify

ROOT = Path(__file__).resolve().parent.parent

ROOMS = ("features", "kernel", "machines", "run", "tools")
INCLUDED = {
    **{f"{name}.md": f"{name}.md" for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY")},
    "engines/README.md": "rooms/engines.md",
    **{f"fuzztui/{room}/README.md": f"rooms/{room}.md" for room in ROOMS},
}
"""Files of the repository outside of docs/, and the pages that they become."""
PAGES = {**INCLUDED, "README.md": "index.md"}
SOURCES = {page: file for file, page in INCLUDED.items()}

FENCE = re.compile(r"^ *```.*?^ *```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!!)\[(?P<text>[^\]]*)\]\((?P<to>[^)\s]+)\)")
STARTS = re.compile(r"([-*] |\d+\. |\|)")
"""What begins a list or a table."""
CODE = re.compile(r"`[^`\n]+`")
ANCHOR = slugify(case="lower")


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages of :data:`INCLUDED`."""
    for file, page in INCLUDED.items():
        files.append(File.generated(config, page, abs_src_path=str(ROOT / file)))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Return the text of a page for the site."""
    uri = page.file.src_uri

    def link(found: re.Match[str]) -> str:
        return linked(found["text"], found["to"], uri, config.repo_url or "")

    markdown, parts, end = spaced(markdown), [], 0
    for fence in FENCE.finditer(markdown):
        parts += [LINK.sub(link, markdown[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, LINK.sub(link, markdown[end:])])


def linked(text: str, to: str, uri: str, repository: str) -> str:
    """Return a link of the page ``uri`` as Markdown.

    A link to a file that is no page leads to ``repository``; without an address of it, the text
    remains, as code.
    """
    if "://" in to or to.startswith(("#", "mailto:")):
        return f"[{text}]({to})"
    source = SOURCES.get(uri, f"docs/{uri}")
    name, mark, anchor = to.partition("#")
    file = posixpath.normpath(posixpath.join(posixpath.dirname(source), name))
    page = PAGES.get(file) or (file.removeprefix("docs/") if file.startswith("docs/") else "")
    if page:
        return f"[{text}]({posixpath.relpath(page, posixpath.dirname(uri) or '.')}{mark}{anchor})"
    if repository:
        return f"[{text}]({repository.rstrip('/')}/blob/main/{file}{mark}{anchor})"
    return text if text.startswith("`") else f"`{text}`"


def spaced(text: str) -> str:
    """Return Markdown with an empty line before each list and each table.

    A heading that occurs again gets GitHub's anchor for it, ``name-1``.
    """
    lines: list[str] = []
    fenced = False
    seen: Counter[str] = Counter()
    for given in text.split("\n"):
        line = given
        before = lines[-1] if lines else ""
        if line.lstrip().startswith("```"):
            fenced = not fenced
        elif not fenced and STARTS.match(line):
            alike = before.startswith("|") if line.startswith("|") else STARTS.match(before)
            if before.strip() and not before.startswith((" ", "\t")) and not alike:
                lines.append("")
        if line.startswith("#") and not fenced:
            name = ANCHOR(line.lstrip("# "), "-")
            if seen[name]:
                line += f" {{#{name}-{seen[name]}}}"
            seen[name] += 1
        if line.startswith("|") and not fenced:
            line = CODE.sub(lambda code: code[0].replace(r"\|", "|"), line)
        lines.append(line)
    return "\n".join(lines)
