"""The severity of groups of findings, and titles that tell groups apart, on the Findings screen."""

import pytest
from fakes import running, started

from fuzztui.features.findings.screen.screen import cut_title
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.frames import Basis, StackFrame, counting, frame_rows, signature_of
from fuzztui.kernel.wire.severity import (
    ERROR,
    EXPLOITABLE,
    NOT_EXPLOITABLE,
    PROBABLY_EXPLOITABLE,
    UNKNOWN,
    Severity,
)

WRITE = Severity(EXPLOITABLE, "heap-buffer-overflow(write)", "A write outside of a block.")
STORE = "heap-buffer-overflow in store (WRITE)"


def crash(n: int, title: str, severity: Severity, *functions: str) -> tuple[ev.Event, ev.Event]:
    file = f"crashes/id:{n:06d},sig:06,src:000000,time:{n},execs:{n},op:havoc"
    basis = Basis(title, depth=3)
    frames = [StackFrame(function, "/src/harness.c", 16) for function in functions]
    signature = signature_of(basis, counting(frames, basis, ()))
    place = "harness.c:16 in store" if functions else ""
    described = ev.FindingDescribed(
        "main", "crash", file, signature, title, place, frames=frame_rows(frames), basis=basis.row()
    )
    return ev.FindingSaved("main", "crash", file, n), severity.put_in(described)


def several_groups():
    log = started(engine="afl")
    log.add(ev.InstanceState("main", "running", 5004), ev.CampaignState("running"))
    unknown = Severity(UNKNOWN, "AccessViolation", "An invalid access.")
    maybe = Severity(PROBABLY_EXPLOITABLE, "DestAvNearNull", "A write near null.")
    fine = Severity(NOT_EXPLOITABLE, "AbortSignal", "The target called abort().")
    log.add(*crash(1, STORE, WRITE, "store", "on_comment", "parse"), dt=3)
    log.add(*crash(2, "SIGABRT in check: Assertion `n < 4' failed.", fine, "check"), dt=60)
    log.add(*crash(3, STORE, WRITE, "store", "on_plain", "parse"), dt=20)
    log.add(*crash(4, "SIGSEGV in load", unknown, "load"), dt=3)
    log.add(*crash(5, "SIGSEGV in load", maybe, "load"), dt=3)
    return log


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_it_is_beside_each_group_with_its_reason_and_titles_tell_groups_apart(drive, size):
    async with drive(several_groups(), size=size) as d:
        await d.press("3")
        text = d.text()
        d.assert_shows("severity", "exploitable", "not expl.", "via on_comment", "via on_plain")
        # A group has the severity of its worst finding; in a list of files each has its own.
        assert "unknown" not in text
        d.assert_shows("probably")
        d.assert_shows("exploitable, heap-buffer-overflow(write): A write outside of a block.")
        await d.press("v")
        d.assert_shows("unknown")


async def test_it_is_sorted_and_filtered_by(drive):
    async with drive(several_groups(), size=(120, 40)) as d:
        await d.press("3", "s", "s", "s", "enter")
        levels = [d.app.campaign.findings[key].severity for key in d.row_keys()]
        assert levels[:2] == [EXPLOITABLE] * 2
        assert levels[-1] == NOT_EXPLOITABLE
        await d.press("slash", *"severity=exploitable", "enter")
        d.assert_shows("via on_comment", "via on_plain")
        d.assert_lacks("SIGABRT", "SIGSEGV")


async def test_an_old_log_has_no_column(drive):
    async with drive(running(), size=(120, 40)) as d:
        await d.press("3")
        d.assert_lacks("severity")


async def test_exceptions_of_python_are_errors_and_need_no_column(drive):
    error = Severity(ERROR, "KeyError", "A Python exception is an error, and no memory bug.")
    log = started().add(*crash(1, "KeyError: 1", error, "load"))
    async with drive(log, size=(120, 40)) as d:
        await d.press("3")
        d.assert_lacks("severity")
        await d.press("slash", *"severity=error", "enter")
        assert len(d.row_keys()) == 1
        d.assert_lacks("no memory bug")  # the title says all


async def test_a_hostile_level_is_text(drive):
    severity = Severity("\x1b[31mWORST", "\x1b[2J", "[red]\u202e")
    async with drive(started().add(*crash(1, "E", severity, "load"))) as d:
        await d.press("3")
        d.assert_shows("\\e[31mworst, \\e[2J: [red]\\u202e")
        assert "\x1b" not in d.text()


@pytest.mark.parametrize(
    ("title", "width", "shown"),
    [
        (f"{STORE} via on_plain", 38, "heap-buffer-overflow in … via on_plain"),
        (f"{STORE} via on_plain", 20, "heap-buffer-overflo…"),
        ("ValueError: of no group", 12, "ValueError:…"),
    ],
)
def test_a_title_that_is_cut_keeps_its_distinction_if_there_is_room(title, width, shown):
    assert cut_title(title, width) == shown
