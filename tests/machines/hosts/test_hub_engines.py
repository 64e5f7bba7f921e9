"""Each kind of engine on real hosts: what it needs is sent there, and what it finds comes back."""

import hashlib
import importlib.metadata
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from host_lab import Hosts
from hub_lab import HubCampaign

from fuzztui.features.source.fold import LineCoverage
from fuzztui.features.source.index import SourceIndex
from fuzztui.kernel.model.state import Changes
from fuzztui.kernel.wire.events import Message, MutantsFound

pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[3] / "sample_campaigns"


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts."""
    with Hosts(2, tmp_path_factory.mktemp("lab")) as hosts:
        yield hosts


@pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl-fuzz is not installed")
def test_a_program_is_built_once_and_fuzzed_on_all_hosts(tmp_path: Path, hosts: Hosts) -> None:
    for name in ("crate.c", "seeds"):
        source = SAMPLES / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        copy(source, tmp_path / name)
    text = (SAMPLES / "crashy-afl.toml").read_text().replace("instances = 2", "")
    text = text.replace('name = "crashy"', "")
    campaign = HubCampaign(tmp_path, hosts, "afl", text.replace('"1m"', '"10m"'))
    campaign.start()
    for host in hosts.values():  # an entry of the other host was looked at by afl-fuzz
        synced = f"ls {campaign.over_there}/out/*/.synced | grep _main"
        campaign.until(lambda s, h=host, c=synced: h.run(c, check=False).stdout)
    campaign.until(lambda s: s.groups)  # described over there
    campaign.stop()
    state = campaign.state()
    assert {i.engine for i in state.instances.values() if not i.passive} == {"afl-fuzz"}
    assert state.coverage_build in ("measuring", "ready")
    lines = LineCoverage()
    lines.take(state)
    covered = lines.files[str(tmp_path / "crate.c")]
    assert covered.covered > 9
    assert {first.entry for first in covered.first.values()} <= {*state.entries}
    built = (campaign.run / "build" / "crate").read_bytes()
    for host in hosts.values():
        where = f"{campaign.over_there}/shipped/build"
        assert host.run(f"cat {where}/crate | md5sum").stdout.split()[0] == _md5(built)


QUICK = (
    """
