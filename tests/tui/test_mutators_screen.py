"""The operators screen: the mixture and who pays, moving probability, live and in replay."""

import itertools
from dataclasses import replace

import pytest
from fakes import Gone, Supervisor, running, started
from hypothesis import given
from hypothesis import strategies as st
from mixed import figures, mixed

from fuzztui.engines.text import reference
from fuzztui.engines.text.table import ARMS, NAMES
from fuzztui.features.mutators.fold import MutatorRow
from fuzztui.features.mutators.screen.columns import columns, rate_cell, rate_text
from fuzztui.features.mutators.screen.labels import effect_of, mixture_bar
from fuzztui.features.mutators.screen.strip import MixtureLine, MixtureStrip
from fuzztui.kernel.model.state import Changes
from fuzztui.kernel.wire import events as ev
from fuzztui.kernel.wire.codec import encode_command
from fuzztui.kernel.wire.commands import SetMixture, WeighMutator
from fuzztui.kernel.wire.mixture import Mixture, named_by
from fuzztui.tui.base.canvas import width_of
from fuzztui.tui.labels.events import STATS, command_text, describe

HOSTILE = "[/x]\x1b[31m\u202e"


def strip(d):
    return d.painted(MixtureStrip)


# -------------------------------------------------------------------- looking


async def test_the_mixture_and_who_pays(drive):
    async with drive(mixed(), press="6j") as d:
        d.assert_shows(
            " havoc 20% ", " text 70% ", "▒ splice 10%", "fixed since 0:05:00 by ann@box",
            "1.38M trials", "best fragment 578 of 105k", "swaps the two arguments of a call",
            "- f(a,b)", "+ f(b,a)", "168 entries", "4,089 new entries",
            "latest entries and findings", "< Havoc→text", "> Text→havoc", "[ Text→splice",
            "] Splice→text", "A Adaptive",
        )  # fmt: skip
        assert len(d.row_keys()) == len(ARMS)
        assert d.row_keys()[:4] == ["fragment", "swap-args", "delete-line", "delete-block"]


@pytest.mark.slow
async def test_the_bar_is_as_wide_as_the_screen(drive):
    for size in ((120, 40), (80, 24), (60, 15)):
        async with drive(mixed(), size=size, press="6") as d:
            bar = next(line for line in d.lines() if " text 70% █" in line)
            assert len(bar) == size[0] - 1
            assert set(bar) >= set("▓█▒")


async def test_the_tab_is_there_only_where_there_are_operators(drive):
    async with drive(running()) as d:
        assert "6 Oper" not in d.text()
        assert not d.screen.query_one(MixtureLine).display
        await d.press("6")
        assert d.notices() == ["Mutators: no engine of this campaign reports text mutators"]
        assert d.screen.TAB == "overview"
        d.log.add(figures("main", 10))
        await d.until_shows("6 Mutators")
        await d.press("6")
        assert d.screen.TAB == "mutators"


async def test_typed_before_the_log_is_read(drive):
    async with drive(mixed(), size=(60, 15), wait=False) as d:
        await d.press("6")
        await d.ready()
        assert d.screen.TAB == "mutators"
        await d.until_shows("text 70%")
        assert "0:10:00" in d.lines()[1]


@pytest.mark.slow
async def test_in_a_replay_before_the_first_figures(drive):
    async with drive(mixed(), replay_at=600.0, press="6", shows="fixed since") as d:
        d.app.seek(255.0)
        await d.until_shows("havoc 25%")
        d.app.seek(5.0)
        await d.until_shows("No instance has reported")
        assert "6 Mutators" in d.text()
        d.app.seek(590.0)
        await d.until_shows("havoc 20%")
        assert d.row_keys()[0] == "fragment"
        await d.press("less_than_sign", "A")
        assert "this is a replay" in "".join(d.notices()) or "not in a replay" in d.notices()[0]
        assert not strip(d)[1].count("< >")
        assert not d.commands


def with_finds(name, found):
    """Figures in which ``name`` has found that much."""
    new = figures("main", 600, (0.2, 0.7, 0.1), seed=0)
    new.found[new.names.index(name)] = found
    return new


