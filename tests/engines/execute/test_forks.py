"""Children that die, hang, lie and close what they were given."""

import ctypes
import gc
import itertools
import os
import random
import resource
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lab_clock import LabClock
from waiting import wait_until

from fuzztui.engines.base.errors import CannotStart
from fuzztui.engines.execute.forks import ChildHost, Death, Tell

Work = Callable[[Tell], None]


def hear(work: Work, silence_s: float = 20.0, **keys: Any) -> tuple[list[Any], Death]:
    *told, death = ChildHost("", silence_s, **keys).child(work)
    assert isinstance(death, Death)
    assert not any(isinstance(t, Death) for t in told)
    return told, death


def children() -> set[str]:
    """Process ids, zombies' too."""
    lists = Path("/proc/self/task").glob("*/children")
    return {pid for file in lists for pid in file.read_text().split()}


@pytest.fixture(autouse=True)
def nothing_is_left_behind() -> Iterator[None]:
    """No descriptor, no child."""
    gc.collect()
    gc.freeze()  # what is left lives on: the collections below need not walk it each time
    before = set(os.listdir("/proc/self/fd"))
    others = children()  # of tests that ran in this process earlier
    yield
    gc.collect()
    assert set(os.listdir("/proc/self/fd")) <= before
    assert children() <= others


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False


def gone(pid: int) -> bool:
    return wait_until(lambda: not alive(pid))


@pytest.mark.slow
def test_what_is_told_arrives_in_order_and_the_end_is_said():
    told, death = hear(lambda tell: [tell({"n": n, "text": "a\nb\x00é"}) for n in range(2000)])
    assert told == [{"n": n, "text": "a\nb\x00é"} for n in range(2000)]
    assert death == Death("exited", "exited with status 0", 0)


def test_it_arrives_at_once():
    def work(tell: Tell) -> None:
        tell("first")
        signal.pause()

    child = ChildHost("", silence_s=60).child(work)
    assert next(child) == "first"
    child.close()  # type: ignore[attr-defined]


def test_large_messages_and_what_is_none():
    def work(tell: Tell) -> None:
        tell("x" * 3_000_000)
        for bad in (object(), {1j: 2}, "x" * (9 << 20)):
            with pytest.raises((TypeError, ValueError)):
                tell(bad)
        tell("after")

    told, death = hear(work)
    assert [len(t) for t in told] == [3_000_000, 5]
    assert death.how == "exited"


def test_an_exception_is_told():
    def work(tell: Tell) -> None:
        tell(1)
        raise LookupError("not\nhere" + "!" * 1000)

    told, death = hear(work)
    assert told == [1]
    assert death.how == "raised"
    assert death.words.startswith("raised LookupError: not here!!!")
    assert len(death.words) < 400


def test_an_exception_that_cannot_be_told():
    class Hostile(BaseException):
        def __str__(self) -> str:
            raise SystemExit(0)

    def work(tell: Tell) -> None:
        raise Hostile

    assert "Hostile" in hear(work)[1].words


def exits_in_work(tell: Tell) -> None:
    os._exit(0)


def exits_otherwise(tell: Tell) -> None:
    os._exit(7)


def is_killed(tell: Tell) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def aborts(tell: Tell) -> None:
    os.abort()


def segfaults(tell: Tell) -> None:
    ctypes.string_at(0)


@pytest.mark.parametrize(
    ("act", "words", "status"),
    [
        (exits_in_work, "exited with status 0", 0),
        (exits_otherwise, "exited with status 7", 7),
        (is_killed, "was killed by SIGKILL", -signal.SIGKILL),
        (aborts, "was killed by SIGABRT", -signal.SIGABRT),
        (segfaults, "was killed by SIGSEGV", -signal.SIGSEGV),
    ],
)
def test_deaths(act, words, status):
    def work(tell: Tell) -> None:
        tell("before")
        act(tell)

    told, death = hear(work)
    assert told == ["before"]
    assert death == Death("died", words, status)


