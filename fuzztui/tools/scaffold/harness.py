"""The text of a harness: it draws arguments, makes the object, and calls it with the input."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from fuzztui.tools.scaffold.arguments import BYTES, EITHER, Argument
from fuzztui.tools.scaffold.calls import HarnessCall

MAX_EXAMPLES: Final = 40
_MAX_TOKENS: Final = 100
_WIDE: Final = 100

_OWN: Final = frozenset(("target", "generate", "document", "re", "io", "EXAMPLES", "TOKENS"))
"""Names in a harness."""

_DRAWS: Final = "choose, integer, boolean, real, text, bytes, more"


def harness_text(call: HarnessCall, kind: str) -> str:
    """Return a harness with ``target(data)``; ``kind``: TEXT or BYTES, what ``data`` is."""
    (argument,) = call.all_arguments
    about = (
        f'"""Calls {call.place} with each input of a campaign. Written by fuzztui init: change it.'
    )
    return "\n".join(
        [
            about,
            "",
            "An exception that target.expected of the campaign file does not name is a finding.",
            '"""',
            "",
            *_imports(call, []),
            "",
            "",
            f"def target(data: {'bytes' if kind == BYTES else 'str'}):",
            *_options(call),
            *_body(call, {argument.name: "data"}, kind),
            "",
        ]
    )


def generator_text(
    call: HarnessCall,
    kind: str,
    examples: Sequence[bytes],
    tokens: Sequence[str],
    *,
    probe: bool = False,
) -> str:
    """Return a harness with ``generate(source)``, which draws the arguments, and ``target``.

    ``probe``: for a trial, the first choice selects an example, which is the unchanged input.
    """
    names = [argument.name for argument in call.all_arguments]
    text = "example" if probe else "document(source)"
    about = f'"""Draws arguments for {call.place}. Written by fuzztui init: change it.'
    return "\n".join(
        [
            about,
            "",
            "generate() draws the arguments from choices, which are mutated; target() calls.",
            "The better generate() knows what the function expects, the deeper the fuzzer gets.",
            f"Draws: source.{_DRAWS}, ...; fuzztui.generators has gen_json, gen_xml, gen_date, ...",
            "An exception that target.expected of the campaign file does not name is a finding.",
            '"""',
            "",
            *_imports(call, ["import re"], drawn=True),
            "",
            "# Inputs of the project's tests, and usual ones. Parts are exchanged. Add others.",
            *_document(kind, examples, tokens),
            "def generate(source):",
            '    """Draw the arguments, by name."""',
            *(["    example = source.choose(EXAMPLES)"] if probe else []),
            "    return {",
            *(
                f'        "{argument.name}": {_drawn(argument, kind, text)},'
                for argument in call.all_arguments
            ),
            "    }",
            "",
            "",
            "def target(arguments):",
            '    """Make the call."""',
            *_options(call),
            *_body(call, {name: f'arguments["{name}"]' for name in names}, kind),
            "",
        ]
    )


def edits_text(kind: str, examples: Sequence[bytes], tokens: Sequence[str]) -> str:
    """Return a harness whose ``generate`` exchanges parts of examples."""
    return "\n".join(
        [
            '"""A generator of inputs, written by fuzztui init. Change it: the better it knows the',
            f"format, the deeper the fuzzer gets. Draws: source.{_DRAWS}, ...",
            '"""',
            "",
            "import re",
            "",
            "# Valid inputs: of the project's tests, and usual ones. Add others.",
            *_document(kind, examples, tokens),
            "def generate(source):",
            '    """Draw an input: one to three examples, with parts exchanged."""',
            "    many = source.more(1, 3, continues=0.1)",
            f"    return {_empty(kind)}.join(document(source) for _ in many)",
            "",
        ]
    )


def _local(call: HarnessCall) -> str:
    """Return the name of the function or class in the harness."""
    return f"the_{call.name}" if call.name in _OWN else call.name


