"""``fuzztui ci`` in a scratch repository: green, a bug comes in, red at the right line, mended."""

import ast
import html
import json
import re
import shutil
import subprocess
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from homes import Home
from waiting import wait_until

from fuzztui.cli.headless import wait_for_end
from fuzztui.cli.output import CliError
from fuzztui.cli.runs import standing
from fuzztui.kernel.model.selectors import totals
from fuzztui.kernel.remote.lock import running

pytestmark = pytest.mark.slow

PROGRAM = """\
LIMIT = 3


def clamp(n):
    if n < 0:
        return 0
    return min(n, LIMIT)


def parse(data: bytes):
    if data[:1] == b"(":
        return clamp(len(data) + 1)
    return clamp(len(data))
"""
CAMPAIGN = """\
[target]
function = "prog:parse"
path = ["."]
include = ["prog"]
[engine]
kind = "mu2"
"""
DONE, FAILED, USAGE, FINDINGS, BELOW = 0, 1, 2, 10, 11


class Project(Home):
    """A git repository with a program, its campaign file and two seeds."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.file.unlink()
        self.write("prog.py", PROGRAM)
        self.write("fuzz.toml", CAMPAIGN)
        self.write(".gitignore", "fuzztui-ci/\nxdg/\nstate/\n")
        self.write("fuzztui-ci/corpus/inputs/a", "(")
        self.write("fuzztui-ci/corpus/inputs/b", "abcdef")
        for name in [name for name in self.env if name.startswith(("GIT", "CI_"))]:
            del self.env[name]
        self.git("init", "-q", "-b", "main")
        self.commit()

    def write(self, name: str, text: str) -> None:
        (self.path / name).parent.mkdir(parents=True, exist_ok=True)
        (self.path / name).write_text(text)

    def git(self, *arguments: str) -> None:
        me = ["-c", "user.name=t", "-c", "user.email=t@t", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *me, *arguments], cwd=self.path, env=self.env, check=True)

    def commit(self) -> None:
        self.git("add", "-A")
        self.git("commit", "-q", "-m", "x")

    def ci(self, *arguments: str, code: int = DONE) -> str:
        return self("ci", "fuzz.toml", *arguments, code=code)

    def fuzz(
        self,
        *arguments: str,
        code: int = DONE,
        output: str = "fuzztui-ci",
        look: Callable[[], object] = lambda: None,
    ) -> str:
        """``ci`` until its campaign has executed inputs, however busy the machine is.

        ``look`` is called before the campaign is stopped.
        """
        with ThreadPoolExecutor(1) as pool:
            ci = pool.submit(self.ci, "--budget", "1h", *arguments, code=code)
            wait_until(lambda: ci.done() or self._executes(self.path / output / "run"))
            look()
            self("ctl", f"{output}/run", "stop", code=None)
            return ci.result()

    def _executes(self, run: Path) -> bool:
        with suppress(CliError, OSError):
            return running(run) is not None and totals(standing(run).state).stats.execs > 0
        return False

    def output(self, name: str) -> str:
        return (self.path / "fuzztui-ci" / name).read_text()

    def kept(self) -> set[str]:
        corpus = self.path / "fuzztui-ci/corpus"
        return {str(p.relative_to(corpus)) for p in corpus.rglob("*") if p.is_file()}


@pytest.fixture
def project(tmp_path: Path):
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    made = Project(tmp_path)
    yield made
    made.kill_everything()


def test_green_red_and_green_again(project: Project) -> None:
    project.fuzz()
    baseline = json.loads(project.output("score.json"))
    assert baseline["killed"] > 5
    frozen = tomllib.loads(project.output("run/campaign.toml"))
    assert float(frozen["campaign"]["budget"].removesuffix("s")) <= 1800  # the score has the rest
    kept = project.kept()
    assert len(kept) >= 2

    # Nothing has changed: nothing is mutated, and the run of the baseline stays as it is.
    project.ci("--since", "main", "--baseline", "fuzztui-ci/score.json")
    assert "[text]" not in project.output("summary.md")
    assert project.kept() == kept

    # A bug comes in: the replay finds it in seconds, at the changed line.
    bad = PROGRAM.replace(
        "return clamp(len(data) + 1)", "return clamp(len(data) // (len(data) - 1))"
    )
    project.write("prog.py", bad)
    project.env["GITHUB_ACTIONS"] = "true"
    out = project.ci("--since", "main", "--budget", "0", code=FINDINGS)
    line = 1 + bad.split("\n").index("        return clamp(len(data) // (len(data) - 1))")
    assert f"::error file=prog.py,line={line}," in out
    (run,) = json.loads(project.output("results.sarif"))["runs"]
    errors = [r for r in run["results"] if r["level"] == "error"]
    (place,) = errors[0]["locations"]
    assert place["physicalLocation"]["region"] == {"startLine": line}
    assert [r["ruleId"] for r in errors] == ["crash/ZeroDivisionError"]
    assert kept <= project.kept()

    # The verdict of the summary: the finding is known, and does not fail the build.
    signature = f"ZeroDivisionError @ prog.py:{line} in parse"
    block = project.output("summary.md").partition("```text\n[[finding]]\n")[2].partition("```")[0]
    assert f'signature = "{signature}"\nverdict = "known"' in block
    project.write("fuzz.verdicts.toml", f"[[finding]]\n{block}")
    project.ci("--since", "main", "--budget", "0")
    (project.path / "fuzz.verdicts.toml").unlink()


def test_a_kept_input_with_another_outcome_is_a_finding_until_a_verdict(project: Project) -> None:
    today = "import time\n" + PROGRAM.replace('if data[:1] == b"("', "return time.time()\n    if 0")
    project.write("prog.py", PROGRAM)
    project.ci("--budget", "0")
    project.ci("--budget", "0")
    changed = PROGRAM.replace("len(data) + 1", "len(data) + 2")
    project.write("prog.py", changed)
    project.ci("--since", "main", "--budget", "0", code=FINDINGS)
    project.ci("--budget", "0", code=FINDINGS)
    assert "[differs]" in project.output("junit.xml") or "differs" in project.output("summary.md")
    # A verdict accepts the change: the new outcome is what counts from now on.
    block = project.output("summary.md").partition("```text\n[[finding]]\n")[2].partition("```")[0]
    project.write("fuzz.verdicts.toml", f"[[finding]]\n{block}")
    project.ci("--budget", "0")
    (project.path / "fuzz.verdicts.toml").unlink()
    project.ci("--budget", "0")
    project.write("prog.py", PROGRAM)
    project.ci("--budget", "0", code=FINDINGS)
    # What varies with the clock is never compared.
    (project.path / "fuzztui-ci/corpus/outcomes.json").unlink()
    project.write("prog.py", today)
    project.ci("--budget", "0")
    project.ci("--budget", "0")


def test_a_bug_that_only_fuzzing_finds_is_kept_and_replayed(project: Project) -> None:
    project.ci("--budget", "0")
    bad = PROGRAM.replace("LIMIT)", "LIMIT)\n    raise KeyError(n)").replace(
        "return min", "if n != 3:\n        return min"
    )
    project.write("prog.py", bad)
    project.ci("--since", "main", "--budget", "0")
    project.ci("--since", "main", "--budget", "5m", "--set", "stop.crashes=1", code=FINDINGS)
    assert [name for name in project.kept() if name.startswith("findings/")]
    # From now on it is found at once.
    project.ci("--since", "main", "--budget", "0", code=FINDINGS)
    project.write("prog.py", PROGRAM)
    project.ci("--since", "main", "--budget", "0")


def test_gates_for_survivors_on_changed_lines(project: Project) -> None:
    project.ci("--budget", "0")
    kept = project.kept()
    changed = PROGRAM.replace("    if n < 0:", "    if n == 77:\n        return 5\n    if n < 0:")
    project.write("prog.py", changed)
    diff = subprocess.run(
        ["git", "diff"], cwd=project.path, env=project.env, check=True, capture_output=True
    ).stdout
    (project.path / "change.diff").write_bytes(diff)
    baseline = ("--baseline", "fuzztui-ci/score.json", "--budget", "0")
    out = project.ci("--in-diff", "change.diff", *baseline, code=BELOW)
    assert "prog.py:6: " in out  # where the survivor is
    assert "prog.py:14: " not in out  # it was not changed
    project.ci("--since", "main", "--budget", "0")  # without a baseline there is no gate
    project.ci("--since", "main", "--budget", "0", "--fail-under", "99", code=BELOW)
    rows = json.loads(project.output("code-quality.json"))
    assert {row["location"]["lines"]["begin"] for row in rows} == {6}
    assert project.kept() == kept


def test_the_comment_has_the_input_that_kills_a_mutant_on_a_changed_line(project: Project) -> None:
    project.ci("--budget", "0")
    changed = PROGRAM.replace("    if n < 0:", "    if n == 77:\n        return 5\n    if n < 0:")
    changed = changed.replace(
        "    if data[:1]", '    if data[:1] == b"[":\n        return 9\n    if data[:1]'
    )
    project.write("prog.py", changed)
    queue = project.path / "fuzztui-ci/run/out/main/queue"
    project.fuzz(
        "--since", "main",
        look=lambda: wait_until(lambda: any(f.read_bytes()[:1] == b"[" for f in queue.glob("id*"))),
    )  # fmt: skip
    alive, killed = project.output("comment.md").split("killed by new inputs only")
    assert "prog.py:6<" in alive
    assert "prog.py:14<" in killed
    inputs = re.findall(r"<code>(b&#39;.*?|b'.*?|b\".*?)</code> \|$", killed, re.MULTILINE)
    assert inputs and all(ast.literal_eval(html.unescape(text))[:1] == b"[" for text in inputs)


def test_what_is_refused(project: Project) -> None:
    project.ci("--since", "nonsense", code=USAGE)
    project.ci("--baseline", "prog.py", code=USAGE)
    project.ci("--budget", "0", "--set", "engine.kind=spoton", code=USAGE)
    project.write("bad.diff", "hello")
    project.ci("--in-diff", "bad.diff", code=USAGE)
    project("ci", "nowhere.toml", code=USAGE)
    project.write("fuzz.verdicts.toml", "[[finding]]\nsignature = 3\n")
    project.ci("--budget", "0", code=USAGE)
    (project.path / "fuzz.verdicts.toml").unlink()
    project.write("prog.py", "def parse(:\n")
    project.ci("--since", "main", code=USAGE)
    project.write("prog.py", "import nowhere\n")
    project.ci("--budget", "0", code=FAILED)


DEADLY = """\
import os
def parse(data: bytes):
    if data[:1] == b"d":
        os.kill(os.getpid(), 11)
    return len(data)
