"""The commands that README and docs show in blocks: which are run, and why others are not."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
TUTORIALS = ROOT / "docs/tutorials"
"""Of these pages, test_packaging.py runs every line."""
FENCE = re.compile(r"^```(\w*)\n(.*?)^```", re.MULTILINE | re.DOTALL)

ELSEWHERE = {
    "fuzztui watch /path/to/sync_dir": "another machine (tests/e2e/test_watch.py)",
    "fuzztui adopt /path/to/sync_dir": "AFL++ (tests/e2e/test_adopt.py)",
    "fuzztui hosts check campaign.toml": "another machine (tests/machines/hosts)",
    "fuzztui attach ann@box:runs/json": "another machine (tests/e2e/test_attach_hosts.py)",
    "fuzztui attach box:": "another machine",
    "fuzztui status box:json": "another machine",
    "fuzztui attach --read-only box:json": "another machine",
    "fuzztui attach runs/tour": "a terminal (tests/e2e/test_terminal.py)",
    "fuzztui replay runs/tour --speed 10": "a terminal (tests/tui/test_run_app.py)",
    "fuzztui compare runs/a runs/b --screen": "a terminal (tests/tui/test_compare_screen.py)",
    "fuzztui compare runs/a runs/b --at 10m -o compared.html": "runs of ten minutes",
    "fuzztui metrics runs/crate -o /var/lib/node_exporter/fuzztui.prom --every 15s": "root",
    "fuzztui metrics runs/crate /path/to/sync_dir --listen 9464": "a port of the network",
    "fuzztui ci --budget 5m": "a git repository (tests/e2e/test_ci.py)",
    "fuzztui ci --since origin/main --budget 5m": "a git repository",
    "fuzztui merge job-*/score.json -o score.json": "files of several jobs of CI",
    "fuzztui merge runs/json-1-of-2 runs/json-2-of-2 -o runs/json": "shards of two machines",
    "fuzztui status runs/json": "shards of two machines (tests/e2e/test_merge_runs.py)",
    "fuzztui types": "a run of spoton (tests/e2e/test_types_run.py)",
    "fuzztui repro campaign.toml runs/campaign/out/main/crashes/id:000000*": "the same",
    "fuzztui sync run .cache/fuzz --name ci": "a run of CI (tests/machines/sync)",
    "fuzztui sync run .cache/fuzz --name ci --prune": "a run of CI",
    "fuzztui cluster check cluster.toml": "a cluster (tests/e2e/test_cluster_score.py)",
    "fuzztui cluster init ~/.fuzztui-cluster": "a cluster",
    "fuzztui cluster scheduler 10.0.0.5 --tls ~/.fuzztui-cluster": "a cluster",
    "fuzztui cluster worker tls://10.0.0.5:8786 --tls ~/.fuzztui-cluster --slots 8": "a cluster",
    "fuzztui score runs/tomllib-mu2 --cluster cluster.toml": "a cluster",
    "fuzztui status /path/to/sync_dir": "AFL++ (tests/e2e/test_watch.py)",
    "fuzztui crashy-afl.toml": "AFL++ (tests/samples)",
    "fuzztui stb-image-afl.toml": "AFL++ (tests/samples)",
    "fuzztui nested-fuzzfirst.toml": "AFL++ (tests/samples)",
    "fuzztui sample_campaigns/mujs-text.toml": "AFL++ (tests/e2e/test_text_samples.py)",
    "fuzztui sample_campaigns/dash-oracle.toml": "AFL++ (tests/e2e/test_text_samples.py)",
    "fuzztui sample_campaigns/pycparser-text.toml": "tests/e2e/test_text_samples.py",
    "fuzztui init": "a project (tests/e2e/test_init_run.py)",
    "fuzztui init --function mylib:parse": "a project",
    "fuzztui init --print --yes": "a project",
    "fuzztui init --yes --start": "a project",
    "fuzztui test tests/": "a project (tests/e2e/test_suite_run.py)",
    "fuzztui types campaign.toml": "tests/e2e/test_spoton_run.py",
    "fuzztui ctl runs/tour promote-mutants state=alive": "a running campaign",
    "fuzztui sync runs/tomllib /path/to/shared --every 5m": "no end (tests/machines/sync)",
    ".venv/bin/fuzztui sample_campaigns/tomllib-mu2.toml": "installs (.ci/bare-debian, nightly)",
}
"""Command lines that are only parsed, and what they need, or what runs them."""

PLACEHOLDERS = ("RUN", "$TMPDIR", "$SLURM", "FILE", "DIR", "CAMPAIGN")
"""In lines that name the reader's own run or job."""

