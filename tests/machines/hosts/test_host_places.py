"""Addresses of hosts, and the names that their instances get."""

import pytest

from fuzztui.run.campaign.places import address_problem, places


def names(*addresses: str) -> list[str]:
    return [place.name for place in places({address: {} for address in addresses}, 1)]


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("box", "box"),
        ("user@box", "box"),
        ("user@box.example.org", "box"),
        ("user@10.77.0.11", "10-77-0-11"),
        ("root@[fe80::1%eth0]", "fe80-1-eth0"),
        ("ssh://user@box.example.org:2222", "box"),
        ("lab_machine_7", "machine-7"),
        ("lab_box_7", "lab-box-7"),
        ("user@größe", "gr-e"),
        ("user@___", "host"),
        ("192.168.100.200", "168-100-200"),
        ("ec2-12-34-56-78.compute.example", "12-34-56-78"),
        ("room-three-server-17", "server-17"),
        ("averylongnamewithoutanydash", "averylongnam"),
        ("exactly-12-c", "exactly-12-c"),
        ("x-123456789012", "123456789012"),
        ("here", "here"),
    ],
)
def test_the_name_comes_from_the_host(address, name):
    assert address_problem(address) == ""
    assert names(address) == [name]


def test_each_host_has_its_own_name():
    assert names("box", "you@box", "BOX.example.org", "other") == ["box", "box-2", "BOX-3", "other"]


def test_names_are_short_enough_for_afl_also_of_many_hosts():
    found = names(*(f"user{i}@averylongnamewithoutanydash" for i in range(1200)))
    assert len({name.lower() for name in found}) == 1200
    assert max(map(len, found)) <= 12


def test_here_has_no_address():
    (place,) = places({"here": {"instances": 2}}, 1)
    assert (place.address, place.instances) == ("", 2)


ODD = ["", "-oProxyCommand=x", "user@-box", "a b", "box\n", "box;ls\0", "@box", "u@", "a/b"]


@pytest.mark.parametrize("address", [*ODD, "a" * 300])
def test_what_is_not_an_address(address):
    assert address_problem(address)
