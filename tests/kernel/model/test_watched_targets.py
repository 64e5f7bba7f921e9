"""Watched instances by target: from their directories and command lines."""

from watched_lab import watched

from fuzztui.kernel.model.discovery import discovery_rate
from fuzztui.kernel.model.watched_targets import watched_targets


def names(*instances):
    return {of.name: of.instances for of in watched_targets(watched(*instances))}


def test_binaries_of_one_sync_directory_are_one_target():
    (of,) = watched_targets(
        watched(
            ("a", "/f/out/asan", "afl-fuzz -o out -S asan -- ./png-asan", {"edges": 90}),
            ("m", "/f/out/main", "afl-fuzz -i in -o out -M main -c 0 -- ./png @@", {"edges": 50}),
        )
    )
    assert (of.name, of.program, of.directories) == ("png", "/f/png", ("/f/out",))
    assert of.command_line.endswith("./png @@")  # of main
    assert (of.running, of.execs, of.edges) == (2, 200, 50)  # another binary has another map
    assert of.lifetime_execs_per_sec == 20.0


def test_other_directories_are_other_targets_unless_they_run_the_same_program():
    one = ("a:m", "/a/out/m", "afl-fuzz -o out -M m -- ./png", {})
    other = ("b:m", "/b/out/m", "afl-fuzz -o out -M m -- ./png", {})
    same = ("c:m", "/c/out/m", "afl-fuzz -o out -M m /a/png", {})
    assert names(one, other, same) == {"a/png": ("a:m", "c:m"), "b/png": ("b:m",)}


def test_a_later_instance_joins_targets_that_were_apart():
    lines = (
        ("1", "/a/1", "afl-fuzz -o . -S 1 -- /x/p", {}),
        ("2", "/b/2", "afl-fuzz -o . -S 2 -- /x/q", {}),
        ("3", "/b/3", "afl-fuzz -o . -S 3 -- /x/p", {}),
    )
    assert list(names(*lines).values()) == [("1", "2", "3")]


def test_instances_that_share_no_queue_are_targets_of_their_own():
    lines = (
        ("png", "/all/png", "afl-fuzz -i in -o png -- png", {}),
        ("jpg", "/all/jpg", "afl-fuzz -i in -o jpg -- jpg", {}),
    )
    assert names(*lines) == {"png": ("png",), "jpg": ("jpg",)}


def test_lines_that_say_nothing():
    lines = (
        ("1", "/a/1", "", {}),
        ("2", "/a/2", "afl-fuzz --newer -S 2 -- /x/p", {}),
        ("3", "/b/3", "afl-fuzz -o", {}),
        ("4", "/c/4", "afl-fuzz -o ../c -S 4 -- ../../../p", {}),
    )
    assert names(*lines) == {"a": ("1", "2"), "b": ("3",), "p": ("4",)}


def test_discoveries_of_several_targets_are_not_bounded_together():
    png = ("1", "/a/1", "afl-fuzz -o . -S 1 -- /x/png", {"execs": 9000})
    jpg = ("2", "/b/2", "afl-fuzz -o . -S 2 -- /x/jpg", {"execs": 9000})
    assert discovery_rate(watched(png)) is not None
    assert discovery_rate(watched(png, jpg)) is None
