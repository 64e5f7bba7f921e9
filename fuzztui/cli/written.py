"""Write a page where the user wants it: format by name, a file or stdout."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from fuzztui.cli.output import UsageError, put_text, say
from fuzztui.cli.published import published
from fuzztui.cli.since import tree
from fuzztui.kernel.base import versions
from fuzztui.kernel.base.page import Page
from fuzztui.tools.report.html import html_page
from fuzztui.tools.report.markdown import markdown_page
from fuzztui.tools.report.plain import plain_page

TEXT: Final = "text"
_ENDS: Final = {
    ".html": "html", ".htm": "html", ".md": "md", ".markdown": "md", ".json": "json",
}  # fmt: skip


def chosen_format(options: argparse.Namespace, default: str) -> str:
    """Return the format that the options ask for; also check ``-o``, before any work is done.

    Raises :class:`CliError`.
    """
    output: Path | None = options.output
    if output is not None and output.is_dir():
        raise UsageError(f"-o {output}: is a directory; name a file in it")
    if output is not None and not output.absolute().parent.is_dir():
        raise UsageError(f"-o {output}: there is no directory {output.parent}; make it first")
    if options.format:
        return str(options.format)
    if output is None:
        return default
    if found := _ENDS.get(output.suffix.lower()):
        return found
    raise UsageError(f"-o {output}: the name ends in none of .html, .md, .json; give --format too")


def write_page(
    page: Page, name: str, data: Mapping[str, Any], format_: str, options: argparse.Namespace
) -> None:
    """Write a page; ``data``: the same as JSON, of schema ``name``. Raises :class:`CliError`."""
    output: Path | None = options.output
    if not options.absolute:
        page, data = published((page, data), tree())
    match format_:
        case "html":
            text = html_page(page)
        case "md":
            text = markdown_page(page)
        case "json":
            text = json.dumps(versions.versioned(name, data), indent=1) + "\n"
        case _:
            text = plain_page(page) + "\n"
    put_text(text, output)
    if output is not None:
        say(f"wrote {output}, {len(text.encode()) / 1024:,.0f} KiB")
