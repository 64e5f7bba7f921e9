"""Why afl-fuzz ended, from what 4.04c really prints (``test_afl_run.py`` provokes it)."""

import pytest

from fuzztui.run.afl.refusal import (
    begin_log,
    finished_by_itself,
    reason_of,
    refusal_of,
    shortage_of,
    shorten_log,
)

END = "\x0f\x1b)B\x1b[?25h\x1b[0m\x1b[1;91m\n[-]"


def abort(why: str, where: str = "main(), src/afl-fuzz.c:2205") -> str:
    return (
        "\x1b[1;94m[*] \x1b[0mValidating target binary...\x1b[0m\n\n"
        "[-] Looks like something that is explained in a long paragraph. Its advice is for\n"
        "    people who have started one fuzzer by hand.\n"
        f"{END} PROGRAM ABORT : \x1b[0m{why}\x1b[1;91m\n         Location : \x1b[0m{where}\n\n"
    )


def system_error(what: str, os: str) -> str:
    return (
        f"{END}  SYSTEM ERROR : \x1b[0m{what}\x1b[1;91m\n    Stop location : \x1b[0m"
        f"load_extras(), src/afl-fuzz-extras.c:324\n\x1b[1;91m       OS message : \x1b[0m{os}\n"
    )


@pytest.fixture
def ended(tmp_path):
    def ended(*printed: str, status: int | None = 1) -> str:
        """The refusal of the last of several processes that have run here."""
        for text in printed:
            begin_log(tmp_path, "afl-fuzz -i in -- target")
            with (tmp_path / "worker.log").open("a") as log:
                log.write(text)
        return refusal_of(tmp_path, status)

    return ended


@pytest.mark.parametrize(
    ("why", "words"),
    [
        ("Program './nothere' not found or not executable", "target.command"),
        ("No instrumentation detected", "afl-cc"),
        ("No instrumentation detected", '["-Q"]'),
        ("Program './script' is a shell script", "name the program that it starts"),
        ("We need at least one valid input seed that does not crash!", "engine.seeds"),
        ("All test cases time out or crash, giving up!", "target.timeout"),
        ("Test case 'id:000000,orig:a' results in a timeout", "raise target.timeout"),
        ("No usable test cases in 'in'", "engine.seeds are empty"),
        ("No usable test cases in 'out/main/_resume'", "the queue is gone"),
        ("Fork server handshake failed", "a library may be missing"),
        ("the fuzzing target reports that the shmat() call failed.", "raise target.memory"),
        ("/c/mine.so: cannot open shared object file: No such file", "AFL_CUSTOM_MUTATOR_LIBRARY"),
        ("Unknown -p power schedule", "engine.options"),
        ("Custom ASAN_OPTIONS set without abort_on_error=1 - please fix!", "abort_on_error"),
    ],
)
def test_afls_own_reason_and_what_to_do(ended, why, words):
    reason = ended(abort(why))
    assert reason.startswith(f"afl-fuzz: {why.rstrip('.!')}")
    assert words in reason
    assert reason.isprintable()
    assert "Location" not in reason
    assert "paragraph" not in reason


def test_an_error_of_the_system_has_the_systems_word(ended):
    text = system_error("Unable to open 'nodict'", "No such file or directory")
    assert ended(text) == "afl-fuzz: Unable to open 'nodict': No such file or directory"


def test_a_wrong_option_is_named_though_the_usage_follows(ended):
    assert ended("afl-fuzz: invalid option -- 'k'\nafl-fuzz++4.04c based on afl\n").startswith(
        "afl-fuzz: invalid option -- 'k': correct engine.extra_args"
    )


@pytest.mark.parametrize(
    "text",
    [
        abort("Directory 'out/main' is in use", "handle_existing_out_dir()"),
        abort("Fork server crashed with signal 9"),
        abort("Timeout while initializing fork server (setting AFL_FORKSRV_INIT_TMOUT may help)"),
        system_error("shmget() failed, try running afl-system-config", "No space left on device"),
        system_error("fork() failed", "Resource temporarily unavailable"),
        system_error("Unable to create 'out/main/queue/id:000001'", "No space left on device"),
        system_error("Unable to create 'out/main/queue/id:000001'", "Read-only file system"),
        abort("All test cases processed") + "All set and ready to roll!",
        "killed in the middle of a line",
    ],
)
def test_what_may_be_otherwise_the_next_time_is_no_refusal(ended, text):
    assert ended(text) == ""


