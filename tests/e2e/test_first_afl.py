"""Corpora on programs that are really instrumented, with the real afl-showmap."""

import asyncio
import os
import shutil
import subprocess

import pytest
from homes import AFL_ENV, compiled

from fuzztui.features.fuzzfirst import showmap
from fuzztui.features.fuzzfirst.batch import AflBatch
from fuzztui.features.fuzzfirst.prune import gather, gather_seeds, lay_out, prune, put_aside
from fuzztui.features.fuzzfirst.transfer import Transfer
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import RunDir, SupervisorError
from fuzztui.run.observe.afl_names import parse_name
from fuzztui.run.process.identity import marked

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not shutil.which("afl-clang-fast"), reason="needs AFL++"),
]

SOURCE = r"""
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
static int guard(const char *b) { return b[1] == 'g'; }
int main(int argc, char **argv) {
  char b[64] = {0};
  int fd = argc > 1 ? open(argv[1], O_RDWR) : 0, n = read(fd, b, 60);
  if (n < 1) return 1;
  if (b[0] == 'C') abort();
  if (b[0] == 'H') for (;;) pause();
  if (b[0] == 'W') { usleep(700000); puts("slow"); }
  if (b[0] == 'K') kill(getppid(), SIGKILL);      /* the fork server */
  if (b[0] == 'S') kill(getppid(), SIGSTOP);
  if (b[0] == 'D' && argc > 1) unlink(argv[1]);
  if (b[0] == 'd' && argc > 1) { unlink(argv[1]); mkdir(argv[1], 0700); }
  if (b[0] == 'R' && argc > 1) { ftruncate(fd, 0); pwrite(fd, "C", 1, 0); }
  if (b[0] == 'M') { char *volatile p = malloc(1 << 28); if (!p) abort(); }
  if (b[0] == 'w') { FILE *f = fopen("litter", "w"); if (f) fclose(f); }
  if (b[0] == 'F') for (int i = 0; i < 300; i++) if (!fork()) { setsid(); sleep(1000); exit(0); }
  if (b[0] == 'B') for (int i = 0; i < 1500; i++) if (!fork()) { sleep(1000); exit(0); }
  if (b[0] == 'x') return 42;
  if (guard(b)) {
    for (int i = 1; i < n; i++) if (b[i] == 'g') putchar('.');
    if (b[2] == '!') abort();
  }
  return 0;
}
"""
CALM = r"""
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
int main(void) {
  char b[64] = {0};
  int n = read(0, b, 60);
  if (b[0] == 'C') abort();
  if (b[0] == 'M' && b[1] >= 'g') {
    for (int i = 1; i < n; i++) if (b[i] == 'g') putchar('.');
    if (b[2] == '!') abort();
  }
  return 0;
}
"""
HARNESS = r"""
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
volatile size_t seen;
int LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) {
  if (n > 1 && d[0] == 'C') abort();
  for (size_t i = 0; i < n; i++) if (d[i] == 'H') for (;;) { __asm__ volatile(""); }
  if (n > 2 && d[1] == 'a') seen = n;
  return 0;
}
"""


@pytest.fixture(scope="session")
def zoo(tmp_path_factory):
    home = tmp_path_factory.mktemp("first")

    def compile_it(name, source, *flags):
        compiled(home, source, "-O1", "-w", *flags, compiler="afl-clang-fast", name=name)

    compile_it("target", SOURCE)
    compile_it("fragile", SOURCE.replace("if (n < 1) return 1;", "abort();"))
    compile_it("calm", CALM)
    compile_it("open", CALM.replace("b[0] == 'M' &&", ""))  # a mutant of it
    compile_it("harness", HARNESS, "-fsanitize=fuzzer")
    compiled(home, "int main(void) { return 0; }", compiler="cc", name="plain")
    return home


