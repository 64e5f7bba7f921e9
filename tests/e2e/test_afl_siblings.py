"""A real libFuzzer beside a campaign of AFL++: both read what the other has found."""

from __future__ import annotations

import hashlib
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from homes import compiled, logged, write_seeds
from skipped import needs_afl
from waiting import DEADLINE_S, wait_until

from fuzztui.kernel.wire.events import FindingDescribed

pytestmark = [
    pytest.mark.slow,
    needs_afl("afl-fuzz", "afl-cc"),
    pytest.mark.skipif(shutil.which("clang") is None, reason="clang (a C compiler) is missing"),
]

HARNESS = r"""
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
volatile int x;
int LLVMFuzzerTestOneInput(const uint8_t *b, size_t n) {
  if (n > 3 && b[0] == 'c') { x++; if (b[1] == 'r') { x++; if (b[2] == '!') { x++;
    if (b[3] == '!' && !getenv("CALM")) abort(); } } }
  if (n > 12 && !memcmp(b, "hidden-magic", 12)) x += 2;
  if (n > 12 && !memcmp(b, "their--magic", 12)) x += 3;
  return 0;
}
#ifdef WITH_MAIN
int main(void) {
  static uint8_t b[4096];
  size_t n = fread(b, 1, sizeof b, stdin);
  return LLVMFuzzerTestOneInput(b, n);
}
#endif
"""

CAMPAIGN = """\
[campaign]
output = "run"
[target]
command = ["./target"]
[engine]
kind = "afl"
instances = 2
seeds = ["seeds"]
[engine.options]
main = ["-F", "corpus", "-F", "artifacts"]
s1 = []
"""


@pytest.fixture
def libfuzzer(home):
    """``libfuzzer(*options, **env)`` starts one on the directory ``corpus``."""
    try:
        compiled(home.path, HARNESS, "-g", "-fsanitize=fuzzer", compiler="clang", name="libfuzzer")
    except subprocess.CalledProcessError:
        pytest.skip("clang has no libFuzzer here (sanitizers)")
    started: list[subprocess.Popen[bytes]] = []
    for name in ("corpus", "artifacts"):
        (home.path / name).mkdir()

    def start(*options: str, **env: str) -> subprocess.Popen[bytes]:
        # Without its table of comparisons, it does not guess the string that only AFL++ has.
        argv = ["./libfuzzer", "corpus", "-artifact_prefix=artifacts/", "-use_cmp=0", *options]
        with (home.path / "libfuzzer.log").open("w") as log:
            process = subprocess.Popen(argv, cwd=home.path, env={**home.env, **env}, stderr=log)
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait(DEADLINE_S)


def hashes(directory: Path) -> dict[str, str]:
    files = [path for path in directory.iterdir() if path.is_file()]
    return {path.name: hashlib.sha1(path.read_bytes()).hexdigest() for path in files}


def test_entries_go_both_ways_and_its_crashes_are_findings(home, libfuzzer):
    compiled(home.path, HARNESS, "-g", "-DWITH_MAIN", name="target")
    write_seeds(home.path, b"hidden-magic?")
    assert libfuzzer("-seed=1").wait(DEADLINE_S) != 0  # at its crash
    (crash,) = (home.path / "artifacts").iterdir()
    before = hashes(home.path / "corpus")
    home.file.write_text(CAMPAIGN)
    home.detach()
    queue = home.run / "out/main/queue"

    def described() -> bool:
        found = home.status()["findings"]
        return any("LLVMFuzzerTestOneInput" in row["title"] for row in found)

    wait_until(lambda: [*queue.glob("*,sync:corpus_0*")], home.status)
    wait_until(lambda: [*(home.run / "out/main/crashes").glob("*,sync:artifacts_1*")], home.status)
    wait_until(described, home.status)
    # Ours go there while it runs; its own files stay as they are.
    libfuzzer("-reload=1", CALM="1")
    export = home.popen("corpus", "export", "run", "corpus", "--every", "1s")
    try:
        wait_until(lambda: "RELOAD" in (home.path / "libfuzzer.log").read_text(errors="replace"))
    finally:
        export.send_signal(signal.SIGINT)
        export.communicate(timeout=DEADLINE_S)
    after = hashes(home.path / "corpus")
    assert before.items() <= after.items()
    assert all(name == digest for name, digest in after.items())  # no name of a part is left
    assert hashlib.sha1(b"hidden-magic?").hexdigest() in after
    assert crash.exists()


BESIDE = """\
[campaign]
output = "run"
[target]
command = ["./target"]
[engine]
kind = "afl"
instances = 2
seeds = ["seeds"]
[engine.options]
main = []
s1 = []
[[siblings]]
name = "libfuzzer"
corpus = "corpus"
crashes = "artifacts"
"""


def test_a_sibling_of_the_campaign_file(home, libfuzzer):
    compiled(home.path, HARNESS, "-g", "-DWITH_MAIN", name="target")
    write_seeds(home.path, b"hidden-magic?")
    theirs = b"their--magic!"  # which afl-fuzz cannot guess here
    (home.path / "corpus" / hashlib.sha1(theirs).hexdigest()).write_bytes(theirs)
    assert libfuzzer("-seed=1").wait(DEADLINE_S) != 0  # at its crash
    (crash,) = (home.path / "artifacts").iterdir()
    before = hashes(home.path / "corpus")
    libfuzzer("-reload=1", CALM="1")
    wait_until(lambda: "INITED" in (home.path / "libfuzzer.log").read_text(errors="replace"))
    home.file.write_text(BESIDE)
    home.detach()

    def row() -> dict[str, object]:
        return home.status()["siblings"][0]

    wait_until(lambda: [*(home.run / "out/main/queue").glob("*,sync:libfuzzer,*")], home.status)
    wait_until(lambda: row()["kept"] and row()["exported"] and row()["crashes"] == 1, home.status)

    def described() -> list[str]:
        found = [e for e in logged(home.run, FindingDescribed) if e.instance == "libfuzzer"]
        return [e.file for e in found if "LLVMFuzzerTestOneInput" in e.title]

    wait_until(lambda: any(crash.name in file for file in described()), described)
    wait_until(lambda: "RELOAD" in (home.path / "libfuzzer.log").read_text(errors="replace"))
    # Ours are there now; its own files stay as they are.
    after = hashes(home.path / "corpus")
    assert before.items() <= after.items()
    assert hashlib.sha1(b"hidden-magic?").hexdigest() in after
    assert hashlib.sha1(crash.read_bytes()).hexdigest() not in after, "not its crashes"
    assert "sibling" in home("status", "run")
