"""Building a target and gathering seeds: what every AFL++ campaign needs before it starts."""

import contextlib
import errno
import os
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

from fuzztui.run.afl.build import build_target
from fuzztui.run.afl.seeds import gather_seeds
from fuzztui.run.campaign import load
from fuzztui.run.campaign.rundir import SupervisorError


@pytest.fixture
def build(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "src").mkdir()

    def build(
        command: str, *, told: Callable[[str], None] | None = None, **engine: str
    ) -> list[str]:
        more = "".join(f"{key} = '{value}'\n" for key, value in engine.items())
        file = tmp_path / "c.toml"
        file.write_text(
            f'[campaign]\noutput = "run"\n[target]\ncommand = "x"\nsource = "src"\n'
            f"build = '''{command}'''\n[engine]\nkind = \"afl\"\n{more}"
        )
        lines: list[str] = []
        build_target(load(file).campaign, tmp_path / "run", told or lines.append)
        return lines

    return build


def failure(build, command: str) -> str:
    with pytest.raises(SupervisorError) as caught:
        build(command)
    return str(caught.value)


def test_it_runs_in_a_directory_of_its_own_with_afls_compilers(build, tmp_path):
    told = build('pwd; echo "$CC $CXX $SOURCE $FUZZTUI_RUN"')
    run = tmp_path / "run"
    assert told[1:] == [str(run / "build"), f"afl-cc afl-c++ {tmp_path / 'src'} {run}"]
    assert (run / "build").stat().st_mode & 0o777 == 0o700
    assert (run / "build.log").read_text().splitlines() == told[1:]


def test_another_afls_compilers_come_first(build, tmp_path):
    (tmp_path / "afl").mkdir()
    assert build('echo "${PATH%%:*}"', afl_path="afl")[-1] == str(tmp_path / "afl")


def test_a_tree_where_afl_was_built_does_not_lend_its_assembler(build, tmp_path):
    (tmp_path / "afl").mkdir()
    (tmp_path / "afl/as").touch()
    told = build('echo "${PATH##*:}"; echo "$CC $CXX"', afl_path="afl")
    assert told[-2] == str(tmp_path / "afl")
    assert told[-1] == f"{tmp_path / 'afl/afl-cc'} {tmp_path / 'afl/afl-c++'}"


def test_it_is_built_once(build, tmp_path):
    build("echo x >> made")
    told = build("echo x >> made")
    assert "built already" in told[0]
    assert str(tmp_path / "run" / "build") in told[0]
    build("echo yy >> made")
    assert (tmp_path / "run/build/made").read_text() == "yy\n"


def test_a_failed_build_says_why_and_is_tried_again(build, tmp_path):
    noise = "for i in 1 2 3 4 5 6 7; do echo compiling $i; done; "
    error = 'printf "x.c:3:5: \\033[31merror:\\033[0m expected ;\\n" >&2; '
    words = failure(build, noise + error + noise + "echo make: Error 2; exit 2")
    assert words.startswith("target.build: failed with exit status 2:\n")
    assert "\n  x.c:3:5: error: expected ;\n" in words
    assert "compiling 1" not in words
    assert str(tmp_path / "run/build.log") in words
    assert "exit status 2" in failure(build, noise + error + noise + "echo make: Error 2; exit 2")


def test_a_build_for_which_there_is_no_room_says_where(build, tmp_path, monkeypatch):
    monkeypatch.setenv("TMPDIR", str(tmp_path / "elsewhere"))
    words = failure(build, f"echo 'cannot write: {os.strerror(errno.ENOSPC)}'; exit 1")
    assert "TMPDIR" in words
    assert str(tmp_path / "elsewhere") in words
    assert "TMPDIR" not in failure(build, "echo 'no such header'; exit 1")


@pytest.mark.parametrize(
    ("message", "package"),
    [
        (
            "/usr/bin/ld: cannot find /usr/lib/llvm-14/lib/clang/14.0.6/lib/linux/"
            "libclang_rt.asan_static-x86_64.a: No such file or directory",
            "libclang-rt-14-dev",
        ),
        (
            "ld.lld-19: error: cannot open /usr/lib/clang/19/lib/linux/libclang_rt.asan.a: "
            "No such file or directory",
            "libclang-rt-19-dev",
        ),
        ("ld: cannot find libclang_rt.asan-x86_64.a", "libclang-rt-N-dev"),
    ],
)
def test_a_missing_sanitizer_runtime_names_its_package(build, message, package):
    assert package in failure(build, f"echo '{message}'; exit 1")
    assert "libclang" not in failure(build, "echo 'ld: cannot find -lz'; exit 1")


def test_it_is_built_in_an_empty_directory(build, tmp_path):
    (tmp_path / "src/mine").write_text("mine")
    failure(build, "mkdir d; ln -s $SOURCE d/s; ln -s $SOURCE s; touch .hidden; false")
    told = build("ls -A; echo nothing else")
    assert told[1:] == ["nothing else"]
    assert (tmp_path / "src/mine").read_text() == "mine"


def test_what_a_symlink_in_its_place_leads_to_is_not_emptied(build, tmp_path):
    (tmp_path / "src/mine").write_text("mine")
    (tmp_path / "run/build").symlink_to(tmp_path / "src")
    assert "symbolic link" in failure(build, "true")
    assert (tmp_path / "src/mine").read_text() == "mine"