def sleeps_deaf(tell: Tell) -> None:
    signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
    signal.pause()


def turns_in_c(tell: Tell) -> None:
    sum(itertools.count())


@pytest.mark.slow
@pytest.mark.parametrize("act", [sleeps_deaf, turns_in_c])
def test_hangs(act):
    pids = []

    def work(tell: Tell) -> None:
        tell(os.getpid())
        act(tell)

    told, death = hear(work, silence_s=2.5)  # its pid must come in that time, too
    pids += told
    assert death.how == "hung"
    assert "2.5 s" in death.words
    assert not alive(pids[0])


@pytest.mark.slow
def test_silence_is_only_what_was_listened_to(monkeypatch):
    clock = LabClock()
    monkeypatch.setattr("fuzztui.engines.execute.forks.time", clock)
    got: list[Any] = []
    looks = 0

    def work(tell: Tell) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR1])
        tell(os.getpid())
        signal.sigwait([signal.SIGUSR1])
        tell("after")

    def meanwhile() -> None:  # the parent is busy for an hour, three times
        nonlocal looks
        clock.now += 3600.0
        looks += bool(got)
        if looks == 3:
            os.kill(got[0], signal.SIGUSR1)

    for message in ChildHost("", silence_s=2.5, meanwhile=meanwhile).child(work):
        got.append(message)
    assert got[1] == "after"
    assert got[2].how == "exited"


def test_memory_that_is_eaten():
    def work(tell: Tell) -> None:
        tell(resource.getrlimit(resource.RLIMIT_AS)[0])
        held = []
        try:
            while True:
                held.append(bytes(64 << 20))
        except MemoryError:
            del held
            tell("no more")

    limit = 3 << 30
    before = resource.getrlimit(resource.RLIMIT_AS)
    told, death = hear(work, memory_bytes=limit)
    assert told == [limit, "no more"]
    assert death.how == "exited"
    assert resource.getrlimit(resource.RLIMIT_AS) == before


def test_grandchildren_go_with_it():
    def work(tell: Tell) -> None:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            signal.pause()
        tell(child)

    told, death = hear(work)
    assert death.how == "exited"
    assert gone(told[0])


def test_a_grandchild_that_comes_back_is_not_heard():
    def work(tell: Tell) -> None:
        me = os.getpid()
        child = os.fork()
        if os.getpid() == me:
            os.waitpid(child, 0)
        tell("once")

    assert hear(work) == (["once"], Death("exited", "exited with status 0", 0))


def pipes() -> list[int]:
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            if os.readlink(f"/proc/self/fd/{name}").startswith("pipe:"):
                found.append(int(name))
        except OSError:
            continue
    return found


def test_garbage_in_the_pipe_is_passed_over():
    others = set(pipes())  # those of the test runner: garbage there would stop it

    def work(tell: Tell) -> None:
        for fd in set(pipes()) - others:
            for rubbish in (b"\0\xff{", b'\n["say", "forged"]\n', b"x" * 30000):
                try:
                    os.write(fd, rubbish)
                except OSError:
                    continue
        tell("true")
        tell("words")

    told, death = hear(work)
    assert told == ["true", "words"]
    assert death.how == "exited"


def test_all_descriptors_closed():
    def work(tell: Tell) -> None:
        tell(1)
        os.closerange(0, 4096)
        tell(2)
        tell(3)

    assert hear(work) == ([1, 2, 3], Death("exited", "exited with status 0", 0))


def test_its_descriptor_is_somebody_elses_now(tmp_path):
    def work(tell: Tell) -> None:
        mine = os.open(tmp_path / "file", os.O_WRONLY | os.O_CREAT)
        for fd in pipes():
            os.dup2(mine, fd)
        tell("heard")

    told, death = hear(work)
    assert (told, death.how) == (["heard"], "exited")
    assert (tmp_path / "file").read_bytes() == b""


