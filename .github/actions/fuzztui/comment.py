"""Write comment.md of ``fuzztui ci`` under the pull request; replace the comment of an earlier run.

    FUZZTUI_PULL=7 GITHUB_TOKEN=... python comment.py fuzztui-ci/comment.md

The first line of the file is a marker, which is the same in each run of a campaign. A comment that
cannot be written is a warning, because a pull request from a fork has a token that may only read.
"""

import json
import os
import sys
import urllib.request
from http.client import HTTPException
from pathlib import Path
from typing import Any

_PAGES = 30
"""Pages of 100 comments that are searched for the earlier one."""
_TIMEOUT_S = 30


def ask(address: str, method: str = "GET", body: dict[str, str] | None = None) -> Any:
    """The answer of GitHub's API. Raises OSError or ValueError."""
    headers = {
        "Authorization": f"Bearer {os.environ['GITHUB_TOKEN']}",
        "Accept": "application/vnd.github+json",
        "Content-Type": "application/json",
    }
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(address, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
        return json.loads(answer.read())


def earlier(comments: str, marker: str) -> int | None:
    """The id of the comment of an earlier run; None if there is none."""
    for page in range(1, _PAGES + 1):
        found = ask(f"{comments}?per_page=100&page={page}")
        for comment in found:
            # A user may have quoted the marker; an action writes as a bot.
            # The user is null once the account is deleted.
            by, text = comment["user"] or {}, comment["body"] or ""
            if by.get("type") == "Bot" and text.startswith(marker):
                return int(comment["id"])
        if not found:
            break
    return None


def main() -> None:
    """Add or replace the comment."""
    text = Path(sys.argv[1]).read_text(encoding="utf-8")
    marker = text.partition("\n")[0]
    issues = f"{os.environ['GITHUB_API_URL']}/repos/{os.environ['GITHUB_REPOSITORY']}/issues"
    comments = f"{issues}/{os.environ['FUZZTUI_PULL']}/comments"
    try:
        if (number := earlier(comments, marker)) is None:
            ask(comments, "POST", {"body": text})
        else:
            ask(f"{issues}/comments/{number}", "PATCH", {"body": text})
    except (OSError, HTTPException, ValueError, KeyError, TypeError, AttributeError) as e:
        advice = "the job needs the permission pull-requests: write, which forks do not get"
        print(f"::warning title=fuzztui::no comment was written: {e}; {advice}")


if __name__ == "__main__":
    main()