def test_a_long_run_that_is_aborted_was_no_refusal(ended):
    line = "[*] Fuzzing test case #0 (4 total, 1 crashes saved, map=8, ascii=0)...\n"
    assert ended("All set and ready to roll!\n" + 10_000 * line + abort("Whatever")) == ""


def test_a_log_that_grows_is_emptied_under_the_process_that_writes_it(ended, tmp_path):
    log = tmp_path / "worker.log"
    line = "[*] Fuzzing test case #0 (4 total)...\n"
    shorten_log(tmp_path)
    begin_log(tmp_path, "afl-fuzz")
    with log.open("a") as process:
        process.write("[*] Attempting dry run with a long list of seeds...\n" * 100)
        process.flush()
        shorten_log(tmp_path, limit=1000)
        assert log.stat().st_size > 1000  # who has not begun may still be refused
        process.write(100 * line)
        process.flush()
        shorten_log(tmp_path, limit=1000)
        process.write(abort("Whatever"))
    assert log.stat().st_size < 1000
    assert refusal_of(tmp_path, 1) == ""
    assert "Whatever" in log.read_text()


@pytest.mark.parametrize("status", [None, 0, 2, -9, -11])
def test_only_exit_status_1_can_be_a_refusal(ended, status):
    assert ended(abort("No instrumentation detected"), status=status) == ""


def test_only_what_the_last_process_printed_counts(ended):
    assert ended(abort("No instrumentation detected"), "it went better, and was killed") == ""
    assert "shell script" in ended("All set and ready to roll!", abort("'./x' is a shell script"))


def test_what_is_no_log_tells_nothing(tmp_path):
    assert refusal_of(tmp_path, 1) == ""
    (tmp_path / "worker.log").mkdir()
    assert refusal_of(tmp_path, 1) == ""
    with pytest.raises(OSError, match=r"worker\.log"):
        begin_log(tmp_path, "afl-fuzz")


def test_a_reason_is_short_whatever_it_says():
    assert len(reason_of(abort("x" * 100_000))) < 600
    assert reason_of("") == ""


@pytest.mark.parametrize(
    ("words", "finished"),
    [
        ("Testing aborted by user +++", False),
        ("Baking aborted by the chef +++", False),
        ("Testing aborted programmatically +++", True),
        (
            "Testing aborted by user +++\n\x1b[0m\x1b[1;93m[!] \x1b[0mExecution limit was reached",
            True,
        ),
        ("Testing aborted programmatically +++\n[!] Time limit was reached", True),
    ],
)
def test_a_limit_of_its_own_and_a_signal_end_it_alike(tmp_path, words, finished):
    statistics = "\n\x1b[1;94m[*] \x1b[0mStatistics: 2 new corpus items found\n"
    for text in ("Testing aborted programmatically +++\n", words + statistics):
        begin_log(tmp_path, "afl-fuzz -i in -- target")
        with (tmp_path / "worker.log").open("a") as log:
            log.write(f"All set and ready to roll!\n\x1b[?25h\x1b[1;91m\n\n+++ {text}")
    assert finished_by_itself(tmp_path, 0) == finished
    assert finished_by_itself(tmp_path, None) == finished  # adopted
    assert not finished_by_itself(tmp_path, 1)
    assert not finished_by_itself(tmp_path, -9)


def test_a_fast_resume_that_fails_is_tried_again_without(ended, tmp_path):
    """4.22a where all of the queue was fuzzed before (AFLplusplus#2314)."""
    why = abort("We need at least one valid input seed that does not crash!")
    assert ended("[+] Will perform FAST RESUME\n" + why) == ""
    assert "could not use its fastresume.bin" in shortage_of(tmp_path)
    assert "engine.seeds" in ended(why)