@pytest.mark.parametrize("size", [(120, 40), (80, 24)])
async def test_the_top_stays_the_top_until_somebody_moves(drive, size):
    async with drive(mixed(), size=size, press="6") as d:
        assert d.table.current.name == "fragment"
        d.log.add(with_finds("swap-words", 40_000), dt=1.0)
        await d.until(lambda: d.row_keys()[0] == "swap-words")
        assert d.table.current.name == "swap-words"
        assert d.table.scroll_offset.y == 0
        assert "best swap-words" in d.text()
        await d.press("s", *"wei", "enter")  # by another column, from there on too
        assert (d.table.current.name, d.table.scroll_offset.y) == (d.row_keys()[0], 0)


@pytest.mark.slow
@pytest.mark.parametrize("keys", [["j", "k", "j"], ["enter"]])
async def test_who_looks_at_a_row_keeps_it(drive, keys):
    async with drive(mixed(), press=["6", *keys]) as d:
        was = d.table.current.name
        d.log.add(with_finds("swap-words", 40_000), dt=1.0)
        await d.until(lambda: d.row_keys()[0] == "swap-words")
        assert d.table.current.name == was


async def test_figures_are_told_from_others_at_the_same_address(drive):
    async with drive(mixed(), press="6") as d:
        state, screen = d.app.campaign, d.screen
        state.mutators["main"] = with_finds("swap-words", 1000)
        screen.show(Changes())
        assert d.table.rows.row("swap-words").found == 1000
        was = id(state.mutators.pop("main"))
        others = [with_finds("swap-words", 2000)]
        while id(others[-1]) != was and len(others) < 1000:
            others.append(replace(others[0]))
        state.mutators["main"] = others[-1]
        screen.show(Changes())
        assert d.table.rows.row("swap-words").found == 2000


async def test_what_found_too_little_to_tell_is_in_brackets(drive):
    async with drive(mixed().add(with_finds("swap-words", 2)), press="6", row="swap-words") as d:
        await d.until_shows("fewer than 3 entries")
        arm = d.table.current
        assert rate_cell(arm)[0] == f"({rate_text(arm)})"


@pytest.mark.slow
async def test_the_column_that_is_sorted_by_is_always_whole(drive):
    for size in ((60, 15), (40, 12), (80, 24)):
        async with drive(mixed(), size=size, press="6", shows="per million ▼") as d:
            assert any(line.rstrip().endswith("4,089") for line in d.lines()) or size == (80, 24)


async def test_in_the_smallest_one_sees_how_it_is_kept(drive):
    async with drive(mixed(), size=(60, 15), silent=True, press="6") as d:
        assert strip(d)[0].endswith(" fixed")
        await d.press("A")
        await d.until(lambda: strip(d)[0].endswith("fixed → adaptive"))


@pytest.mark.slow
async def test_what_sorts_works_from_the_details_too(drive):
    async with drive(mixed(), size=(80, 24), press=["6", "enter"]) as d:
        assert d.app.focused is d.screen.pane
        await d.press("s", *"wei", "enter")
        assert d.table.rows.sort_column.id == "weight"
        before = d.row_keys()
        await d.press("S")
        assert d.row_keys()[0] == before[-1]


@pytest.mark.slow
async def test_balanced_is_what_is_done_where_no_fragment_fits(drive):
    log = mixed()
    new = figures("main", 600, (0.2, 0.7, 0.1), seed=0)
    new.weights[ARMS.index("fragment")], new.weights[ARMS.index("balanced")] = 10**6, 0
    log.add(new)
    async with drive(log, press="6", shows="in 100% of splice steps") as d:
        assert d.table.go_to("balanced")
        await d.until_shows("other splicing mutator")


@pytest.mark.slow
async def test_sorting_and_filtering_as_everywhere(drive):
    async with drive(mixed(), press=["6", "slash", *"swap", "enter"]) as d:
        await d.until(lambda: len(d.row_keys()) < len(ARMS))
        assert all("swap" in name for name in d.row_keys())
        await d.press("escape")
        assert len(d.row_keys()) == len(ARMS)
        await d.press("s", *"wei", "enter")
        assert d.table.rows.sort_column.id == "weight"
        await d.press("s", *"mut", "enter")
        found = [d.table.rows.row(name).name for name in d.row_keys()]
        assert found == sorted(found)


