"""The files that ``fuzztui init`` writes: a commented campaign file, and perhaps a generator."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from fuzztui.kernel.base.atomic import replace_text
from fuzztui.kernel.base.text import visible

HARNESS: Final = "fuzztui_harness.py"
SEEDS: Final = "fuzztui-seeds"
MAX_SEEDS: Final = 40
"""Seeds that are written at most."""
BUDGET: Final = "10m"
_COLUMN: Final = 44
"""Where the comments of a campaign file begin."""

_ABOUT: Final = {
    "campaign.name": "shown on screens; the run is runs/NAME",
    "campaign.budget": "then it ends; without this line: when you stop it",
    "target.function": "called with one argument, the input",
    "target.include": "what is instrumented: its coverage guides the fuzzer",
    "target.input": "text: str in UTF-8; bytes",
    "target.generator": "makes the input from choices, which are mutated",
    "target.expected": "rejected input, not a failure",
    "target.path": "where modules are imported from",
    "target.python": "the interpreter of the project",
    "target.command": "@@ is the input file; without it the input is stdin",
    "target.coverage": "lines on the Source screen, by a second build with gcc",
    "target.build": "runs once, in RUN/build; CC and CXX are AFL++'s compilers",
    "engine.instances": "processes, which share what they find",
    "engine.seeds": "inputs to start from",
}

_KINDS: Final = {
    "zest": 'coverage. "mu2" also makes inputs that kill mutants',
    "spoton": "coverage, by the types that decide uncovered branches",
    "afl": "AFL++",
}


@dataclass(frozen=True, slots=True)
class CampaignDraft:
    """A campaign file and its other files before they are written. ``target``: keys of [target]."""

    name: str
    kind: str
    target: Mapping[str, object]
    instances: int = 2
    seeds: Sequence[bytes] = ()
    seed_paths: Sequence[str] = ()
    """Existing directories with seeds, which the campaign file will name."""
    harnesses: Mapping[str, str] = field(default_factory=dict)
    """Python files by name, with the function or the generator."""
    remarks: Sequence[str] = ()
    """Comments at the top of the file."""
    notes: Mapping[str, str] = field(default_factory=dict)
    """Comments of keys, in place of the usual ones."""

    def with_target(self, **values: object) -> CampaignDraft:
        """Return the draft with these keys of ``target`` changed; None removes a key."""
        target = {k: v for k, v in {**self.target, **values}.items() if v is not None}
        return replace(self, target=target)

    def laid_out(self, folder: Path) -> CampaignDraft:
        """Write the harnesses to another folder, and return the draft that names them there."""
        changed: dict[str, object] = {}
        for name, text in self.harnesses.items():
            replace_text(folder / name, text)
            for key, value in self.target.items():
                if isinstance(value, str) and value.startswith(f"{name}:"):
                    changed[key] = f"{folder / name}{value.removeprefix(name)}"
        return self.with_target(**changed)

    def text(self) -> str:
        """Return the campaign file."""
        seeds = [SEEDS] * bool(self.seeds) + list(self.seed_paths)
        tables: dict[str, dict[str, object]] = {
            "campaign": {"name": self.name, "budget": BUDGET},
            "target": dict(self.target),
            "engine": {"kind": self.kind, "instances": self.instances},
        }
        if seeds:
            tables["engine"]["seeds"] = seeds
        lines = ["# Written by fuzztui init. 'fuzztui check FILE' checks it after your changes."]
        lines += [f"# {visible(' '.join(remark.split()))}" for remark in self.remarks]
        for table, keys in tables.items():
            lines += ["", f"[{table}]"]
            for key, value in keys.items():
                lines += self._line(f"{table}.{key}", key, value)
        return "\n".join(lines) + "\n"

    def _line(self, dotted: str, key: str, value: object) -> list[str]:
        about = self.notes.get(dotted, _ABOUT.get(dotted, ""))
        if dotted == "engine.kind":
            about = about or _KINDS.get(str(value), "")
        if isinstance(value, str) and _fits_literal(value):
            return [f"# {visible(about)}", f"{key} = '''", *value.strip("\n").split("\n"), "'''"]
        written = f"{key} = {toml_value(value)}"
        about = visible(" ".join(about.split()))
        return [f"{written:<{_COLUMN - 2}}  # {about}" if about else written]


def _fits_literal(text: str) -> bool:
    """Whether a text of several lines can stand between three quotes as it is."""
    lines = text.split("\n")
    return len(lines) > 1 and "'''" not in text and all(map(str.isprintable, lines))


def toml_value(value: object) -> str:
    """Return a string, number, boolean or list as TOML."""
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(toml_value, value))}]"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def relative(path: Path, base: Path) -> str:
    """Return a path as the campaign file in ``base`` names it: relative if it is below."""
    plain = Path(os.path.abspath(path))  # noqa: PTH100 - links stay: a venv's python is one
    return str(plain.relative_to(base)) if plain.is_relative_to(base) else str(plain)


def generator_of_tokens(tokens: Sequence[str], *, as_bytes: bool) -> str:
    """Return a harness whose generator joins tokens."""
    rows = [f"    {token!r}," for token in tokens]
    joined = '"".join(source.choose(TOKENS) for _ in source.more(1, 60, continues=0.9))'
    end = '.encode("utf-8", "surrogatepass")' if as_bytes else ""
    return "\n".join(
        [
            '"""A generator of inputs, written by fuzztui init. Change it: the better it knows the',
            "format, the deeper the fuzzer gets. Draws: source.choose, integer, text, more, ...",
            '"""',
            "",
            "# Fragments of inputs in the project's tests, and strings of its code. Add others.",
            "TOKENS = [",
            *rows,
            "]",
            "",
            "",
            "def generate(source):",
            '    """Make an input of up to 60 tokens. What is mutated are its choices."""',
            f"    return {joined}{end}",
            "",
        ]
    )
