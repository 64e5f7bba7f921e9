"""Programs that a benchmark compares fuzztui with: which of them are installed."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence


def installed(python: str, modules: Mapping[str, str]) -> list[str]:
    """The peers that ``python`` can import; prints which ones are skipped, and how to get them.

    ``modules``: by each peer's name the module that shows that it is installed.
    """
    found: list[str] = []
    for peer, module in modules.items():
        argv: Sequence[str] = [python, "-c", f"import {module}"]
        if subprocess.run(argv, capture_output=True, check=False).returncode:
            print(f"{peer} is skipped: {python} cannot import {module};"
                  f" {python} -m pip install -e '.[bench]'", flush=True)  # fmt: skip
        else:
            found.append(peer)
    return found
