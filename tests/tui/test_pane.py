"""The pane of details by itself."""

from textual.screen import Screen

from fuzztui.tui.base.canvas import TextSpan
from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.base.themed import ThemedApp


class PaneApp(ThemedApp):
    def compose(self):
        yield DetailPane()


def lines(count):
    return [[TextSpan(f"{n} of {count}")] for n in range(count)]


async def test_a_text_that_fits_needs_no_layout_and_a_longer_one_scrolls(monkeypatch):
    layouts = []
    lay_out = Screen._refresh_layout
    app = PaneApp()
    async with app.run_test(size=(40, 20)) as pilot:
        pane = app.query_one(DetailPane)
        await pilot.pause()
        note = lambda *a, **k: (layouts.append(a), lay_out(*a, **k))[1]  # noqa: E731
        monkeypatch.setattr(Screen, "_refresh_layout", note)
        for count in (3, 20, 1):
            pane.show(lines(count))
            await pilot.pause()
        assert layouts == []
        assert not pane.show_vertical_scrollbar
        pane.show(lines(21))
        await pilot.pause()
        assert pane.show_vertical_scrollbar
        pane.scroll_to(y=100, animate=False)
        assert pane.scroll_offset.y == 1
        for height, scrolls in ((30, False), (10, True)):
            await pilot.resize_terminal(40, height)
            for _ in range(100):  # Textual waits before it handles another size
                await pilot.pause()
                if pane.show_vertical_scrollbar == scrolls:
                    break
            assert (pane.size.height, pane.show_vertical_scrollbar) == (height, scrolls)
