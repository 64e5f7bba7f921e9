"""Names: a public class is called alike once, and the documents name files that exist."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
ROOMS = ("engines", "fuzztui")
PAGES = (
    "CONTRIBUTING.md", "docs/house.md", "docs/glossary.md", "docs/engines.md",
    "engines/README.md",
    *(f"fuzztui/{group}/README.md" for group in ("features", "kernel", "machines", "run", "tools")),
)  # fmt: skip


def modules() -> list[Path]:
    return [
        f
        for room in ROOMS
        for f in (ROOT / room).rglob("*.py")
        if "sample_campaigns" not in f.parts
    ]


def test_each_public_class_has_a_name_of_its_own():
    places = defaultdict(set)
    for file in modules():
        for name in re.findall(r"^class ([^\W_]\w*)", file.read_text(), re.MULTILINE):
            places[name].add(str(file.relative_to(ROOT)))
    assert {name: files for name, files in places.items() if len(files) > 1} == {}


@pytest.mark.parametrize("page", PAGES)
def test_the_files_that_a_page_names_exist(page):
    known = {str(f.relative_to(ROOT)) for f in ROOT.rglob("*.py") if ".venv" not in f.parts}
    named = re.findall(r"`([\w/]+\.py)`", (ROOT / page).read_text())
    assert [n for n in named if not any(k == n or k.endswith("/" + n) for k in known)] == []


_REFERENCE = re.compile(r":\w+:`~?fuzztui\.([\w.]+)`")


def test_docstrings_refer_to_what_exists():
    texts = {file.relative_to(ROOT): file.read_text() for file in modules()}
    by_module = {
        ".".join(path.with_suffix("").parts)
        .removeprefix("fuzztui.")
        .removesuffix(".__init__"): text
        for path, text in texts.items()
    }
    for package, text in by_module.items():  # packages that import all names of their files
        for module in re.findall(r"^from fuzztui\.([\w.]+) import \*$", text, re.MULTILINE):
            by_module[package] += by_module[module]
    wrong = []
    for path, text in texts.items():
        for name in _REFERENCE.findall(text):
            parts = name.split(".")
            modules_of = (".".join(parts[:end]) for end in range(len(parts), 0, -1))
            module = next((m for m in modules_of if m in by_module), "")
            rest = name.removeprefix(module).strip(".").split(".")[0]
            if not module or not re.search(rf"\b{rest}\b", by_module[module]):
                wrong.append(f"{path}: {name}")
    assert wrong == []