def _imports(call: HarnessCall, lines: Sequence[str], *, drawn: bool = False) -> list[str]:
    standard = [*lines, *(["import io"] if any(a.in_file for a in call.all_arguments) else [])]
    local = _local(call)
    names = {call.module: {f"{call.name}{f' as {local}' * (local != call.name)}"}}
    lines_after: set[str] = set()
    for argument in call.all_arguments if drawn else ():
        for module, name, line in argument.imports:
            names.setdefault(module, set()).add(name)
            lines_after.update(filter(None, (line,)))
    own = [f"from {module} import {', '.join(sorted(names[module]))}" for module in sorted(names)]
    after = ["", *sorted(lines_after)] if lines_after else []
    return [*sorted(standard), *([""] if standard else []), *own, *after]


def _options(call: HarnessCall) -> list[str]:
    if not call.options:
        return []
    shown = f"    # Not used: {', '.join(call.options)}"
    return [" ".join(shown.split("\n"))[:_WIDE]]


def _body(call: HarnessCall, values: dict[str, str], kind: str) -> list[str]:
    def given(arguments: Sequence[Argument]) -> str:
        words = []
        for argument in arguments:
            value = values[argument.name]
            if argument.in_file:
                opened = "BytesIO" if _kind_of(argument, kind) == BYTES else "StringIO"
                value = f"io.{opened}({value})"
            words.append(f"{argument.name}={value}" if argument.by_name else value)
        line = ", ".join(words)
        broken = "".join(f"\n        {word}," for word in words)
        return line if len(line) < _WIDE - 40 else f"{broken}\n    "

    name = _local(call)
    of = "made" if call.method and not call.on_class else name
    called = f"{of}{'.' * bool(call.method)}{call.method}({given(call.arguments)})"
    called = f"    return list({called})" if call.consumes else f"    return {called}"
    # A new object for each input: what it remembers has no influence on the next one.
    return [*([f"    made = {name}({given(call.constructor)})"] if of == "made" else []), called]


def _kind_of(argument: Argument, kind: str) -> str:
    return kind if argument.takes == EITHER else argument.takes


def _drawn(argument: Argument, kind: str, text: str) -> str:
    """Return the expression for an argument; ``text``: the expression of an input of ``kind``."""
    if not argument.takes:
        return argument.draw
    wanted = _kind_of(argument, kind)
    if wanted == kind:
        return text
    if wanted == BYTES:
        return f'{text}.encode("utf-8", "surrogatepass")'
    return f'{text}.decode("utf-8", "replace")'


def _document(kind: str, examples: Sequence[bytes], tokens: Sequence[str]) -> list[str]:
    """Return the lines of the lists of examples and tokens, and of a function ``document``.

    The function exchanges, removes and adds parts of an example.
    """
    token = "source.choose(TOKENS)"
    if kind == BYTES:
        token += '.encode("utf-8", "surrogatepass")'
    prefix = "b" if kind == BYTES else ""
    shown = examples[:MAX_EXAMPLES]
    return [
        *_listed("EXAMPLES", [d if kind == BYTES else d.decode("utf-8", "replace") for d in shown]),
        "",
        "# Fragments of them, and strings of the code.",
        *_listed("TOKENS", list(tokens[:_MAX_TOKENS])),
        "",
        "",
        "def document(source):",
        '    """Draw an example in which some parts are exchanged, removed or added."""',
        f'    parts = re.findall({prefix}r"(?s)\\w+|\\s+|.", source.choose(EXAMPLES))',
        "    for _ in source.more(1, 8, continues=0.5):",
        "        at = source.below(len(parts) + 1)",
        f"        parts[at : at + source.below(3)] = [{token}] * source.below(2)",
        f"    return {prefix}''.join(parts)".replace("''", '""'),
        "",
        "",
    ]


def _empty(kind: str) -> str:
    return 'b""' if kind == BYTES else '""'


def _listed(name: str, values: Sequence[object]) -> list[str]:
    return [f"{name} = [", *(f"    {value!r}," for value in values), "]"]
