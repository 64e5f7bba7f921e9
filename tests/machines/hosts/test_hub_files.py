"""Inputs of other machines on the screens of the hub: copied when they are shown."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from host_lab import Hosts
from hub_lab import HubCampaign

from fuzztui.features.inputs.screen.hexview import load
from fuzztui.kernel.model.state import Instance, State
from fuzztui.kernel.remote.lock import running
from fuzztui.kernel.remote.mirrored import FETCHED
from fuzztui.machines.hosts.fetching import HostFiles
from fuzztui.machines.hosts.link import LinkLost


class FakeHost:
    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files

    async def read(self, file: str) -> bytes:
        if file not in self.files:
            raise LinkLost("not connected")
        return self.files[file]


async def test_a_file_comes_from_the_host_of_its_instance(tmp_path: Path) -> None:
    state = State()
    state.instances = {
        "h1_main": Instance("h1_main", host="h1"),
        "m7": Instance("m7", host="h2", directory="mutants/slots/m7/out/main"),
        "added": Instance("added"),
    }
    hosts = {
        "h1": FakeHost({"out/h1_main/queue/id:0": b"one", "minimised/h1_main/x": b"small"}),
        "h2": FakeHost({"mutants/slots/m7/out/main/queue/id:0": b"two"}),
    }
    files = HostFiles(tmp_path, state, lambda host, file: hosts[host].read(file))
    files.begin()
    for host in hosts.values():
        for file, data in host.files.items():
            assert await files.fetch(file) == ""
            assert (tmp_path / FETCHED / file).read_bytes() == data
    for file in (
        "out/h1_main/queue/id:1", "out/added/queue/id:0", "out/h1_mainly/queue/id:0",
        "out/h1_main/../../../x", "", "/etc/passwd",
    ):  # fmt: skip
        assert await files.fetch(file)
    assert [path.name for path in tmp_path.iterdir()] == ["supervisor"]
    files.begin()  # of the next hub
    assert not [*(tmp_path / FETCHED).iterdir()]


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Two hosts, of which the second has two instances."""
    with Hosts(2, tmp_path_factory.mktemp("lab")) as hosts:
        yield hosts


@pytest.mark.slow
def test_an_entry_that_never_travels_is_shown_at_the_hub(hosts: Hosts, tmp_path: Path) -> None:
    campaign = HubCampaign(tmp_path, hosts, "files")
    campaign.start()
    state = campaign.until(lambda s: any(e.instance == "h2_s1" for e in s.entries.values()))
    file = next(e.file for e in state.entries.values() if e.instance == "h2_s1")
    path = f"out/h2_s1/{file}"
    assert not (campaign.run / path).exists()
    there = hosts["h2"].run(f"od -An -v -tx1 '{campaign.over_there}/{path}' | tr -d ' \\n'").stdout
    seen = load(campaign.run, path)
    assert (seen.problem, seen.data.hex()) == ("", there)
    hosts["h2"].cut()
    assert load(campaign.run, path) == seen  # it is here now
    assert load(campaign.run, path + "x").problem
    hosts["h2"].mend()
    campaign.stop()
    campaign.until(lambda _: running(campaign.run) is None)
    assert "no hub" in load(campaign.run, path + "x").problem