@pytest.fixture
def lab(tmp_path, zoo):
    """``lab.run("target", inputs)``: outcomes; the program runs as the campaign says."""

    class Lab:
        home = RunDir(tmp_path / "run")

        def batch(self, program, *arguments, target="", engine=""):
            file = tmp_path / "c.toml"
            (tmp_path / "cwd").mkdir(exist_ok=True)
            file.write_text(
                f"[campaign]\noutput = 'run'\n[target]\ncommand = ['/bin/false']\n"
                f"cwd = '{tmp_path}/cwd'\ntimeout = '0.5s'\n{target}\n"
                f"[engine]\nkind = 'afl'\n{engine}\n"
            )
            command = [str(zoo / program), *arguments]
            return AflBatch(load(file).campaign, self.home, command, program)

        def inputs(self, texts):
            files = []
            for number, text in enumerate(texts):
                files.append(tmp_path / f"i{number}")
                files[-1].write_text(text)
            return files

        def run(self, program, texts, *arguments, **keys):
            batch = self.batch(program, *arguments, **keys)
            verdicts = asyncio.run(batch.run(self.inputs(texts)))
            assert [*self.home.path.glob("supervisor/bench/*")] == []
            assert marked(self.home.path) == []
            assert [f.read_text() for f in self.inputs(texts)] == list(texts)
            return verdicts

    return Lab()


def outcomes(verdicts):
    return [verdict.outcome for verdict in verdicts]


@pytest.mark.parametrize("arguments", [("@@",), ()], ids=["file", "stdin"])
def test_outcomes_signals_and_traces(lab, arguments):
    verdicts = lab.run("target", ["a", "C", "H", "agg", "aggggg", "W", "C", "b"], *arguments)
    assert outcomes(verdicts) == ["ok", "crash", "hang", "ok", "ok", "ok", "crash", "ok"]
    assert [v.sig for v in verdicts] == [0, 6, 0, 0, 0, 0, 6, 0]
    a, crash, _, two, five, *_ = (v.trace for v in verdicts)
    assert a == verdicts[-1].trace and a != two != five
    assert {t >> 3 for t in a} != {t >> 3 for t in five}
    # A loop that is gone through more often: an edge of before in another bucket.
    assert {t >> 3 for t in two - five} & {t >> 3 for t in five - two}
    assert crash - a and crash & a
    assert os.listdir(lab.home.path.parent / "cwd") == []


@pytest.mark.parametrize("arguments", [("@@",), ()], ids=["file", "stdin"])
@pytest.mark.parametrize("handlers", ["DRw", "dd", "K", "F"])
def test_no_input_spoils_the_batch(lab, arguments, handlers):
    texts = ["a", *handlers, "ag", *handlers, "C", "b"]
    verdicts = lab.run("target", texts, *arguments)
    expected = {"K": "crash", "C": "crash"}
    assert outcomes(verdicts) == [expected.get(text, "ok") for text in texts]
    if handlers == "F":
        return  # what it leaves behind continues covering, in the map of those after it
    plain = lab.run("target", ["a", "ag", "b"], *arguments)
    assert [v.trace for t, v in zip(texts, verdicts, strict=True) if t in ("a", "ag", "b")] == [
        v.trace for v in plain
    ]


def test_who_stops_the_fork_server_or_forks_without_end_has_no_end(lab, monkeypatch):
    monkeypatch.setattr(showmap, "STALL_S", 3.0)
    a, stops, b, forks, c = outcomes(lab.run("target", ["a", "S", "b", "B", "c"]))
    assert (a, stops, b, c) == ("ok", "hang", "ok", "ok")
    # Its 1,500 processes may all be there before anybody has counted them.
    assert forks in ("hang", "ok")
    assert not marked(lab.home.path)


def test_the_limit_of_memory_is_the_campaigns(lab):
    assert outcomes(lab.run("target", ["M", "a"], target="memory = '200MB'")) == ["crash", "ok"]


