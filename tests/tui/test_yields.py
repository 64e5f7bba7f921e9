"""What comparisons and mutators have brought, and the probes that are left, on the screens."""

import pytest
from fakes import running
from mutated import analysis, mutated

from fuzztui.features.corpus.screen.yields import YieldStrip
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.events import Stats
from fuzztui.tui.frame.box import BoxScreen
from fuzztui.tui.frame.footer import MORE, Footer


def compared():
    """A campaign with entries made for comparisons; one place has markup in its name."""
    return running().add(
        ev.EntrySaved("main", 900, "queue/id:000900", [0], "compare"),
        ev.EntrySaved("main", 901, "queue/id:000901", [0], "compare"),
        ev.ComparisonsReported(
            "main",
            {"svg": "m:7", "\x1b[31mred": "[/x]:9"},
            {"900": ["m:7", "'table'"], "901": ["m:7", "'svg'"]},
            {"compare": 250, "havoc": 9750},
        ),
    )


@pytest.mark.slow
async def test_the_strip_is_there_if_comparisons_are(drive):
    async with drive(running(), press="2") as d:
        assert not d.screen.query_one(YieldStrip).display
    for size in ((80, 24), (120, 40)):
        async with drive(compared(), size=size, press="2") as d:
            assert d.screen.query_one(YieldStrip).display
            assert "2.5%" in d.text()


@pytest.mark.slow
async def test_operations_and_places(drive):
    for size in ((80, 24), (120, 40), (200, 50)):
        async with drive(compared(), size=size, press="2v") as d:
            await d.until(lambda d=d: isinstance(d.app.screen, BoxScreen))
            await d.until_shows("m:7")
            text = d.text()
            assert "2.5%" in text and "'table', 'svg'" in text and "[/x]:9" in text
            assert "\x1b" not in text
            await d.press("escape")
            await d.until(lambda d=d: not isinstance(d.app.screen, BoxScreen))


@pytest.mark.slow
async def test_the_dialog_without_anything(drive):
    async with drive(running(), press="2v") as d:
        await d.until_shows("engine.comparisons")


async def test_probes_left(drive):
    log = running()
    log.add(Stats("main", 10**6, 2000.0, 5, edges=300, edges_total=900, probes_left=777))
    async with drive(log, size=(200, 50)) as d:
        d.assert_lacks("777")  # no word for the first screen
        await d.press("enter")
        await d.until_shows("probes left", "777")


@pytest.mark.slow
async def test_the_footer_says_that_keys_are_left_out(drive):
    async with drive(mutated(), size=(80, 24), press="4") as d:
        (line,) = d.screen.query_one(Footer).paint(80, 1)
        assert MORE in [span.text for span in line]
        assert sum(len(span.text) for span in line) == 80
        (line,) = d.screen.query_one(Footer).paint(900, 1)
        assert MORE not in [span.text for span in line]


@pytest.mark.slow
async def test_a_hidden_column_leaves_a_sign(drive):
    for size, hidden in (((80, 24), True), ((400, 40), False)):
        async with drive(mutated(), size=size, press="4") as d:
            header = next(line for line in d.lines() if "operator" in line and "where" in line)
            assert ("…" in header) == hidden


@pytest.mark.slow
async def test_the_exact_pass_is_announced_in_the_header(drive):
    log = mutated().add(ev.CampaignStarted("c", "mu2", "m:f", budget_s=3000.0, exact_s=15.0))
    async with drive(log, size=(160, 40)) as d:
        assert "then at most 15s for the exact score" in d.lines()[1]
    async with drive(log, size=(80, 24)) as d:
        assert "0:50:00" in d.lines()[1]


@pytest.mark.slow
async def test_an_exact_pass_is_not_in_the_budget(drive):
    log = mutated().add(ev.CampaignStarted("c", "mu2", "m:f", budget_s=300.0))
    log.add(analysis("main", 600, phase="exact", unsettled=9, pass_share=0.25), dt=1.0)
    for size in ((80, 24), (120, 40), (200, 50)):
        async with drive(log, size=size, press="4") as d:
            assert "25%" in d.text(), "of the budget of the pass"
            assert "exact pass" in d.lines()[1]