@pytest.mark.slow
async def test_finds_that_name_it_are_listed_the_latest_first(drive):
    log = mixed()
    log.add(ev.EntrySaved("main", 900, "queue/id:000900", [1], "havoc+text-swap-words,rep:4"))
    async with drive(log, press="6", row="swap-words") as d:
        await d.until_shows("main/900")
        log.add(ev.EntrySaved("main", 901, "queue/id:000901", [1], "swap-words,rep:1"), dt=1.0)
        await d.until_shows("main/901")
        text = d.text()
        assert text.index("main/901") < text.index("main/900")
        assert d.table.go_to("delete-block")
        await d.until_shows("main/crashes/id:000000")


@pytest.mark.slow
async def test_to_the_entry_that_it_found(drive):
    async with drive(mixed(), press=["6", "backspace"]) as d:
        await d.until(lambda: d.screen.TAB == "corpus" and d.table.current is not None)
        assert d.table.current.op == "fragment,rep:1"
        await d.press("6")
        assert d.table.go_to("delete-block")
        await d.press("backspace")
        assert d.screen.TAB == "findings"
        await d.press("6")
        assert d.table.go_to("swap-words")
        await d.press("backspace", "c")
        assert d.screen.TAB == "mutators"
        assert d.notices()[-2:] == ["No known entry was made by this mutator.", "swap-words"]


@pytest.mark.slow
async def test_each_instance_has_its_own_figures(drive):
    async with drive(mixed(instances=("main", "s1", "s2"), adaptive=True), press="6j") as d:
        d.assert_shows("adaptive since 0:05:00 by ann@box", "── instances")
        assert d.text().count("weight 13%") == 3


@pytest.mark.slow
async def test_names_of_hostile_files_are_harmless(drive):
    log = mixed()
    names = [HOSTILE, "\ud800", "x" * 200, "[bold]havoc"]
    log.add(
        ev.InstanceState(HOSTILE, "running", 1),
        ev.MutatorStats(
            HOSTILE, 0.2, 0.7, 0.1, False, 5, names, [10**6] * 4, [10**6] * 4, [900] * 4, [7] * 4,
            [10**6] * 4,
        ),
        ev.CommandIssued("c77", encode_command(SetMixture(0.5, 0.5, 0.0)), HOSTILE),
    )  # fmt: skip
    for size in ((120, 40), (80, 24), (40, 12)):
        async with drive(log, size=size) as d:
            for key in "61":
                await d.press(key)
                await d.still()
                d.assert_lacks("\x1b", "\u202e")
                assert len(d.lines()) == size[1]


# ------------------------------------------------------------------- steering


@pytest.mark.slow
@pytest.mark.parametrize(
    ("key", "mixture"),
    [
        ("less_than_sign", (0.15, 0.75, 0.1)),
        ("greater_than_sign", (0.25, 0.65, 0.1)),
        ("left_square_bracket", (0.2, 0.65, 0.15)),
        ("right_square_bracket", (0.2, 0.75, 0.05)),
    ],
)
async def test_keys_move_probability(drive, key, mixture):
    async with drive(mixed(), press=["6", key]) as d:
        await d.until_sent(SetMixture(*mixture))


@pytest.mark.parametrize(("key", "weight"), [("plus", 2.0), ("minus", 0.5), ("b", 0.0)])
async def test_keys_change_the_weight_of_one_mutator(drive, key, weight):
    async with drive(mixed(), press=["6", "j", key]) as d:
        await d.until_sent(WeighMutator("swap-args", weight))
        d.log.add(ev.CommandApplied("c1", "main", 9))
        await d.until_shows({2.0: "×2 ", 0.5: "÷2 ", 0.0: "⊘ banned"}[weight])
        assert "swap-args" in d.row_keys()


async def test_a_mutator_that_is_off_is_switched_on_again(drive, never_settles):
    async with drive(mixed(), press=["6", "j", "b", "plus"]) as d:
        assert d.notices() == ["Raise: the mutator is never drawn; press b to draw it again"]
        assert d.screen.describe_row().about.labels() == {"mutator.off": "On"}
        assert "→" not in strip(d)[2], "the mixture stays"
        await d.press("b", "plus", "plus")
        d.screen.leave()
        await d.until_sent(WeighMutator("swap-args", 4.0))


async def test_only_text_mutators_have_a_weight(drive):
    async with drive(mixed(), press=["6", "plus"]) as d:  # on fragment
        assert d.notices() == [
            "Raise: fragment is not a text mutator: change the share of splice by mixture"
        ]


