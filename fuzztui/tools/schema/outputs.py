"""The JSON Schemas of what commands print as JSON: ``fuzztui schema --json OUTPUT``.

Each object is one row of ``_OBJECTS``: its keys with their types, ``text``, ``int``, ``num``,
``bool``, ``any``, or another row; ``[T]`` is a list, ``{T}`` an object of such values by any key,
``T?`` may be null. ``key?`` may be absent; ``...ROW`` stands for the keys of a row. Texts may be of
the target. The figures, kinds of findings and events are generated from their definitions.

A schema allows further keys, since later versions add some; tests of fuzztui do not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any, Final

from fuzztui.kernel.base.bounds import LARGEST
from fuzztui.kernel.base.versions import VERSIONS
from fuzztui.kernel.model.figures import FIGURES
from fuzztui.kernel.wire.codec import fields_of
from fuzztui.kernel.wire.events import EVENT_KINDS, Stats
from fuzztui.kernel.wire.finding_kinds import KINDS
from fuzztui.tools.schema.json_schema import DRAFT

Schema = dict[str, Any]

_OBJECTS: Final = {
    "bisect": "first_bad commit?, candidates [commit], steps [step]",
    "commit": "hash text, author text, date text, subject text, stat text",
    "step": "commit text, outcome text, seconds num, text text, subject text",
    "cluster-check": """place text, tls text, slots int, versions {text}, workers [text],
        problems [text]""",
    "compare": """at_s num?, target text, runs [compared], groups [compared_group], tests [test],
        not_compared {text}, notes [text], findings [found_by], mutants [found_by],
        problems [text]""",
    "compared": """name text, group text?, path text, engine text, seed int?, at_s num, end_s num,
        at_least bool, figures {num?}""",
    "compared_group": "name text, n int, figures {spread?}",
    "spread": "n int, median num, least num, most num, low num, high num",
    "test": "figure text, a text, b text, n int, m int, p num, a12 num, effect text",
    "found_by": "key text, title text, first_s {num?}, runs {int}",
    "comparisons": "places [place], operations [operation], problems [text]",
    "place": "place text, entries [compared_entry], tokens [text]",
    "compared_entry": "entry text, operand text, edges int?",
    "operation": "name text, entries int, trials int?",
    "coverage": "fuzztui text, files {file}, frontier [frontier], totals lines, over_time? [[any]]",
    "file": """executed_lines [int], missing_lines [int], hits {int}, branches [[int]],
        functions [function], summary lines""",
    "function": """name text, first int, last int, statements int, executed int, calls int?,
        entered bool""",
    "lines": "covered_lines int, num_statements int, percent_covered num, missing_lines int",
    "frontier": "file text, line int, function text, never int, branches int, behind int",
    "coverage-by-line": "by_line {by_line}",
    "by_line": "statements [int], first [[any]], smallest [[any]]",
    "doctor": "ready bool, findings [advice]",
    "advice": "what text, state text, text text, advice text",
    "hosts-check": "hosts [checked_host], problems [text]",
    "checked_host": """host text, address text, instances int, ready bool, findings [advice],
        facts any""",
    "mutants-list": "mutants [mutant], problems [text]",
    "mutants-show": "...mutant, diff text, problems [text]",
    "mutant": """id text, module text, file text, path text, line int?, column int?,
        end_line int?, end_column int?, function text, operator text, before text, after text,
        static bool, state text, killer text?, property text?, oracle text?, trial int?,
        killed_s num?, detail text, reason text, accepted bool, steer text, reached int,
        infected int, runs int, queue? int?, stage? text, verdict? text?, hides? int,
        roadblock? int?, slot? text?, fuzzed_s? num, trials? int, share? num?, costs? {num},
        brought? {int}, earlier? {int}, same_as? text?""",
    "mutants-matrix": "killed? [killed], alive? [text], problems [text]",
    "killed": "id text, file text?, line int?, killers {text}",
    "mutants-rank": "mutants [ranked], problems [text]",
    "ranked": """rank int, id text, file text, line int, operator text, before text, after text,
        distance num?, compiles bool?""",
    "mutators": "mutators [mutator], problems [text]",
    "mutator": """name text, yield yields, class? text, tried? int, applied? int, found? int,
        crashes? int, found_per_million? num?, weight? num, wish? num""",
    "notify": """news text, text text, campaign text, engine text, target text, host text,
        run text, attach text, campaign_s num, time text?, execs int, corpus int, edges int,
        groups {int}, count? int, new? [new_finding], quiet_s? num, advice? text, end? text,
        reason? text, unmeasured? text?, story? [moment]""",
    "new_finding": """kind text, title text, place text, signature text?, severity text?,
        regression bool, finding text, file text, reproduce text, found_s num""",
    "report": """...state, problems [text], series {points}, survivors {[survivor]},
        source {source}, commands [command], setup setup, written text, fuzztui text""",
    "points": "t [num], value [num]",
    "survivor": """id text, module text, file text, path text, line int, function text,
        operator text, before text, after text, state text, near [[text]]""",
    "source": """statements int?, missed_lines [int], reached_by_finding_only [int],
        mutants {source_mutants}, findings {[text]}""",
    "source_mutants": "killed any, survivors any",
    "command": "t num, id text, command any, by text, state text, text text, undoes [text]",
    "setup": "keys any, versions {text}, python {text}, began num?, host text?, cores int?",
    "runs": "runs [run], problems [text], complete bool",
    "run": """run text, state text, reason text, name text, engine text, target text,
        supervised bool, pid int?, started num?, age_s num?, elapsed_s num, execs num?,
        execs_per_sec num?, score num?, edges num?, edges_total num?, groups int, new_groups int,
        hosts [text], lost_hosts [text], damage text, at_least bool, unread_records int,
        bytes? int""",
    "score": """mutants [scored], exact bool, corpus [text], total? int, killed? int, alive? int,
        pending? int, skipped? int, equivalent? int, invalid? int, static? int, score? num?,
        inputs? int, flaky? int, warnings? [text], program? text?, shard? shard?,
        never_reached? int, not_run? int, problems? [text], matrix? any""",
    # merge passes on what it gets, also of earlier versions
    "scored": """id text, state text, file? text, path? text, function? text, line? int,
        column? int?, end_line? int?, end_column? int?, operator? text, before? text,
        after? text, static? bool, reached? bool, killer? text, oracle? text, detail? text,
        property? text, because? text, accepted? bool""",
    "shard": "number int, of int, mutants int, numbers? [int], program? text",
    "score-matrix": """exact bool, corpus [text], program text?, shard shard?, first_only [text],
        entries [matrix_entry]""",
    "matrix_entry": "file text, sha256 text, size? int, outcome? text, edges? int, kills {text}",
    "status": "...state, run text?, pid int?, problems [text], trouble? text?",
    "state": """name text, engine text, target text, state text, reason text, unmeasured text?,
        elapsed_s num, running_s num, budget_s num?, budget_trials int?, remaining_s num?,
        progress num?, seed int?, ...figures, execs_per_sec num?, ...found, mutants mutants?,
        last_find_s num?, groups {int}, open_groups {int}, unexamined {int}, discovery discovery?,
        story [moment], yield all_yields, types? targeting?, mixture? mixture?,
        comparisons? compared_all?, first? first?, properties? [property]?,
        target_shares? [target_share], siblings? [sibling], findings [finding],
        instances [instance], hosts [host], targets [target], machine machine,
        pending_commands [text], receipts [receipt], at_least bool, lost_records int,
        unknown_events int, unknown_kinds {int}, log_seq int, features? any""",
    "mutants": """total int, alive int, killed int, skipped int, equivalent int, invalid int,
        pending int, never_reached int, not_run int, static int, accepted int, score num?,
        adjusted_score num?, excluded int, shard shard?, exact bool?, unsettled int?,
        exact_left_s num?, exact_budget_used num?, time {num}, pairs {int}, flaky int,
        uncompared int, backlog int, share num?, phase text""",
    "discovery": """trials int, edges int, edges_per_100k_at_most num, kills int?,
        kills_per_100k_at_most num?, level num""",
    "moment": "t num, kind text, text text",
    "yield": """cpu_s num?, edges int?, kills int?, signatures int, edges_per_cpu_hour num?,
        kills_per_cpu_hour num?, signatures_per_cpu_hour num?""",
    "yields": "whole yield, late yield",
    "all_yields": "...yields, mutators {yields}, binaries {yields}, schedules {yields}",
    "targeting": """targeted num, adaptive bool, pinned text?, ignored [text], targets int,
        uncovered int, frontier int, changed [text], likeliest [likely], banned [text],
        pending [any]""",
    "likely": "name text, probability num",
    "types": """problems [text], targeted? num, adaptive? bool, pinned? text?, ignored? [text],
        targets? int, uncovered? int, frontier? int, changed? [text], likeliest? [likely],
        banned? [text], pending? [any], types? [type], left? [goal]""",
    "type": """name text, probability num, weight num, differs bool, distance int?, factor num,
        picks int, matches int, misses int, new_arms int""",
    "goal": """location text, frontier bool, pinned bool, ignored bool, reached int?, asked int?,
        types [influence]""",
    "influence": "name text, distance int",
    "mixture": """havoc num, text num, splice num, havoc_done num?, adaptive bool, differ bool,
        since_s num?, by text?, trials int, pending [any], instances any, best [best]""",
    "best": "name text, found int, applied int",
    "compared_all": "entries int, places int, tokens int, operations [operation]",
    "first": """stage text, stage_s num, reason text, round int, plan any, unit text,
        mutants_budget num, mutants_used num, waiting int, allowed int, eta_s num?,
        fuzzing [text], phases {int}, killed int, judged int, score num?, brought {int},
        roadblocks [roadblock], findings_thanks_to_mutants [text]""",
    "roadblock": "file text, line int, turns int, edges int, hides int",
    "property": """name text, state text, reason text, trials int, invalid int, entries int,
        edges int, findings int, killed int, signatures [text], cpu_s num, share num, weight num""",
    "target_share": "name text, state text, share num, weight num, core_s num, finding_groups int",
    "sibling": """instance text, files int, imported int, exported int, crashes int, new_t num?,
        behind bool, problem text, kept int""",
    "finding": """signature text?, category text, title text, place text, first text, first_s num,
        files int, count int, severity text?, severity_class text, severity_reason text,
        verdict text, note text, author text, judged text, detail? text?, file? text?,
        reproduce? text?, input? text?, input_kind? text?""",
    "instance": """id text, state text, reason text, pid int?, restarts int, ...figures,
        execs_per_sec num?, corpus int, ...found, core int?, cpu num?, rss int?, yield yields?,
        stats_s num?, age_s num?, slow_age_s num?, host text?, directory text?, mutant text?,
        binary text?, options text?, command_line text?, warnings [text], passive text?,
        received int?, peers {int}, capabilities [text], unable {text}, other? any,
        version? text""",
    "host": """name text, state text, reason text, connected bool?, since_s num, for_s num,
        address text, run text?, clock_s num, machine text?, cores int?, campaign text?,
        campaign_reason text, phase text?, instances int, running int, execs int,
        execs_per_sec num?, corpus int, edges int?, groups {int}, cpu num?, rss int?, age_s num?,
        log_seq int""",
    "target": """name text?, program text?, directories [text], command_line text?,
        instances [text], running int?, execs int?, execs_per_sec num?,
        lifetime_execs_per_sec num?, corpus int?, edges int?, edges_total int?, crashes int?,
        hangs int?, last_find_s num?""",
    "machine": "load num?, cores int?, disk_free int?",
    "receipt": """id text, what text, by text, applied_s num, until_s num?, ended text?,
        kind text, subjects int, measured any, figures [receipt_figure], text text""",
    "receipt_figure": "name text, now num, then num?, how text, unit text",
    "sync": """name text, pushed int, crashes int, unsafe int, pulled {int}, peers int,
        skipped {{int}}, others {text}, at_least bool, dropped int?""",
    "targets": """version int, application [text], python text, modules [module],
        targets [analysed], types [influence], constants constants, observed any, notes [text],
        unsure? [text]""",
    "module": "name text, file text, sha text",
    "analysed": """location text, module text, function text, line int, column int, arm text,
        decision int, cells [int], within [int], reachable bool, types [influence], never? bool""",
    "constants": "str [constant], bytes [constant], int [constant]",
    "constant": "value? any, hex? text, context text, at text",
    "found": ", ".join(f"{kind.label}{'?' * (kind is KINDS[-1])} int" for kind in KINDS),
}

_BASE: Final[dict[str, Schema]] = {
    "text": {"type": "string"},
    "int": {"type": "integer", "minimum": -LARGEST - 1, "maximum": LARGEST},
    "num": {"type": "number"},
    "bool": {"type": "boolean"},
    "any": {},
}
_KEY: Final = re.compile(r"\s*([\w-]+)(\??) (\S+)\s*")
_OF_EVENTS: Final = {
    "int": "int", "Count": "int", "float": "num", "str": "text", "bool": "bool",
    "dict[str, Any]": "any",
}  # fmt: skip


def output_schema(name: str) -> Schema:
    """Return the JSON Schema of an output that has a row in :data:`VERSIONS`."""
    used: dict[str, Schema] = {}
    whole = _events() if name == "events" else _object(_OBJECTS[name], used)
    whole["properties"] = {"v": {"const": VERSIONS[name]}, **whole["properties"]}
    whole["required"].insert(0, "v")
    return {"$schema": DRAFT, "title": f"fuzztui: {name}", **whole, "definitions": used}


def _object(text: str, used: dict[str, Schema]) -> Schema:
    """The schema of an object; ``used``: schemas of other rows are put there."""
    rows = {key: (optional, type_) for key, optional, type_ in _keys(text)}  # the last one counts
    return {
        "type": "object",
        "properties": {key: _value(type_, used) for key, (_, type_) in rows.items()},
        "required": [key for key, (optional, _) in rows.items() if not optional],
    }


def _keys(text: str) -> Iterator[tuple[str, str, str]]:
    for part in text.split(","):
        if (row := part.strip()).startswith("..."):
            yield from _keys(_figures() if row == "...figures" else _OBJECTS[row[3:]])
        elif match := _KEY.fullmatch(part):
            yield match[1], match[2], match[3]


def _value(text: str, used: dict[str, Schema]) -> Schema:
    if text.endswith("?"):
        return {"anyOf": [_value(text[:-1], used), {"type": "null"}]}
    if text.startswith("["):
        return {"type": "array", "items": _value(text[1:-1], used)}
    if text.startswith("{"):
        return {"type": "object", "additionalProperties": _value(text[1:-1], used)}
    if text in _BASE:
        return _BASE[text]
    if text not in used:
        used[text] = {}  # it may name itself
        used[text] |= _object(_figures(text) if "." in text else _OBJECTS[text], used)
    return {"$ref": f"#/definitions/{text}"}


@cache
def _figures(group: str = "") -> str:
    """The keys of the figures; ``group``: those in the object ``figures.GROUP``."""
    unknown, keys = Stats(""), {}
    for figure in FIGURES:
        if figure.status:
            within, key = figure.place
            number = "int?" if isinstance(figure.of(unknown), int) else "num?"
            if group == f"figures.{within}" or not (group or within):
                keys[key] = number
            elif within and not group:
                keys[within] = f"figures.{within}"
    return ", ".join(f"{key} {type_}" for key, type_ in keys.items())


def _events() -> Schema:
    """The schema of a record: the fields depend on its kind, and those with defaults may miss."""
    whole = _object("s int, t num, k text, h? text, hs? int, ht? num", {})
    whole["allOf"] = [
        {
            "if": {"properties": {"k": {"const": kind}}},
            "then": _object(", ".join(_event_keys(event)), {}),
        }
        for kind, event in EVENT_KINDS.items()
    ]
    return whole


def _event_keys(event: type[Any]) -> Iterator[str]:
    for name, annotation, is_required in fields_of(event):
        of_list = re.fullmatch(r"list\[(.+)\]", annotation)
        type_ = _OF_EVENTS[of_list[1] if of_list else annotation]
        yield f"{name}{'' if is_required else '?'} {f'[{type_}]' if of_list else type_}"
