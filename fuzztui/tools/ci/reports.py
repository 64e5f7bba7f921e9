"""Write the reports of an outcome into a directory."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_bytes, replace_text
from fuzztui.tools.ci.annotations import gitlab
from fuzztui.tools.ci.junit import junit
from fuzztui.tools.ci.markdown import comment, markdown
from fuzztui.tools.ci.outcome import CiOutcome
from fuzztui.tools.ci.sarif import sarif

SUMMARY: Final = "summary.md"
COMMENT: Final = "comment.md"
SARIF: Final = "results.sarif"
JUNIT: Final = "junit.xml"
GITLAB: Final = "code-quality.json"


def write_reports(outcome: CiOutcome, directory: Path, env: Mapping[str, str]) -> None:
    """Write all reports; append the summary to the job's, where GitHub has one. Raises OSError."""
    text = markdown(outcome)
    replace_text(directory / SUMMARY, text)
    replace_text(directory / COMMENT, comment(outcome))
    replace_text(directory / SARIF, json.dumps(sarif(outcome), indent=1))
    replace_bytes(directory / JUNIT, junit(outcome))
    replace_text(directory / GITLAB, json.dumps(gitlab(outcome), indent=1))
    for name in (SUMMARY, COMMENT, SARIF, JUNIT, GITLAB):  # other users' steps of a job read them
        (directory / name).chmod(0o644)
    if summary := env.get("GITHUB_STEP_SUMMARY"):
        with Path(summary).open("a", encoding="utf-8", errors="replace") as file:
            file.write(text + os.linesep)