MEANS = {
    "RUN": "runs/tour", "DIR": "inputs", "ID": "0", "baseline.json": "score-1.json",
    "other-dir": "inputs", "campaign.toml": "tomllib-mu2.toml",
}  # fmt: skip
"""What words of the reader's project stand for where the lines are run."""

RUN = (
    "fuzztui sample_campaigns/tomllib-mu2.toml",
    "fuzztui tomllib-mu2.toml",
    "fuzztui tomllib-mu2.toml --set campaign.name=tour",
    "fuzztui status runs/tour",
    "fuzztui mutants list runs/tour state=alive",
    "fuzztui score runs/tour",
    "fuzztui report runs/tour -o tour.html",
    "fuzztui report runs/tomllib-mu2 -o run.html",
    "fuzztui report runs/tomllib-mu2 -o summary.md",
    "fuzztui report runs/tomllib-mu2 -o run.json",
    "fuzztui report",
    "fuzztui tomllib-zest.toml",
    "fuzztui tomllib-zest.toml --detach",
    "fuzztui compare runs/tomllib runs/tomllib-mu2",
    "fuzztui campaign.toml --headless --set campaign.budget=5m",
    "fuzztui export campaign.toml --pytest tests/test_fuzz.py",
    "fuzztui score campaign.toml --fail-under 80 --survivors",
    "fuzztui compare 'zest=runs/z*' 'mu2=runs/m*'",
    "fuzztui score runs/tomllib-mu2 --shard 1/4 --json",
    "fuzztui score runs/tomllib-mu2 --shard 2/4 --json",
    "fuzztui merge score-1.json score-2.json score-3.json score-4.json -o score.json",
    "fuzztui mutants list RUN",
    "fuzztui mutants list RUN --survivors",
    "fuzztui mutants export RUN -o mutation.json",
    "fuzztui score RUN",
    "fuzztui score RUN --json",
    "fuzztui score RUN --matrix",
    "fuzztui score RUN --fail-under 80",
    "fuzztui score RUN --fail-new baseline.json",
    "fuzztui corpus minimise RUN -o DIR",
    "fuzztui score RUN --corpus DIR",
    "fuzztui corpus merge DIR RUN other-dir",
    "fuzztui corpus why RUN main/12",
    "fuzztui corpus export RUN DIR",
    "fuzztui corpus export RUN testdata/fuzz/FuzzParse --format go",
    "fuzztui corpus import DIR seeds",
    "fuzztui coverage RUN",
    "fuzztui coverage RUN --format lcov -o lcov.info",
    "fuzztui coverage RUN --entry main/12",
    "fuzztui coverage RUN --over-time",
    "fuzztui coverage RUN --by-line",
    "fuzztui export RUN --pytest tests/test_fuzz_parser.py",
    "fuzztui export RUN --pytest tests/test_fuzz_parser.py --tests 20",
    "fuzztui status RUN",
    "fuzztui completion bash",
    "fuzztui completion zsh",
    "fuzztui completion fish",
    "fuzztui man",
)
"""Command lines that are run, in this order."""

GATES = ("--fail-under", "--fail-new")
"""Options by which a command may end with a status of its own."""


def commands(page: Path) -> list[str]:
    """The calls of fuzztui in the blocks of a page, without comments and redirections."""
    found = []
    for language, block in FENCE.findall(page.read_text()):
        for line in block.splitlines() if language in ("", "sh") else ():
            for part in re.split(r"&&|;|<\(|\)|\|", line.removeprefix("$ ").split(" #")[0]):
                call = re.sub(r" \[[^]]*\]", "", part.split(">")[0].strip())  # optional words
                call = re.split(r" {2,}", call)[0]  # what follows says what it does
                match = re.match(r"(?:ssh -t \S+ )?((?:\.venv/bin/)?fuzztui(?: .*)?)$", call)
                if match:
                    found.append(" ".join(match[1].split()))
    return found
