"""The GitHub Action: its scripts, run by bash in a shallow clone, as for a pull request."""

import json
import os
import re
import shlex
import stat
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, ClassVar

import pytest
import yaml
from homes import BIN
from waiting import DEADLINE_S

ROOT = Path(__file__).parents[2]
ACTION = ROOT / ".github/actions/fuzztui/action.yml"
DOCS = ROOT / "docs/ci.md"
LOADED: dict[str, Any] = yaml.safe_load(ACTION.read_text())
STEPS: list[dict[str, Any]] = LOADED["runs"]["steps"]
SCRIPTS = {step["name"]: step for step in STEPS if "run" in step}
INPUT = re.compile(r"\$\{\{ inputs\.([\w-]+) \}\}")
HARMLESS = ("${{ github.token }}", "${{ github.event.pull_request.number }}")
"""Expressions whose value no author of a pull request chooses."""

PROGRAM = "def parse(data: bytes):\n    return len(data) + 1\n"
BUG = "def parse(data: bytes):\n    return 7 // (len(data) - 1)\n"
CAMPAIGN = """\
[project]
name = "lib"
[tool.fuzztui.target]
function = "prog:parse"
path = ["."]
include = ["prog"]
[tool.fuzztui.engine]
kind = "mu2"
"""


def git(directory: Path, *arguments: str) -> str:
    me = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT")}
    return subprocess.run(
        ["git", *me, *arguments], cwd=directory, env=env, check=True, capture_output=True, text=True
    ).stdout


class Runner:
    """A job of GitHub's: a checkout, and the variables that each step has."""

    def __init__(self, path: Path) -> None:
        self.checkout = path / "work"
        self.summary = path / "summary"
        keep = {k: v for k, v in os.environ.items() if not k.startswith(("GIT", "CI"))}
        self.env = {
            **keep,
            "PATH": f"{BIN}:{os.environ['PATH']}",
            "XDG_RUNTIME_DIR": str(path / "xdg"),
            "XDG_STATE_HOME": str(path / "state"),
            "GITHUB_ACTIONS": "true",
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "GITHUB_BASE_REF": "main",
        }
        (path / "xdg").mkdir(mode=0o700)

    def step(self, name: str, **inputs: str) -> subprocess.CompletedProcess[str]:
        """Run a step's script as GitHub does, with these inputs and the defaults of the others."""
        given = {key: row["default"] for key, row in LOADED["inputs"].items()}
        given |= {key.replace("_", "-"): value for key, value in inputs.items()}
        step = SCRIPTS[name]
        env = {
            key: INPUT.sub(lambda m: given[m[1]], value)
            for key, value in step.get("env", {}).items()
            if value not in HARMLESS
        }
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step["run"]],
            cwd=self.checkout, env={**self.env, **env}, check=False, capture_output=True,
            text=True, timeout=DEADLINE_S,
        )  # fmt: skip


def test_scripts_get_inputs_as_variables_only() -> None:
    assert len(SCRIPTS) == 4
    for step in SCRIPTS.values():
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        for value in step.get("env", {}).values():
            assert INPUT.fullmatch(value) or value in HARMLESS, value
    used = set(INPUT.findall(ACTION.read_text())) | {"install", "upload-sarif", "comment"}
    assert used == set(LOADED["inputs"])
    assert all(isinstance(row["default"], str) for row in LOADED["inputs"].values())


HERE = str(ACTION.parent / "../../..")


@pytest.mark.parametrize(
    ("what", "installed"),
    [("action", HERE), ("fuzztui[first] @ git+https://x/y; touch z",) * 2],
)
def test_what_is_installed(tmp_path: Path, what: str, installed: str) -> None:
    assert LOADED["inputs"]["install"]["default"] == "action"
    assert (Path(HERE) / "pyproject.toml").is_file()
    runner = Runner(tmp_path)
    runner.checkout.mkdir()
    python = tmp_path / "bin/python"
    python.parent.mkdir()
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$OUT"\n')
    python.chmod(python.stat().st_mode | stat.S_IXUSR)
    runner.env |= {"PATH": f"{python.parent}:{runner.env['PATH']}", "OUT": str(tmp_path / "out")}
    runner.env["GITHUB_ACTION_PATH"] = str(ACTION.parent)
    assert runner.step("Install fuzztui", install=what).returncode == 0
    words = (tmp_path / "out").read_text().splitlines()
    assert words == ["-m", "pip", "install", "--quiet", installed]
    assert list(runner.checkout.iterdir()) == []


