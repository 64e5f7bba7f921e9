"""The pages that repeat what the code says are those that the code makes."""

import runpy
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
PAGES = runpy.run_path(str(DOCS / "reference.py"))["PAGES"]


@pytest.mark.parametrize("name", PAGES)
def test_a_generated_page_is_that_of_the_code(name):
    assert (DOCS / name).read_text() == PAGES[name](), "make docs"