def test_closed_early_it_is_killed():
    def work(tell: Tell) -> None:
        signal.pthread_sigmask(signal.SIG_BLOCK, set(signal.Signals))
        child = os.fork()
        if child:
            tell([os.getpid(), child])
        signal.pause()

    child = ChildHost("", silence_s=60).child(work)
    pids = next(child)
    assert all(map(alive, pids))
    del child
    gc.collect()
    assert all(map(gone, pids))


def test_who_waits_may_give_up():
    calls = []

    def meanwhile() -> None:
        calls.append(1)
        if len(calls) == 3:
            raise InterruptedError

    with pytest.raises(InterruptedError):
        hear(lambda tell: signal.pause(), meanwhile=meanwhile)


def test_it_dies_with_its_parent():
    def outer(tell: Tell) -> None:
        for message in ChildHost("", silence_s=60).child(inner):
            tell(message)
            os.kill(os.getpid(), signal.SIGKILL)

    def inner(tell: Tell) -> None:
        tell(os.getpid())
        signal.pause()

    told, death = hear(outer)
    assert death.status == -signal.SIGKILL
    assert gone(told[0])


def test_it_never_returns_into_our_code():
    ours = os.getpid()
    try:
        hear(lambda tell: (_ for _ in ()).throw(SystemExit(3)))
    finally:
        assert os.getpid() == ours


def test_targets_random_numbers_go_on_as_here():
    random.seed(3)
    expected = random.Random(3).random()
    assert hear(lambda tell: tell(random.random()))[0] == [expected]


def test_ignored_sigchld_loses_no_words():
    before = signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    try:
        told, death = hear(lambda tell: tell("x"))
        assert (told, death.how) == (["x"], "exited")
        assert hear(lambda tell: os._exit(3))[1].how == "died"
    finally:
        signal.signal(signal.SIGCHLD, before)


def test_a_replaced_os_exit_is_not_used(monkeypatch):
    def work(tell: Tell) -> None:
        os._exit = os.write = os.getpid = lambda *_: 0  # type: ignore[assignment]
        tell("still")

    told, death = hear(work)
    assert (told, death.how) == (["still"], "exited")


def _series(
    host: ChildHost, dies_at: tuple[int, ...], total: int = 4
) -> tuple[list[Any], list[Any]]:
    """Run ``total`` items; children die at some. Returns the answers, and the deaths by item."""
    answers: list[Any] = []
    deaths: list[Any] = []
    at = 0

    def work(tell: Tell) -> None:
        for item in range(at, total):
            if item in dies_at:
                os.kill(os.getpid(), signal.SIGKILL)
            tell([item, os.getpid()])

    def answer(message: Any) -> bool:
        nonlocal at
        answers.append(message)
        at = message[0] + 1
        return at != 3  # the next item needs another child

    def ended(death: Death) -> None:
        nonlocal at
        deaths.append((at, death.how))
        at += 1

    for _ in host.series(lambda: at < total, work, answer, ended):
        pass
    return answers, deaths


@pytest.mark.parametrize("patient", [True, False])
def test_a_series_goes_on_behind_a_death_and_in_another_child_if_the_caller_wants_one(patient):
    host = ChildHost("trying", silence_s=30, patient=patient)
    answers, deaths = _series(host, dies_at=(1,))
    assert [item for item, _ in answers] == [0, 2, 3]
    assert len({pid for _, pid in answers}) == 3
    assert deaths[0] == (1, "died")


def test_an_error_of_the_work_is_reported_as_a_defect_unless_the_caller_handles_it():
    def work(tell: Tell) -> None:
        raise LookupError("no")

    with pytest.raises(CannotStart, match="LookupError"):
        list(ChildHost("trying", silence_s=30).child(work))
    assert [d.how for d in ChildHost("", silence_s=30).child(work)] == ["raised"]
    assert ChildHost("", silence_s=30).ask(work) is None
    assert ChildHost("", silence_s=30).ask(lambda tell: tell(True)) is True