def test_the_first_command_that_fails_ends_it(build, tmp_path):
    assert "exit status 1" in failure(build, "false\ntouch late")
    assert "UNKNOWN" in failure(build, "echo $UNKNOWN; touch late")
    assert not (tmp_path / "run/build/late").exists()


def test_the_command_is_shown_as_it_is_written(build):
    assert build("true; true")[0] == "building the target: true; true"
    lines = ["if false; then", "  exit 1", "fi", "export X=1"]
    assert build("\n".join(lines))[0] == "building the target:\n  " + "\n  ".join(lines)
    many = build("\n".join(f"true {n}" for n in range(12)))[0].splitlines()
    assert (len(many), many[9], many[10]) == (11, "  true 8", "  ... (3 more lines)")


def test_what_a_build_prints_is_harmless(build):
    told = build("printf '\\033]0;x\\007 \\377 %s\\n' " + "x" * 5000)
    assert all(line.isprintable() and len(line) <= 300 for line in told[1:])


def test_a_build_that_nobody_waits_for_is_ended(build, tmp_path):
    class Left(Exception):
        pass

    def leave(words: str) -> None:
        if words == "line":
            raise Left

    with pytest.raises(Left):
        build(
            "setsid sleep 50 & echo $! > child; echo $$ > pid; echo line; sleep 50; touch late",
            told=leave,
        )
    for name in ("pid", "child"):
        number = int((tmp_path / "run/build" / name).read_text())
        with contextlib.suppress(psutil.NoSuchProcess):
            assert psutil.Process(number).status() == psutil.STATUS_ZOMBIE


def test_a_place_that_cannot_be_written(build, tmp_path):
    (tmp_path / "run/build").write_text("in the way")
    assert "cannot be run" in failure(build, "true")


# ------------------------------------------------------------------------------ seeds


def gathered(directory: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in directory.iterdir()}


def test_seeds_are_copied_from_files_and_directories(tmp_path):
    (tmp_path / "a/deep").mkdir(parents=True)
    (tmp_path / "a/deep/one").write_bytes(b"1")
    (tmp_path / "a/two").write_bytes(b"2")
    (tmp_path / "a/empty").write_bytes(b"")
    os.mkfifo(tmp_path / "a/fifo")
    (tmp_path / "b").mkdir()
    (tmp_path / "b/two").write_bytes(b"another")
    (tmp_path / "two").write_bytes(b"2")
    seeds = tmp_path / "seeds"
    paths = [str(tmp_path / name) for name in ("a", "b", "two")]
    told: list[str] = []
    gather_seeds(paths, seeds, told.append)
    wanted = {"one": b"1", "two": b"2", "2-two": b"another"}
    assert gathered(seeds) == wanted
    assert told == ["gathering 4 seeds"]
    gather_seeds(paths, seeds, told.append)
    assert gathered(seeds) == wanted
    # A copy, no link: afl-fuzz links its queue to what it is given.
    assert (seeds / "one").stat().st_ino != (tmp_path / "a/deep/one").stat().st_ino


def test_without_seeds_one_is_made_up_and_said_until_there_are_some(tmp_path):
    told: list[str] = []
    gather_seeds([], tmp_path / "seeds", told.append)
    assert list(gathered(tmp_path / "seeds").values()) == [b"0\n"]
    assert "engine.seeds is missing" in told[0]
    (tmp_path / "good").write_bytes(b"good")
    gather_seeds([str(tmp_path / "good")], tmp_path / "seeds", told.append)
    assert gathered(tmp_path / "seeds") == {"good": b"good"}


def test_a_seed_that_was_taken_away_does_not_come_back(tmp_path):
    seeds, gathered = tmp_path / "seeds", tmp_path / "run-seeds"
    seeds.mkdir()
    for name in ("crashes", "good"):
        (seeds / name).write_text(name)
    gather_seeds([str(seeds)], gathered, lambda words: None)
    (seeds / "crashes").unlink()
    gather_seeds([str(seeds)], gathered, lambda words: None)
    assert [path.read_text() for path in gathered.iterdir()] == ["good"]


def test_seeds_that_are_gone_were_gathered_before(tmp_path):
    good = tmp_path / "good"
    with pytest.raises(SupervisorError, match=r"engine.seeds: .*good: there is no such file"):
        gather_seeds([str(good)], tmp_path / "seeds", print)
    good.write_bytes(b"good")
    gather_seeds([str(good)], tmp_path / "seeds", print)
    good.unlink()
    told: list[str] = []
    gather_seeds([str(good)], tmp_path / "seeds", told.append)
    assert gathered(tmp_path / "seeds") == {"good": b"good"}
    assert "gathered before" in told[0]


def test_empty_seeds_are_refused_in_words(tmp_path):
    (tmp_path / "in").mkdir()
    with pytest.raises(SupervisorError, match=r"engine.seeds: .*there are no files"):
        gather_seeds([str(tmp_path / "in")], tmp_path / "seeds", print)
    (tmp_path / "in/empty").write_bytes(b"")
    with pytest.raises(SupervisorError, match=r"the only file is empty"):
        gather_seeds([str(tmp_path / "in")], tmp_path / "seeds", print)
