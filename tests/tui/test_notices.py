"""Where notifications are shown, and what they call the rows that they are about."""

import pytest
from mutated import mutated
from textual.widgets._toast import Toast

from fuzztui.tui.base.pane import DetailPane
from fuzztui.tui.frame.header import Header
from fuzztui.tui.labels.mutants import place, with_places


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_notice_names_a_place_and_covers_neither_state_nor_row_nor_details(drive, size):
    async with drive(mutated(), size=size, toasts=True, press="4") as d:
        await d.until(lambda: d.table.current is not None)
        every = d.app.campaign.mutants.values()
        mutant = next(m for m in every if m.state == "alive" and not m.steer)
        d.table.go_to(mutant.id)
        await d.press("u")
        await d.until(lambda: d.screen.query(Toast))
        (notice,) = d.notices()
        assert place(mutant) in notice and mutant.id not in notice
        await d.until(lambda: d.screen.query_one(Toast).region.height)
        toast = d.screen.query_one(Toast).region
        assert not toast.overlaps(d.screen.query_one(DetailPane).region)
        assert toast.bottom <= d.table.region.y + 1, "titles of columns, but no row"
        assert not toast.overlaps(d.screen.query_one(Header).region)


def test_ids_become_places_wherever_they_stand():
    mutants = mutated(seconds=1).state.mutants
    one, two = [*mutants.values()][:2]
    text = with_places(f"undo of promote {one.id} (and {two.id}); 3 more", mutants)
    assert text == f"undo of promote {place(one)} (and {place(two)}); 3 more"