@pytest.mark.slow
def test_a_pull_request(tmp_path: Path) -> None:
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "-q", "-b", "main")
    (origin / "pyproject.toml").write_text(CAMPAIGN)
    (origin / "prog.py").write_text(PROGRAM)
    git(origin, "add", "-A")
    git(origin, "commit", "-q", "-m", "1")
    git(origin, "checkout", "-q", "-b", "topic")
    (origin / "prog.py").write_text(BUG)
    git(origin, "commit", "-q", "-a", "-m", "2")
    runner = Runner(tmp_path)
    url = f"file://{origin}"
    git(tmp_path, "clone", "-q", "--depth=1", "--branch=topic", url, str(runner.checkout))

    # As on main, before the pull request: the score of all code is the baseline.
    (runner.checkout / "prog.py").write_text(PROGRAM)
    inputs = (runner.checkout / ".fuzztui-corpus/inputs").mkdir(parents=True)
    assert inputs is None
    (runner.checkout / ".fuzztui-corpus/inputs/a").write_bytes(b"x")
    done = runner.step("Fetch what the change is compared with")
    assert done.returncode == 0, done
    assert git(runner.checkout, "rev-parse", "--is-shallow-repository").strip() == "false"
    git(runner.checkout, "rev-parse", "--verify", "origin/main")
    del runner.env["GITHUB_BASE_REF"]
    done = runner.step("Fuzz", budget="0")
    assert done.returncode == 0, done
    assert (runner.checkout / ".fuzztui-corpus/score.json").is_file()

    runner.env["GITHUB_BASE_REF"] = "main"
    git(runner.checkout, "checkout", "-q", "prog.py")
    done = runner.step("Fuzz", budget="0", new_survivors="true")
    assert done.returncode == 10, done
    assert "::error file=prog.py,line=2," in done.stdout
    assert "ZeroDivisionError" in runner.summary.read_text()

    (runner.checkout / "prog.py").write_text(PROGRAM.replace("+ 1", "+ 2 - 1"))
    done = runner.step("Fuzz", budget="0", new_survivors="true")
    assert done.returncode == 0, done
    # Survivors of what is new: no input reaches the second return.
    new = PROGRAM.replace("    return", "    if len(data) > 99:\n        return 3\n    return")
    (runner.checkout / "prog.py").write_text(new)
    done = runner.step("Fuzz", budget="0", new_survivors="true")
    assert done.returncode == 11, done
    assert "::warning file=prog.py,line=3," in done.stdout
    done = runner.step("Fuzz", budget="0", campaign="nowhere.toml; exit 0")
    assert done.returncode == 2, done


class Comments(BaseHTTPRequestHandler):
    """The comments of a pull request, as far as GitHub's API has been asked for."""

    kept: ClassVar[dict[int, dict[str, Any]]]
    token = "Bearer t"
    broken: ClassVar[Any] = None
    """What is answered instead; "no length": less than was promised."""

    def do_GET(self) -> None:
        if self.broken is not None:
            self.send_response(200)
            self.send_header("Content-Length", "1000" if self.broken == "no length" else "")
            self.end_headers()
            self.wfile.write(json.dumps(self.broken).encode())
            return
        page = int(self.path.rpartition("page=")[2])
        self._answer(list(self.kept.values())[100 * (page - 1) : 100 * page])

    def do_POST(self) -> None:
        self._take(1000 + len(self.kept))

    def do_PATCH(self) -> None:
        self._take(int(self.path.rpartition("/")[2]))

    def _take(self, number: int) -> None:
        sent = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.kept[number] = {"id": number, "user": {"type": "Bot"}, **sent}
        self._answer(self.kept[number])

    def _answer(self, body: Any) -> None:
        self.send_response(200 if self.headers["Authorization"] == self.token else 403)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_message(self, format: str, *args: Any) -> None:
        pass


def test_the_comment_of_an_earlier_run_is_replaced(tmp_path: Path) -> None:
    runner = Runner(tmp_path)
    report = runner.checkout / "fuzztui-ci/comment.md"
    report.parent.mkdir(parents=True)
    quoted = {"id": 1, "user": {"type": "User"}, "body": "<!-- m -->\nquoted by a user"}
    others = [{"id": n, "user": {"type": "Bot"}, "body": "other"} for n in range(2, 198)]
    others += [{"id": 198, "user": None, "body": "of a deleted account"}]
    others += [{"id": 199, "user": {"type": "Bot"}, "body": None}]
    Comments.kept = {row["id"]: row for row in [quoted, *others]}
    server = ThreadingHTTPServer(("127.0.0.1", 0), Comments)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    runner.env |= {
        "GITHUB_API_URL": f"http://127.0.0.1:{server.server_port}", "GITHUB_REPOSITORY": "o/r",
        "GITHUB_ACTION_PATH": str(ACTION.parent), "no_proxy": "*",
    }  # fmt: skip
    runner.env |= {"FUZZTUI_PULL": "7", "GITHUB_TOKEN": "t"}
    name = "Comment on the pull request"
    try:
        assert runner.step(name).returncode == 0  # no report: the run was refused
        assert len(Comments.kept) == 199
        for text in ("<!-- m -->\none", "<!-- m -->\ntwo", "<!-- other -->\none"):
            report.write_text(text)
            assert runner.step(name).stdout == ""
        assert [row["body"] for row in list(Comments.kept.values())[199:]] == [
            "<!-- m -->\ntwo", "<!-- other -->\none"
        ]  # fmt: skip
        assert Comments.kept[1] == quoted
        runner.env["GITHUB_TOKEN"] = "of a fork"
        done = runner.step(name)
        assert (done.returncode, "::warning" in done.stdout) == (0, True)
        for broken in ("no length", [{"id": 1, "user": "x", "body": "y"}], {"message": "no list"}):
            Comments.broken = broken
            done = runner.step(name)
            assert (done.returncode, "::warning" in done.stdout) == (0, True)
    finally:
        server.shutdown()
        server.server_close()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", DOCS.read_text(), re.M | re.DOTALL)


def test_the_workflow_in_the_docs_uses_inputs_that_exist() -> None:
    workflow = next(yaml.safe_load(b) for b in blocks("yaml") if "jobs:" in b)
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    (ours,) = [step for step in steps if ".github/actions/fuzztui" in step.get("uses", "")]
    assert ours["with"].keys() <= LOADED["inputs"].keys()


def test_the_commands_for_gitlab_parse() -> None:
    from fuzztui.cli.parser import parse

    job = next(yaml.safe_load(b)["fuzz"] for b in blocks("yaml") if "artifacts:" in b)
    commands = [shlex.split(line) for line in job["script"] if line.startswith("fuzztui ")]
    assert commands
    for _, *words in commands:
        parse(words)
    reports = job["artifacts"]["reports"]
    options = parse(commands[0][1:])
    assert reports["junit"] == f"{options.output}/junit.xml"
    assert reports["codequality"] == f"{options.output}/code-quality.json"
    assert str(options.corpus) in job["cache"]["paths"][0]