#include <unistd.h>
__AFL_FUZZ_INIT();
int main(void) {
    volatile unsigned found = 0;
    unsigned char *data = __AFL_FUZZ_TESTCASE_BUF;
    while (__AFL_LOOP(100000)) {
        int size = __AFL_FUZZ_TESTCASE_LEN;
"""
    + "".join(
        f"        if (size > {n} && data[{n}] % 16 == {n % 16}) found++;\n" for n in range(40)
    )
    + "    }\n    return 0;\n}\n"
)
"""A persistent target: a process for each input takes minutes for one entry on a busy machine, and
afl-fuzz imports between two entries only."""
JOINED = """
[campaign]
budget = "10m"
[target]
command = ["./quick"]
build = "$CC -O1 -o quick $SOURCE/quick.c"
[engine]
kind = "afl"
seeds = ["seeds"]
"""


@pytest.mark.skipif(shutil.which("afl-fuzz") is None, reason="afl-fuzz is not installed")
def test_an_afl_fuzz_of_a_user_joins_by_the_hubs_directory(tmp_path: Path, hosts: Hosts) -> None:
    (tmp_path / "quick.c").write_text(QUICK)
    (tmp_path / "seeds").mkdir()
    (tmp_path / "seeds" / "one").write_text("0" * 40)
    campaign = HubCampaign(tmp_path, hosts, "joined", JOINED)
    campaign.start()
    out = campaign.run / "out"
    by_hand = subprocess.Popen(
        # A main imports each 20 s, a secondary each minute; -d: no minutes of bit flips before.
        [
            "afl-fuzz", "-i", tmp_path / "seeds", "-o", out, "-M", "laptop", "-d",
            "-V", "300", "--", campaign.run / "build" / "quick",
        ],
        env=os.environ | {"AFL_NO_UI": "1", "AFL_SYNC_TIME": "1", "AFL_SKIP_CPUFREQ": "1",
                          "AFL_I_DONT_CARE_ABOUT_MISSING_CRASHES": "1", "AFL_NO_AFFINITY": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip
    try:
        for host in hosts.values():  # what it finds is on each host, for the engines there
            where = f"{campaign.over_there}/out/hub_laptop/queue"
            campaign.until(lambda s, h=host, w=where: h.run(f"ls {w}", check=False).stdout)
        # and it imports what the hosts have found
        campaign.until(
            lambda s: (
                any(",sync:h" in p.name for p in (out / "laptop" / "queue").iterdir())
                or any((out / "laptop" / ".synced").glob("h*_main"))
            ),
        )
    finally:
        os.killpg(by_hand.pid, signal.SIGKILL)  # with the target, which outlives afl-fuzz
        by_hand.wait()
        campaign.stop()


def test_each_host_fuzzes_its_share_of_the_mutants(tmp_path: Path, hosts: Hosts) -> None:
    shutil.copy(SAMPLES / "slips.py", tmp_path)
    shutil.copytree(SAMPLES / "seeds" / "slips", tmp_path / "seeds" / "slips")
    text = (SAMPLES / "slips-fuzzfirst.toml").read_text().replace('"3m"', '"24s"')
    text = text.replace('"9s"', '"3s"').replace("crashes = 1", "crashes = 0")
    text = text.replace('name = "slips-fuzzfirst"', "")
    campaign = HubCampaign(tmp_path, hosts, "first", text)
    campaign.fuzztui(campaign.file, "--headless")
    state = campaign.state()
    listed: dict[str, list[str]] = {}
    for record in campaign.records():
        if isinstance(record.event, MutantsFound):
            ids = [str(row["id"]) for row in record.event.mutants]
            listed.setdefault(record.host, []).extend(ids)
    assert set(listed) == {"h1", "h2"}
    assert not set(listed["h1"]) & set(listed["h2"])
    assert state.stage == "target"
    slots = {m.slot.partition("_")[0] for m in state.mutants.values() if m.slot}
    assert slots == {"h1", "h2"}
    assert any(m.state == "killed" for m in state.mutants.values())


SUITE = """
[campaign]
budget = "20s"
[engine]
kind = "zest"
[target]
function = ["tests/"]
include = ["shop_of_hosts"]
path = [".", "libraries"]
examples = ".hypothesis/examples"
"""

SUITE_TESTS = """
from hypothesis import given, strategies as st
from shop_of_hosts import price

@given(st.integers())
def test_price(count):
    price(count)

@given(st.text())
def test_text(text):
    price(len(text))
"""


def test_findings_of_a_suite_are_examples_here(tmp_path: Path, hosts: Hosts) -> None:
    for name in ("hypothesis", "sortedcontainers", "pytest", "pluggy", "iniconfig", "packaging",
                 "pygments"):  # fmt: skip
        _copy_distribution(name, tmp_path / "libraries")
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "test_shop.py").write_text(SUITE_TESTS)
    shop = "def price(count):\n    if count > 70000:\n        raise KeyError('much')\n"
    (tmp_path / "shop_of_hosts.py").write_text(shop)
    campaign = HubCampaign(tmp_path, hosts, "suite", SUITE)
    campaign.fuzztui(campaign.file, "--headless", code=10)
    state = campaign.state()
    assert {f.property for f in state.findings.values()} == {"tests/test_shop.py::test_price"}
    messages = [r.event for r in campaign.records() if isinstance(r.event, Message)]
    assert [m.text for m in messages if m.level != "info"] == []
    assert any(f.example for f in state.findings.values())
    assert [*state.sources] == [str(tmp_path / "shop_of_hosts.py")]  # one file, which is here
    index = SourceIndex()
    index.take(state, Changes(reset=True))
    assert index.findings_at(str(tmp_path / "shop_of_hosts.py"), 3)
    lines = index.lines(str(tmp_path / "shop_of_hosts.py"))
    assert lines is not None and lines.covered == 2  # failing inputs do not count
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"],
        cwd=tmp_path, env=os.environ | {"PYTHONPATH": str(tmp_path)}, text=True,
        capture_output=True, check=False,
    )  # fmt: skip
    assert "1 failed, 1 passed" in done.stdout


def _copy_distribution(name: str, to: Path) -> None:
    """Copy an installed distribution with its metadata, which pytest reads."""
    for file in importlib.metadata.distribution(name).files or ():
        if ".." not in file.parts and "__pycache__" not in file.parts:
            (to / file).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file.locate(), to / file)


SPOTON = """
[campaign]
budget = "15s"
[engine]
kind = "spoton"
[target]
function = "harness.py:run"
generator = "harness.py:gen"
include = ["shop"]
"""

SHOP = """
class Item:
    def __init__(self, price: int, count: int) -> None:
        self.price, self.count = price, count

def total(items: list[Item]) -> int:
    total = 0
    for item in items:
        if item.count > 200:
            total -= 1
        if item.price == 777:
            total -= 1
    return total
"""

HARNESS = """
from fuzztui.generators import Source, generator
from shop import Item, total

@generator
def gen(source: Source) -> list[Item]:
    return [item(source) for _ in range(source.integer(0, 4))]

@generator
def item(source: Source) -> Item:
    return Item(source.integer(0, 1000), source.integer(0, 255))

def run(value: list[Item]) -> int:
    return total(value)
"""


def test_the_types_are_analysed_once_here(tmp_path: Path, hosts: Hosts) -> None:
    (tmp_path / "shop.py").write_text(SHOP)
    (tmp_path / "harness.py").write_text(HARNESS)
    campaign = HubCampaign(tmp_path, hosts, "types", SPOTON)
    campaign.fuzztui(campaign.file, "--headless")
    state = campaign.state()
    assert state.state == "finished"
    assert {name for name, found in state.types.items() if "shop.Item" in found.names} == {
        "h1_main", "h2_main", "h2_s1",
    }  # fmt: skip
    analysed = (campaign.run / "targets.json").read_bytes()
    for host in hosts.values():
        there = host.run(f"md5sum < {campaign.over_there}/targets.json").stdout.split()[0]
        assert there == _md5(analysed)


def _md5(data: bytes) -> str:
    return hashlib.md5(data).hexdigest()
