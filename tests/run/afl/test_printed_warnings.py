"""What afl-fuzz 4.04c warns of in its output (``test_afl_warnings.py`` provokes it)."""

import pytest

from fuzztui.kernel.model.fold import apply
from fuzztui.kernel.model.state import State
from fuzztui.kernel.wire.events import PRINTED, InstanceState, Message, Record
from fuzztui.run.afl.printed_warnings import MAX_TEXT, MAX_WARNINGS, PrintedWarnings
from fuzztui.run.afl.refusal import begin_log, shorten_log

VARIES = "\x1b[0m\x1b[1;93m[!] \x1b[1;97mWARNING: \x1b[0mOutput varies\x1b[7m.\x1b[0m\n"
LOAD = "\x1b[1;93m[!] \x1b[1;97mWARNING: \x1b[0mSystem under  load.\x1b[0m\n"
HINT = "\x1b[1;91m\n[-] \x1b[0mHmm, your system is\n    configured to send\n\nnothing more\n"
ABORT = "\x1b[1;91m\n[-] PROGRAM ABORT : \x1b[0mno\n\x1b[1;91m\n[-]  SYSTEM ERROR : \x1b[0mno\n"


class Printed:
    def __init__(self, directory, known=()):
        self.directory = directory
        self.reader = PrintedWarnings(directory, "main", known)

    def start(self):
        begin_log(self.directory, "afl-fuzz")

    def prints(self, text):
        with (self.directory / "worker.log").open("a") as log:
            log.write(text)

    def texts(self):
        found = self.reader.look()
        assert {(m.level, m.instance, m.about) for m in found} <= {("warning", "main", PRINTED)}
        return [m.text for m in found]


@pytest.fixture
def printed(tmp_path):
    return Printed(tmp_path)


def test_each_warning_once_for_each_start(printed):
    assert printed.texts() == []
    printed.start()
    printed.prints(LOAD + VARIES + VARIES + "[*] Fuzzing test case #1\n")
    assert printed.texts() == ["System under load.", "Output varies."]
    printed.prints(VARIES)
    assert printed.texts() == []
    printed.start()
    printed.prints(LOAD[:20])
    assert printed.texts() == []
    printed.prints(LOAD[20:])
    assert printed.texts() == ["System under load."]


def test_a_hint_is_one_text_and_the_reason_of_an_end_is_none(printed):
    printed.start()
    printed.prints(HINT + ABORT + "\n")
    assert printed.texts() == ["Hmm, your system is configured to send"]


def test_what_fuzztui_has_set_is_no_warning(printed):
    printed.start()
    printed.prints("[!] WARNING: Not binding to a CPU core (AFL_NO_AFFINITY set).\n")
    printed.prints("[!] WARNING: Unable to load stats file 'x'\n")
    assert printed.texts() == []


def test_number_and_length_are_bounded_and_the_rest_is_named(printed):
    printed.start()
    printed.prints("".join(f"[!] WARNING: {n} {'x' * 600}\n" for n in range(99)))
    texts = printed.texts()
    assert len(texts) == MAX_WARNINGS + 1
    assert {len(text) for text in texts[:-1]} == {MAX_TEXT}
    assert texts[-1].endswith("worker.log")


def test_another_supervisor_reports_what_the_log_has_not(printed, tmp_path):
    printed.start()
    printed.prints("[!] WARNING: of an earlier start\n")
    printed.start()
    printed.prints(LOAD + VARIES)
    later = Printed(tmp_path, ["System under load."])
    assert later.texts() == ["Output varies."]
    later.start()
    later.prints(LOAD)
    assert later.texts() == ["System under load."]


def test_an_emptied_log_repeats_nothing(printed, tmp_path):
    printed.start()
    printed.prints(LOAD + "Fuzzing test case #0\n")
    assert printed.texts() == ["System under load."]
    shorten_log(tmp_path, limit=10)
    printed.prints(LOAD + VARIES)
    assert printed.texts() == ["Output varies."]


def test_an_instance_has_the_warnings_of_its_last_start():
    events = [
        InstanceState("main", "starting"),
        Message("warning", "old", "main", PRINTED),
        InstanceState("main", "starting"),
        Message("warning", "slow", "main", PRINTED),
        Message("warning", "of fuzztui", "main"),
    ]
    apply(state := State(), [Record(n, 0.0, e) for n, e in enumerate(events, 1)])
    assert state.instances["main"].warnings == ["slow"]