def test_the_environment_is_the_campaigns(lab):
    env = "env = { AFL_CRASH_EXITCODE = '42', AFL_DEBUG = '1', AFL_QUIET = '1' }"
    assert outcomes(lab.run("target", ["a", "x", "C"], target=env)) == ["ok", "crash", "crash"]
    assert outcomes(lab.run("target", ["a", "x", "C"])) == ["ok", "ok", "crash"]


def test_a_harness_is_run_in_one_process_after_another(lab):
    verdicts = lab.run("harness", ["bbb", "Cc", "bab", "H", "bbb"])
    assert outcomes(verdicts) == ["ok", "crash", "ok", "hang", "ok"]
    assert verdicts[0].trace == verdicts[4].trace != verdicts[2].trace


def test_what_cannot_be_run_is_said(lab):
    with pytest.raises(SupervisorError, match=r"plain: not instrumented; let target.build call"):
        lab.run("plain", ["a"])
    assert outcomes(lab.run("fragile", ["a", "b", "H"])) == ["crash"] * 3


def fuzz(program, seeds, out, name, execs="9000"):
    command = ["afl-fuzz", "-M", name, "-i", seeds, "-o", out, "-s", "1", "-E", execs]
    env = {**os.environ, **AFL_ENV, "AFL_IMPORT_FIRST": "1"}
    command += ["-t", "200", "--", program]
    subprocess.run(command, env=env, cwd=out.parent, check=True, capture_output=True, timeout=300)


def test_a_slot_from_its_seeds_to_the_target(lab, zoo, tmp_path):
    """A mutant's finds and crash, run on the target; then pruned for the next mutant."""
    if not shutil.which("afl-fuzz"):
        pytest.skip("needs AFL++")
    seeds = tmp_path / "given"
    seeds.mkdir()
    for name, text in {"a": "abc", "b": "C"}.items():
        (seeds / name).write_text(text)
    target = lab.batch("calm")
    mutant = lab.batch("open")

    async def job():
        given = gather_seeds(seeds)
        handover = Transfer(lab.home.out, target)
        await handover.start(given)
        pruned = await prune(mutant, given)
        put_aside(pruned, lab.home.path / "mutants" / "aside" / "m1")
        lay_out(pruned.kept, slot / "seeds")
        return handover

    slot = lab.home.path / "mutants" / "slots" / "m1"
    handover = asyncio.run(job())
    aside = lab.home.path / "mutants" / "aside" / "m1"
    assert [f.name for f in aside.iterdir()] == ["crash:b"]
    assert [f.name for f in (slot / "seeds").iterdir()] == ["a"]
    fuzz(zoo / "open", slot / "seeds", slot / "out", "m1")
    found = gather(slot / "out", ["m1"], ("queue", "crashes", "hangs"))
    assert {one.origin for one in found if one.origin.startswith("seed:")} == {"seed:a"}
    asyncio.run(handover.take(found))
    assert {one.digest for one in found} <= set(handover.verdicts)
    queue = sorted((lab.home.out / "handed" / "queue").iterdir())
    names = [parse_name(file.name) for file in queue]
    assert [name.id for name in names] == list(range(len(names)))
    assert all(name.sync == "m1" and name.src for name in names)
    kept = sorted((lab.home.out / "handed").rglob("*"))
    assert asyncio.run(handover.take(found)) == 0
    assert sorted((lab.home.out / "handed").rglob("*")) == kept
    # The target's afl-fuzz takes over what it lacks, as from any sibling.
    good = tmp_path / "good"
    good.mkdir()
    (good / "a").write_text("abc")
    (lab.home.out / "handed" / "queue" / f"id:{len(queue):06},sync:m1,src:000000").write_text("Mhg")
    fuzz(zoo / "calm", good, lab.home.out, "main", "50000")
    imported = [parse_name(file.name) for file in (lab.home.out / "main" / "queue").iterdir()]
    assert any(name.sync == "handed" for name in imported)
