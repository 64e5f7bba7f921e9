"""A real campaign of AFL++ with a grammar: fragments are harvested and spliced while it runs."""

from contextlib import suppress
from pathlib import Path

import pool_reader
import psutil
import pytest
from homes import compiled, write_seeds
from skipped import needs_afl
from supervised import Supervised
from waiting import wait_until

from fuzztui.engines.text.block import BLOCK, read_block
from fuzztui.engines.text.table import ARMS, FRAGMENT, TEMPLATE
from fuzztui.kernel.wire.commands import Stop

pytest.importorskip("ast_grep_py")
pytestmark = [pytest.mark.slow, needs_afl()]

TARGET = r"""
#include <string.h>
#include <unistd.h>
int main(void) {
  char b[4096] = {0};
  volatile int x = 0;
  if (read(0, b, 4095) < 1) return 1;
  for (char *at = b; *at; at++) switch (*at) {
    case '{': x++; break;
    case '(': x += 2; break;
    case ';': x += 3; break;
  }
  if (strstr(b, "while (alpha")) x++;
  if (strstr(b, "f(20)")) x++;
  return x & 1;
}
"""
SEEDS = {
    "a": "int main(void) {\n  if (alpha > 10) return f(alpha);\n  return 20;\n}\n",
    "b": "void g(int beta) {\n  if (beta) h(beta, 30);\n  else while (1) {}\n}\n",
}


class Fleet(Supervised):
    """A campaign with ``text.language``."""

    engine = 'seeds = ["seeds"]'
    more = """[text]
text = 0.4
splice = 0.5
language = "c"
templates = ["if ($A) $B ==> while ($A) $B"]
"""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, "afl")
        write_seeds(directory, **SEEDS)
        program = compiled(directory, TARGET, compiler="afl-clang-fast")
        self.target = f'command = ["{program}"]'

    def harvests(self) -> list[int]:
        found = []
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                words = process.cmdline()
                if "fuzztui.features.mutators.fragments" in words and str(self.run) in words:
                    found.append(process.pid)
        return found

    def fragments(self) -> set[bytes]:
        try:
            pool = pool_reader.parse((self.run / "out" / ".pool").read_bytes())
        except OSError:
            return set()
        return {f.text for kind in pool.fragments.values() for f in kind}

    def applied(self, arm: str) -> int:
        block = read_block(self.run / "out/main" / BLOCK)
        return block.arms[ARMS.index(arm)].applied if block else 0


@pytest.fixture
def fleet(tmp_path):
    with Fleet(tmp_path) as fleet:
        yield fleet
    wait_until(lambda: not fleet.harvests())


def test_fragments_are_spliced_and_the_harvest_goes_with_its_supervisor(fleet):
    fleet.start()
    wait_until(lambda: fleet.applied(FRAGMENT) > 100 and fleet.applied(TEMPLATE) > 0)
    wait_until(lambda: {b"h(beta, 30)", b"f(alpha)"} <= fleet.fragments())

    # Killed, it takes the harvest along; the next supervisor has one of its own.
    [first] = wait_until(lambda: len(now := fleet.harvests()) == 1 and now)
    fleet.kill_supervisor()
    wait_until(lambda: not fleet.harvests())
    fleet.start()
    wait_until(lambda: len(fleet.harvests()) == 1 and fleet.harvests() != [first])

    # What is added while it runs is harvested too.
    added = fleet.run / "out/added/queue"
    added.mkdir(parents=True)
    (added / "id:000000,orig:x").write_text("int added(int gamma) { return gamma * 77; }\n")
    wait_until(lambda: b"gamma * 77" in fleet.fragments())
    assert fleet.send(Stop()).ok
    wait_until(lambda: not fleet.harvests())


def test_templates_of_the_matcher_are_used_without_a_grammar(fleet):
    fleet.more = """[text]
rules = false
templates = ["if (:[a]) ==> while (:[a])"]
language = "none"
"""
    fleet.start()
    wait_until(lambda: fleet.applied(TEMPLATE) > 0)
    assert not fleet.fragments()
    assert not fleet.applied(FRAGMENT)
    assert fleet.send(Stop()).ok
    wait_until(lambda: not fleet.harvests())
