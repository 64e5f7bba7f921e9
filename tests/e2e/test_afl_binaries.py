"""A fleet of several binaries: each is built, run, named, and used where it says most.

Also the seeds on which the target fails, in any of them.
"""

import json
import os
import subprocess

import pytest
from homes import AFL_ENV, FUZZTUI
from skipped import needs_afl

pytestmark = [pytest.mark.slow, needs_afl()]

SOURCE = r"""
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(void) {
    char b[64];
    ssize_t n = read(0, b, sizeof b);
    if (n < 4) return 0;
    volatile char *p = malloc(8);
    if (b[0] == 'A') p[8 + (b[1] & 1)] = 1;
    if (b[0] == 'B' && b[1] == 'C') abort();
    if (b[0] == 'S') sleep(100);
    free((void *)p);
    return 0;
}
"""
CAMPAIGN = """
[campaign]
budget = "60000 trials"
[target]
command = ["./t"]
build = "$CC -g -O1 -o t $SOURCE/t.c"
[target.binaries]
asan = {}
laf = {}
cmplog = {}
[engine]
kind = "afl"
instances = 3
seeds = ["seeds"]
"""


def ran(directory, *arguments):
    env = {**os.environ, **AFL_ENV}
    return subprocess.run(
        [FUZZTUI, *arguments], cwd=directory, env=env, capture_output=True, text=True, check=False
    )


@pytest.fixture
def campaign(tmp_path):
    (tmp_path / "t.c").write_text(SOURCE)
    (tmp_path / "c.toml").write_text(CAMPAIGN)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds/a").write_text("@BBBB")
    (tmp_path / "seeds/b").write_text("BBBBB")
    return tmp_path


def test_each_instance_runs_its_binary_and_findings_have_the_best_report(campaign):
    done = ran(campaign, "c.toml", "--headless")
    assert done.returncode == 10, done.stderr
    run = "runs/c"
    status = json.loads(ran(campaign, "status", run, "--json").stdout)
    by = {i["id"]: i for i in status["instances"]}
    assert [by[name]["binary"] for name in ("main", "s1", "s2")] == [None, "asan", "laf"]
    assert "/build-asan/t" in by["s1"]["command_line"]
    assert "/build/t" in by["main"]["command_line"]
    assert "-c build-cmplog/t" in by["s1"]["options"]
    titles = {of["title"] for of in status["findings"]}
    assert "heap-buffer-overflow in main (WRITE)" in titles
    assert "SIGABRT in main" in titles
    (abort,) = (of for of in status["findings"] if of["title"].startswith("SIGABRT"))
    by_asan = ran(campaign, "repro", run, abort["first"])
    assert by_asan.returncode == 10
    assert f"{run}/build-asan/t" in by_asan.stdout
    again = ran(campaign, "c.toml", "--headless", "--set", "campaign.budget=66000 trials")
    assert "the binary laf is built already" in again.stderr


def test_a_build_that_ignores_the_sanitizer_is_refused(campaign):
    text = CAMPAIGN.replace("$CC -g", "env -u AFL_USE_ASAN $CC -g")
    (campaign / "c.toml").write_text(text)
    done = ran(campaign, "c.toml", "--headless")
    assert done.returncode == 1
    assert "target.binaries.asan" in done.stderr
    assert "was built without AddressSanitizer" in done.stderr
    text = text.replace("asan = {}", "asan = { optional = true }")
    (campaign / "c.toml").write_text(text)
    done = ran(campaign, "c.toml", "--headless")
    assert done.returncode == 10, done.stderr
    status = json.loads(
        ran(campaign, "status", str(max((campaign / "runs").iterdir())), "--json").stdout
    )
    assert [i["binary"] for i in status["instances"]] == [None, "laf", None]
    assert "the campaign has no binary asan" in done.stderr
    again = ran(campaign, "c.toml", "--headless", "--set", "campaign.budget=70000 trials")
    assert "to build it again" in again.stderr, "a run goes on with the program that it began with"
    assert "building the binary asan" not in again.stderr


def test_seeds_on_which_the_target_fails_are_findings(campaign):
    seeds = {"old crash": "BCxxx", "slow": "Sxxxx", "overflow": "Axxxx"}
    for name, content in seeds.items():
        (campaign / "seeds" / name).write_text(content)
    done = ran(campaign, "c.toml", "--headless", "--set", "campaign.budget=9000 trials")
    assert done.returncode == 10, done.stderr
    assert "the target fails on 3 of 5 seeds, kept as findings: old crash (SIGABRT)" in done.stderr
    failing = campaign / "runs/c/out/seeds"
    crashes = {file.name.partition("orig:")[2] for file in (failing / "crashes").iterdir()}
    hangs = {file.name.partition("orig:")[2] for file in (failing / "hangs").iterdir()}
    assert (crashes, hangs) == ({"old_crash", "overflow"}, {"slow"})
    status = json.loads(ran(campaign, "status", "runs/c", "--json").stdout)
    titles = {of["title"] for of in status["findings"]}
    assert {"SIGABRT in main", "heap-buffer-overflow in main (WRITE)"} <= titles
    again = ran(campaign, "c.toml", "--headless", "--set", "campaign.budget=12000 trials")
    assert "the target fails on" not in again.stderr, "the first start has reported the seeds"
