"""Which source files an engine reports."""

from types import SimpleNamespace

import pytest

from fuzztui.engines.directory.events import ReportedEvents
from fuzztui.engines.instrument.cache import SourceCache
from fuzztui.engines.loop.line_reports import LineReports
from fuzztui.kernel.wire.codec import MAX_EVENT, encode_event


def test_an_empty_module_does_not_stop_the_listing():
    modules = [
        SimpleNamespace(name="p", file="/p/__init__.py", source=b""),
        SimpleNamespace(name="p.m", file="/p/m.py", source=b"x = 1\n"),
    ]
    edges = {m.name: SimpleNamespace(sha="a", edges=[], base=0) for m in modules}
    application = SimpleNamespace(
        loaded=modules,
        table=SimpleNamespace(modules=edges),
        coverage=SimpleNamespace(collect=lambda: 0, size=1),
        cache=SourceCache(None),
    )
    written = []
    log = SimpleNamespace(instance="main", write=written.append)
    recorder = SimpleNamespace(take=dict)
    reports = LineReports(application, recorder, log, ReportedEvents())
    reports.on_modules()
    while reports.price:
        reports.list_one()
    assert [event.path for event in written] == ["/p/__init__.py", "/p/m.py"]


@pytest.mark.parametrize(("length", "reported"), [(4_000, True), (40_000, False)])
def test_an_event_that_would_be_skipped_is_not_written(length, reported):
    source = "".join(f"def {'f' * length}{n}(): pass\n" for n in range(30)).encode()
    module = SimpleNamespace(name="m", file="/m.py", source=source)
    edges = SimpleNamespace(sha="a", edges=[], base=0)
    application = SimpleNamespace(
        loaded=[module],
        table=SimpleNamespace(modules={"m": edges}),
        coverage=SimpleNamespace(collect=lambda: 0, size=1),
        cache=SourceCache(None),
    )
    written = []
    log = SimpleNamespace(instance="main", write=written.append)
    recorder = SimpleNamespace(take=lambda: {"/m.py": {1}})
    reports = LineReports(application, recorder, log, ReportedEvents())
    reports.on_modules()
    assert reports.must_rerun
    assert not written
    assert reports.price > 0
    reports.list_one()
    assert reports.price == 0
    assert [event.kind for event in written] == ["source_file", "lines_covered"] * reported
    assert all(len(encode_event(event)) < MAX_EVENT for event in written)
