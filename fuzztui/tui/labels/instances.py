"""What there is to say of one instance, and of a fleet of them, besides its figures. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import NamedTuple

from fuzztui.base.text import several
from fuzztui.model.fuzzfirst import HANDED
from fuzztui.model.oracle import ORACLE
from fuzztui.model.selectors import ENDED, crashes_of, known_total
from fuzztui.model.state import Instance, Mutant
from fuzztui.tui.base import format
from fuzztui.tui.base.canvas import Line, TextSpan, width_of
from fuzztui.tui.base.text import cell_len, fit, plain
from fuzztui.tui.labels.events import engine_words, state_sign, state_style
from fuzztui.tui.labels.glyphs import DIFFERS
from fuzztui.tui.labels.instance_columns import (
    REPORTING,
    age_cell,
    find_cell,
    per_second,
    state_cell,
    state_word,
)
from fuzztui.tui.labels.mutants import brief_change, place
from fuzztui.tui.labels.status import FRESH_S, Status

TROUBLE = ("failed", "stalled")
"""States in which an instance is of no use until somebody has looked."""

ADDED = "added"
"""A sibling that never fuzzes: seeds that were added while the campaign runs."""

NAMED = 6
"""Siblings, instances in trouble that are named one by one."""


class Fact(NamedTuple):
    """One thing to know, drawn safely already."""

    name: str
    spans: Line


def present(instances: Iterable[Instance]) -> list[Instance]:
    """All but those that fuzzed a mutant and have ended: their mutants tell of them."""
    return [i for i in instances if not (i.mutant and i.state in ENDED)]


def facts(
    instance: Instance, known: Collection[str], status: Status, mutant: Mutant | None = None
) -> list[Fact]:
    """What no column has room for, the most pressing first; ``known`` are the instances.

    ``mutant``: the one that it fuzzes.
    """
    found: list[Fact] = []
    if mutant is not None:
        words = f"{place(mutant)}  {brief_change(mutant.before, mutant.after)}"
        found.append(_fact("fuzzes the mutant", words))
    if instance.id == HANDED:
        words = "inputs that mutants brought to the target: it never fuzzes"
        found.append(_fact("", words, "muted"))
    if instance.id == ORACLE:
        words = "runs queue entries through the commands of [oracle]: it never fuzzes"
        found.append(_fact("", words, "muted"))
    if instance.reason:
        found.append(_fact("because", instance.reason, f"bold {state_style(instance.state)}"))
    if instance.peers:
        renewed = instance.state in REPORTING and not status.orphaned
        found.append(Fact("imports from", _peers(instance, known, renewed=renewed)))
    if age := slow_age(instance, status):
        found.append(_fact("stability and map size", f"{age} old", "muted"))
    about = [engine_words(instance.engine, instance.version)]
    about += [f"python {instance.python}"] if instance.python else []
    about += [f"pid {instance.pid}"] if instance.pid > 0 else []
    if any(about):
        found.append(_fact("engine", " ".join(word for word in about if word)))
    if instance.directory:
        found.append(_fact("in", instance.directory))
    return found


def _fact(name: str, value: str, style: str = "") -> Fact:
    return Fact(name, [TextSpan(plain(value), style)])


def _peers(instance: Instance, known: Collection[str], *, renewed: bool) -> Line:
    """Strangers, who feed it without being shown here, stand out.

    How far it is with each is told by the id that it will look at next: ids count from 0.
    ``renewed``: whether somebody looks for newer figures.
    """
    peers = {k: v for k, v in instance.peers.items() if k != instance.id}
    siblings = [name for name in peers if name in known]
    strangers = [name for name in peers if name not in known and _base(name) != ADDED]
    ours = sum(peers[name] for name in peers if name not in known and _base(name) == ADDED)
    few = 0 < len(siblings) <= NAMED
    spans: list[TextSpan] = []
    if len(siblings) > NAMED:
        spans.append(TextSpan(f"{len(siblings)} siblings", "imported"))
    elif few:
        spans.append(TextSpan(_far(siblings, peers, unit=True), "imported"))
    if strangers:
        more = f" and {len(strangers) - NAMED} more" if len(strangers) > NAMED else ""
        noun = "a stranger: " if len(strangers) == 1 else "strangers: "
        spans.append(TextSpan((" and " if spans else "") + noun, "muted"))
        spans.append(TextSpan(_far(strangers[:NAMED], peers, unit=not few) + more, "pending"))
    if ours:
        spans.append(TextSpan(" and " if spans else "", "muted"))
        spans.append(TextSpan(several(ours, "added seed"), "imported"))
    if renewed and (strangers or ours or few):
        spans.append(TextSpan(" ≤1m old", "muted"))  # nobody looks more often
    return spans


def _far(names: Sequence[str], peers: Mapping[str, int], *, unit: bool) -> str:
    """``unit``: whether the first number says what it counts."""
    words = [f"{_named(name)} ({peers[name]:,}" for name in names]
    words[0] += " looked at" if unit else ""
    return plain("), ".join(words) + ")")


def _named(name: str) -> str:
    return "mutants' inputs" if name == HANDED else name


def _base(name: str) -> str:
    """Without the label that a watch of several trees puts before it."""
    return name.rpartition(":")[2]


def slow_age(instance: Instance, status: Status) -> str:
    """The age of the figures that come more rarely than the others; "" when it is no news."""
    if instance.slow_t < 0 or instance.state not in REPORTING or status.orphaned:
        return ""
    age = status.now - instance.slow_t
    return format.age(age) if age >= FRESH_S else ""


def _refusals(instance: Instance) -> dict[str, list[str]]:
    """Commands by the reason why they cannot be obeyed: often one is the reason of many."""
    out: dict[str, list[str]] = {}
    for name, why in instance.unable.items():
        out.setdefault(why, []).append(name)
    return out


def flow(about: Sequence[Fact], width: int, height: int, first: int = -1) -> list[Line]:
    """Facts one after the other, as many as fit; on the last line what begins there is cut.

    ``first``: the cells of the first line, if others.
    """
    room = width if first < 0 else first
    lines: list[Line] = []
    line: list[TextSpan] = [TextSpan(" ")]
    for fact in about:
        spans = [*([TextSpan(f"{fact.name} ", "muted")] if fact.name else []), *fact.spans]
        gap = [TextSpan("   ")] if len(line) > 1 else []
        full = gap and width_of([*line, *gap, *spans]) > room
        if full and len(lines) + 1 < height:
            lines.append(cut(line, room))
            line, room, gap = [TextSpan(" ")], width, []
        line += [*gap, *spans]
        if full and gap:
            break
    return [*lines, cut(line, room)][:height]


def cut(line: Line, width: int) -> list[TextSpan]:
    """``line`` in at most ``width`` cells."""
    out: list[TextSpan] = []
    room = width
    for span in line:
        if room <= 0:
            break
        wide = cell_len(span.text)
        out.append(span if wide <= room else span._replace(text=fit(span.text, room)))
        room -= wide
    return out


def glance(
    instance: Instance, known: Collection[str], status: Status, mutant: Mutant | None = None
) -> list[Fact]:
    """For a strip of a few lines: its name, then :func:`facts`."""
    name = Fact("", [TextSpan(plain(instance.id), "bold")])
    return [name, *facts(instance, known, status, mutant)]


def whole(
    instance: Instance, known: Collection[str], status: Status, mutant: Mutant | None = None
) -> list[Fact]:
    """All that is known of it, figures and all."""
    state = state_cell(instance)[0].split(":", 1)[0]
    style = f"bold {state_style(instance.state)}"
    rate = f"{format.rate(per_second(instance, status))}/s"
    if status.over:
        rate += " on average"
    if status.orphaned and instance.state not in ENDED:
        state, style, rate = f"last seen {instance.state}", "muted", f"{rate} when last seen"
    i = instance
    age = age_cell(i, status)[0]
    fresh = "as they were last seen" if status.orphaned else "current"
    crashes, differs = crashes_of(i, status.found), status.tally(DIFFERS).by.get(i.id, 0)
    finds = f"{several(crashes, 'crash', 'crashes')}, {several(i.hangs, 'hang')}"
    finds += f", {several(differs, 'difference')}" if differs else ""
    figures_ = [
        ("figures", f"{age} old" if age not in ("", "none") else age or fresh),
        ("execs", f"{format.count(i.execs)}, {rate}"),
        ("corpus", _of(i.corpus, ("favoured", i.favored), ("pending", i.pending))),
        ("edges", _edges(i)),
        ("finds", finds),
        ("last find", find_cell(i, status)[0] or "none yet"),
        ("cycles", _of(i.cycles, ("now at entry", i.cur_item), ("depth", i.max_depth))),
    ]
    if instance.stability >= 0:
        figures_.append(("stability", format.percent(instance.stability, 100.0)))
    if instance.processes and not status.orphaned:
        used = f"{100 * instance.cpu:.0f}% cpu, {format.size(instance.rss)} memory"
        figures_.append(("uses", used))
    if instance.restarts:
        figures_.append(("restarts", f"{instance.restarts:,}"))
    if instance.capabilities:
        figures_.append(("obeys", ", ".join(instance.capabilities)))
    if not status.watched:  # there every key says it
        # Not at a glance: most of that is what engines of another kind can do.
        figures_ += [
            ("cannot", f"{', '.join(names)}: {why}") for why, names in _refusals(instance).items()
        ]
    return [
        _fact("instance", instance.id, "bold"),
        _fact("state", state, style),
        *facts(instance, known, status, mutant),
        *(_fact(name, value) for name, value in figures_),
    ]


def _of(n: int, *parts: tuple[str, int]) -> str:
    words = [f"{name} {format.count(value)}" for name, value in parts if value >= 0]
    return ", ".join([format.count(n), *words])


def _edges(instance: Instance) -> str:
    total = known_total(instance.edges, instance.edges_total)
    of = f" of {format.count(total)} ({format.percent(instance.edges, total)})"
    words = format.count(instance.edges) + (of if total > 0 else "")
    parts = (
        ("by valid inputs", instance.edges_valid),
        ("lines of libraries", instance.edges_third_party),
    )
    return ", ".join([words, *(f"{format.count(n)} {name}" for name, n in parts if n >= 0)])


# ------------------------------------------------------------------- fleets


def tally(instances: Iterable[Instance], *, brief: bool = False, lost: bool = False) -> Line:
    """How many are in which state, those in trouble last and loud; ``brief``: in signs.

    ``lost``: that is how they were when somebody last heard of them.
    """
    counts = Counter((i.state, state_word(i)) for i in instances)
    order = sorted(counts, key=lambda s: (s[0] in TROUBLE, s[0] != "running", s))
    spans = []
    for state, word in order[:NAMED]:
        gone = lost and state not in ENDED
        sign = "?" if gone else state_sign(state)
        loud = "bold " if state in TROUBLE else ""
        words = f"{sign} {counts[state, word]} " + ("" if brief else f"{plain(word, 12)}  ")
        spans.append(TextSpan(words, "muted" if gone else loud + state_style(state)))
    return spans


def trouble(instances: Sequence[Instance]) -> str:
    """Who does not work and why, in one line; "" when all do."""
    bad = [i for state in TROUBLE for i in instances if i.state == state]
    if not bad:
        return ""
    words = [f"{i.id} {i.state}" + (f": {i.reason}" if i.reason else "") for i in bad[:NAMED]]
    if len(bad) == 1:
        return words[0]
    more = f"; and {len(bad) - NAMED} more" if len(bad) > NAMED else ""
    return f"{len(bad)} instances are in trouble.  {';  '.join(words)}{more}"


def failure(reason: str, instances: Sequence[Instance]) -> list[str]:
    """Why the campaign has failed; of its instances only what ``reason`` does not say."""
    untold = [i for i in instances if i.state == "failed" and i.reason not in reason]
    words = ["The campaign has failed" + (f": {reason}" if reason else ""), trouble(untold)]
    return [text for text in words if text]