"""


def test_the_end_of_the_process_is_the_same_finding_in_the_replay(project: Project) -> None:
    project.write("prog.py", DEADLY)
    project.write("fuzztui-ci/corpus/inputs/d", "d")
    project.fuzz(code=FINDINGS)
    (run,) = json.loads(project.output("results.sarif"))["runs"]
    (error,) = [result for result in run["results"] if result["level"] == "error"]
    assert error["locations"][0]["physicalLocation"]["region"] == {"startLine": 4}
    signature = "was killed by SIGSEGV @ prog.py in parse"
    project.write(
        "fuzz.verdicts.toml", f'[[finding]]\nsignature = "{signature}"\nverdict = "known"\n'
    )
    project.ci("--budget", "0")
    project.fuzz()


def test_choices_of_a_generator_keep_their_meaning(project: Project) -> None:
    project.write("gen.py", "def make(draw):\n    return draw.text('abc', 0, 20)\n")
    project.write("prog.py", 'def parse(text):\n    return text == "a constant"\n')
    project.write(
        "fuzz.toml",
        CAMPAIGN.replace('"mu2"', '"zest"').replace("path =", 'generator = "gen:make"\npath ='),
    )
    with (project.path / "fuzz.toml").open("a") as file:
        file.write("constants = true\n")
    project.fuzz()
    constants = project.path / "fuzztui-ci/corpus/constants.json"
    before = constants.read_text()
    assert "a constant" in before
    project.write("prog.py", 'def parse(text):\n    return text == "something else"\n')
    project.fuzz()
    assert constants.read_text() == before
    assert (project.path / "fuzztui-ci/run/constants.json").read_text() == before


def test_a_gate_without_a_score_does_not_pass(project: Project) -> None:
    for name in ("a", "b"):
        (project.path / "fuzztui-ci/corpus/inputs" / name).unlink()
    project.ci("--budget", "0", "--fail-under", "50", code=FAILED)


@pytest.mark.parametrize("corpus", ["none", "two inputs"])
def test_what_was_not_fuzzed_is_not_green(project: Project, corpus: str) -> None:
    if corpus == "none":
        for name in ("a", "b"):
            (project.path / "fuzztui-ci/corpus/inputs" / name).unlink()
        project.ci("--budget", "0", code=FAILED)  # nothing ran at all
    else:
        project.ci("--budget", "0")
    project.write("prog.py", "import time\ntime.sleep(4)\n" + PROGRAM)
    project.ci("--budget", "1s", code=FAILED)  # the replay alone takes longer
    assert "nothing was fuzzed" in project.output("summary.md")
    if corpus != "none":  # without changes to fuzz, the replay is all that a job does
        project.commit()
        project.ci("--budget", "1s", "--since", "main", code=FAILED)


def test_fuzzing_that_measures_nothing_is_not_green(project: Project) -> None:
    project.write("inner.py", PROGRAM)
    project.write("prog.py", "from inner import parse\ndef never(n): return n + 1\n")
    project.fuzz(code=FAILED)
    assert "inner.py" in project.output("summary.md")


def test_steps_without_time_say_how_many_inputs_are_left(project: Project) -> None:
    for n in range(40):
        project.write(f"fuzztui-ci/corpus/inputs/{n}", f"({n}")
    project.ci("--budget", "0")
    known = json.loads(project.output("corpus/outcomes.json"))
    assert len(known) == 42
    project.ci("--budget", "0.001s", code=FAILED)  # over before the target is imported
    summary = project.output("summary.md")
    assert "at least 42 inputs not replayed" in summary and "| replayed | 0 input" in summary
    assert "42 inputs not compared" in summary
    assert json.loads(project.output("corpus/outcomes.json")) == known


def test_kept_inputs_are_recorded_before_anything_is_fuzzed(project: Project) -> None:
    found: list[str] = []
    project.fuzz(look=lambda: found.extend(json.loads(project.output("corpus/outcomes.json"))))
    assert len(found) == 2


def test_a_campaign_ends_at_the_time_limit_of_who_follows_it(project: Project) -> None:
    run = project.path / "run"
    output = f"campaign.output={run}"
    project("fuzz.toml", "--detach", "--set", output, "--set", "campaign.budget=1h")
    wait_for_end(run, as_json=False, until=0.0)
    assert standing(run).state.state == "stopped"
    assert running(run) is None


def test_seeds_are_not_counted_as_kept_inputs(project: Project) -> None:
    for name in ("c", "d", "e"):
        project.write(f"seeds/{name}", name)
    project.write("fuzz.toml", CAMPAIGN + 'seeds = ["seeds"]\n')
    words = "2 kept inputs and 3 seeds of the campaign"
    assert words in project.ci("--budget", "0")
    assert words in project.stderr


def test_a_changed_value_of_a_seed_is_a_finding_after_a_run_without_fuzzing(
    project: Project,
) -> None:
    project.write("seeds/c", "(c")
    shutil.rmtree(project.path / "fuzztui-ci")
    project.write("fuzz.toml", CAMPAIGN + 'seeds = ["seeds"]\n')
    project.commit()
    project.ci("--since", "main")  # nothing has changed
    project.write("prog.py", PROGRAM.replace("LIMIT = 3", "LIMIT = 2"))
    project.ci("--since", "main", "--budget", "0", code=FINDINGS)
    project.write("prog.py", PROGRAM)
    project.ci("--since", "main", "--budget", "0")


def test_jobs_judge_a_shard_each(project: Project) -> None:
    project.ci("--budget", "0")
    whole = json.loads(project.output("score.json"))
    assert whole["mutants"]
    ids: list[str] = []
    for number in (1, 2):
        project.fuzz("--shard", f"{number}/2", "--output", f"part-{number}",
                     "--corpus", "fuzztui-ci/corpus", output=f"part-{number}")  # fmt: skip
        part = json.loads((project.path / f"part-{number}/score.json").read_text())
        assert part["shard"]["number"] == number
        ids += [m["id"] for m in part["mutants"]]
        assert f"shard {number}/2" in (project.path / f"part-{number}/summary.md").read_text()
    assert sorted(ids) == sorted(m["id"] for m in whole["mutants"])
    seeds = {spec(project, number)["seed"] for number in (1, 2)}
    assert len(seeds) == 2
    assert {spec(project, number)["engine"]["shard"] for number in (1, 2)} == {"1/2", "2/2"}
    project("merge", "part-1/score.json", "part-2/score.json", "-o", "whole.json")
    merged = json.loads((project.path / "whole.json").read_text())
    assert merged["killed"] >= whole["killed"]
    # The whole is a baseline of a job, and gates hold for the shard alone.
    project.ci("--budget", "0", "--shard", "2/2", "--baseline", "whole.json", "--output", "part-2",
               "--corpus", "fuzztui-ci/corpus")  # fmt: skip
    project.write("prog.py", PROGRAM.replace("min(n, LIMIT)", "min(n, LIMIT) if n < 77 else 7"))
    failed = 0
    for number in (1, 2):
        project("ci", "fuzz.toml", "--all", "--budget", "0", "--shard", f"{number}/2",
                "--baseline", "whole.json", "--output", f"part-{number}",
                "--corpus", "fuzztui-ci/corpus", code=None)  # fmt: skip
        part = json.loads((project.path / f"part-{number}/score.json").read_text())
        new = [m for m in part["mutants"] if "77" in m["before"] and m["state"] != "killed"]
        text = (project.path / f"part-{number}/summary.md").read_text()
        assert bool(new) == ("new survivor" in text.replace("no new survivors", ""))
        failed += bool(new)
    assert failed, "a new mutant survives in one of the shards at least"


def spec(project: Project, number: int) -> dict[str, Any]:
    text = (project.path / f"part-{number}/run/out/main/spec.json").read_text()
    return json.loads(text)