@pytest.mark.slow
async def test_steps_that_follow_each_other_are_one_command(drive, never_settles):
    async with drive(mixed(), press=["6", *["less_than_sign"] * 3, "left_square_bracket"]) as d:
        assert strip(d)[2].startswith(" → havoc 5%, text 80%, splice 15%")
        d.screen.leave()
        await d.until_sent(SetMixture(0.05, 0.8, 0.15))


@pytest.mark.slow
async def test_pending_until_the_engines_answer(drive):
    log = mixed()
    supervisor = Supervisor(log, silent=True)
    async with drive(log, supervisor=supervisor, press=["6", "less_than_sign"]) as d:
        await d.until_shows("sent by me@here, waiting for the engines…")
        assert "→ havoc 15%, text 75%, splice 10%" in d.text()
        assert "havoc 20%" in strip(d)[1]  # what is so is another matter
        assert "1 pending" in d.text()
        # The next step continues from what is asked for.
        await d.press("less_than_sign")
        assert "→ havoc 10%, text 80%, splice 10%" in strip(d)[2]
        await d.until(lambda: len(d.commands) == 2)
        log.add(
            ev.CommandApplied("c1", "main", 9), ev.CommandApplied("c2", "main", 9),
            figures("main", 601, (0.1, 0.8, 0.1)), dt=1.0,
        )  # fmt: skip
        await d.until_shows("fixed since 0:10:01 by me@here")
        assert "→" not in strip(d)[2]
        assert "havoc 10%" in strip(d)[1]


@pytest.mark.slow
async def test_a_refusal_takes_the_wish_back(drive):
    async with drive(mixed(), refuse="no room for splicing") as d:
        await d.press("6", "left_square_bracket")
        await d.until_notice("no room for splicing")
        await d.until(lambda: "→" not in strip(d)[2])
        assert d.notices() == ["mixture: rejected: no room for splicing"]


@pytest.mark.slow
async def test_what_was_sent_to_nobody_is_not_wished_for_ever(drive, monkeypatch):
    monkeypatch.setattr("fuzztui.tui.frame.steered.ECHO_S", 0.3)
    log = mixed()
    async with drive(log, supervisor=Gone(log), press=["6", "less_than_sign"]) as d:
        await d.until_notice("connection refused")
        await d.until(lambda: "→" not in strip(d)[2])


@pytest.mark.slow
async def test_adaptive_and_held(drive):
    async with drive(mixed(), press="6A") as d:
        await d.until_sent(SetMixture(0.2, 0.7, 0.1, adaptive=True))
        d.log.add(figures("main", 601, (0.05, 0.85, 0.1), adaptive=True), dt=1.0)
        await d.until_shows("havoc 5%")
        d.assert_shows("A Hold fixed", "(< Havoc→text)")
        await d.press("less_than_sign")
        assert "Havoc→text: the mixture is adaptive; press A to fix it" in d.notices()
        await d.press("A")
        await d.until_sent(SetMixture(0.05, 0.85, 0.1), after=1)


def two():
    """main is adaptive, s1 fixed at something else."""
    log = mixed(instances=("main", "s1"))
    log.add(figures("main", 600, (0.2, 0.7, 0.1), adaptive=True), dt=5.0)
    log.add(figures("s1", 600, (1.0, 0.0, 0.0)))
    return log


@pytest.mark.slow
async def test_instances_that_differ_are_not_told_as_one(drive):
    async with drive(two()) as d:
        assert "havoc 60% · text 35% · splice 5% mean of 2" in d.text()
        await d.press("6")
        assert "mean of 2 instances:" in strip(d)[1]
        assert strip(d)[2].strip() == "main adaptive; s1 fixed 100/0/0"


@pytest.mark.slow
async def test_each_of_them_is_held_where_it_is(drive):
    async with drive(two(), silent=True, press="6A") as d:
        await d.until_sent(
            SetMixture(0.2, 0.7, 0.1, instance="main"), SetMixture(1.0, 0.0, 0.0, instance="s1")
        )
        await d.until(lambda: len(d.app.campaign.commands) == 3)
        # From there each continues by itself.
        await d.press("less_than_sign")
        await d.until(lambda: len(d.commands) == 4)
        assert [c.mixture for c in d.commands[2:]] == [(0.15, 0.75, 0.1), (0.95, 0.05, 0.0)]


@pytest.mark.slow
async def test_what_havoc_really_was(drive):
    log = mixed()
    new = with_finds("havoc", 9)
    new.tried[new.names.index("havoc")] = 4_000_000
    log.add(new, dt=1.0)
    async with drive(log, shows="havoc 20% (did ") as d:
        await d.press("6")
        assert "havoc 20% (did " in strip(d)[1]


@pytest.mark.slow
async def test_an_engine_that_cannot_says_why(drive):
    async with drive(mixed(able=False), press="6") as d:
        assert "(< Havoc→text)" in d.text()
        await d.press("less_than_sign", "A")
        assert not d.commands
        why = "its library was built without a control file"
        assert all(why in notice for notice in d.notices())
        assert len(d.notices()) == 2


@pytest.mark.slow
async def test_at_its_end_a_boundary_does_not_move(drive):
    async with drive(mixed().add(figures("main", 601, (0.0, 1.0, 0.0)))) as d:
        await d.press("6", "less_than_sign", "right_square_bracket")
        assert d.notices() == [
            "Havoc→text: havoc is already at 0%", "Splice→text: splice is already at 0%",
        ]  # fmt: skip
        assert not d.commands


# -------------------------------------------------------------------- overview


@pytest.mark.slow
async def test_one_line_on_the_overview(drive):
    async with drive(mixed()) as d:
        assert "mixture havoc 20% · text 70% · splice 10%   best fragment 578 of 105k" in d.text()
    log = started("t", engine="text").add(ev.MutatorStats("main", 0.25, 0.75, 0.0))
    async with drive(log, size=(80, 24)) as d:
        assert "mixture havoc 25% · text 75% · splice 0%   too few entries to compare" in d.text()
        await d.press("6")
        assert "no mutators" in d.text()


# ----------------------------------------------------------------------- words


@pytest.mark.parametrize("name", ARMS)
def test_every_arm_has_words_and_a_true_example(name):
    words = effect_of(name)
    assert "unknown" not in words.does
    assert bool(words.before) == (name in NAMES)
    if words.before:
        before = words.before.replace("⏎", "\n").encode()
        after = words.after.replace("⏎", "\n").encode()
        made = (
            reference.apply(before, 1000, reference.Rng(seed), NAMES.index(name))
            for seed in range(99)
        )
        assert after in made


def test_unknown_arms_have_words_too():
    assert "a text mutator" in effect_of("of-the-future").does


@given(st.tuples(st.floats(0, 1), st.floats(0, 1), st.floats(0, 1)), st.integers(0, 200))
def test_a_bar_is_as_wide_as_it_should_be(parts, width):
    assert width_of(mixture_bar(parts, width)) == (width if sum(parts) > 0 else 0)


def test_columns_of_an_arm_that_was_never_used():
    arm = MutatorRow("x")
    cells = {c.id: c.cell(arm)[0] for c in columns(lambda _: False)}
    assert (cells["pays"], cells["hits"], cells["found"], cells["share"]) == ("–", "–", "0", "0%")
    assert rate_cell(MutatorRow("x", 9, 9, 1))[1] == "muted"
    orders = [c.sort for c in columns(lambda _: False) if c.sort is not None]
    for a, b in itertools.product((arm, MutatorRow("y", 5, 5, 5)), repeat=2):
        assert all(sort(a) <= sort(b) or sort(b) <= sort(a) for sort in orders)


def test_arms_in_the_name_of_an_entry():
    assert named_by("text-swap-args+havoc") == ["swap-args", "havoc"]
    assert named_by("swap-args+havoc,rep:4") == ["swap-args", "havoc"]
    assert named_by("fragment,rep:1") == ["fragment"]
    assert named_by("") == []


def test_the_log_has_words_for_it():
    told = describe(ev.MutatorStats("main", 0.25, 0.75, 0.0, trials=1234))
    assert told.text == "1,234 trials  havoc 25%, text 75%, splice 0%  fixed"
    assert told.group == STATS
    mixture = encode_command(SetMixture(0.1, 0.8, 0.1))
    assert command_text(mixture) == "mixture havoc 10%, text 80%, splice 10%"
    assert command_text({**mixture, "instance": "s1"}).endswith("splice 10% on s1")
    assert command_text({**mixture, "adaptive": True}) == "mixture adaptive"
    for wrong in ({"c": "mixture"}, {**mixture, "text": "x"}, {**mixture, "text": 10**400}):
        assert command_text(wrong) == "mixture"
    assert str(Mixture(0.1, 0.8, 0.1)) in command_text(mixture)
