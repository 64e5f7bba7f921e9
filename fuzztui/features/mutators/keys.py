"""The table ``[text]``, which makes an engine mutate inputs as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

from fuzztui.engines.keys import Key, ValueType
from fuzztui.engines.kinds import EngineKind
from fuzztui.engines.text.rules import UNPARSED, is_rule
from fuzztui.kernel.wire.mixture import BEST, CLASSES, Mixture, completed
from fuzztui.run.campaign import Campaign
from fuzztui.run.campaign.table import CampaignLoad, CampaignTable
from fuzztui.run.campaign.values import check_known, check_strings, one_or_list
from fuzztui.run.process.library import text_library

GRAMMARS = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java",
    "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python", "ruby", "rust",
    "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig",
)  # fmt: skip
"""Languages with a grammar: those of :data:`fuzztui.engines.text.syntax.LANGUAGES`."""

ALIASES = {
    "c#": "csharp", "c++": "cpp", "cc": "cpp", "cs": "csharp", "cxx": "cpp", "golang": "go",
    "clj": "lisp", "el": "lisp", "ex": "elixir", "exs": "elixir", "h": "c", "hpp": "cpp",
    "hs": "haskell", "htm": "html",
    "js": "javascript", "kt": "kotlin", "md": "markdown", "mjs": "javascript", "py": "python",
    "python3": "python", "rb": "ruby", "rkt": "lisp", "rs": "rust", "scheme": "lisp", "scm": "lisp",
    "sh": "bash", "sol": "solidity", "ss": "lisp",
    "terraform": "hcl", "tf": "hcl", "ts": "typescript", "yml": "yaml",
}  # fmt: skip
"""Other names of :data:`GRAMMARS`, for suggestions in error messages; suffixes of files."""

NO_LANGUAGE = "none"

_LEFT = Mixture(havoc=0.25, text=0.75, splice=0.0)
"""The proportions in which the probabilities that are not given share the rest."""


def guessed_language(seeds: Sequence[str]) -> str:
    """Return the language of more than half of the seeds, by suffix; "" if there is none.

    Also "" if the seeds cannot be read, which the campaign's start reports.
    """
    paths = (Path(seed) for seed in seeds)
    try:
        files = [f for p in paths for f in ([p] if p.is_file() else p.rglob("*")) if f.is_file()]
    except OSError:
        return ""
    suffixes = [file.suffix[1:].lower() for file in files]
    languages = Counter(ALIASES.get(suffix, suffix) for suffix in suffixes)
    language, count = max(languages.items(), key=lambda item: item[1], default=("", 0))
    return language if language in (*GRAMMARS, *UNPARSED) and 2 * count > len(files) else ""


def _mutator_names() -> dict[str, Any]:
    from fuzztui.engines.text.table import MUTATORS  # slow: read from a file

    return {"enum": [mutator.name for mutator in MUTATORS]}


def _edits(key: Key, value: Any, base: Path) -> tuple[Any, Any]:
    from fuzztui.engines.text.table import MUTATORS  # slow: read from a file

    value = [value] if isinstance(value, str) else value
    check_strings(key, value)
    check_known(value, names := tuple(mutator.name for mutator in MUTATORS), "text mutator")
    if set(value) >= set(names):
        raise ValueError("leaves out every text mutator; write text = 0 instead")
    return value, value


KEYS = (
    Key(
        "text",
        "part",
        "The probability of text mutators. Default: what `splice` and `havoc` leave; "
        "three quarters of that without `havoc`; 0.5 without any of the three.",
    ),
    Key(
        "splice",
        "part",
        "The probability of splicing in a fragment of another entry. Default: 0; without "
        "any of the three 0.25.",
    ),
    Key(
        "havoc",
        "part",
        "The probability of havoc on bytes. Default: what the other two leave; the three "
        "must add to 1.",
    ),
    Key(
        "adaptive",
        "boolean",
        "Adapt these probabilities and those of single mutators to what each found "
        "recently. Default: only without any of the three.",
    ),
    Key(
        "roll",
        "choice",
        "Draw the class once for all mutations of an input, or for each mutation "
        "(`step`). Default: input.",
        default="",
        choices=("input", "step"),
    ),
    Key(
        "language",
        "choice",
        "The language of the built-in rules and of the grammar for fragments. `awk`, "
        "`lisp` and `none` have no grammar. Default: none; without any of the three "
        "probabilities the language of most seeds, by suffix.",
        default="",
        choices=(*GRAMMARS, *UNPARSED, NO_LANGUAGE),
        aliases=ALIASES,
        without="for another language leave the key out: brackets and quotes are spliced then",
    ),
    Key(
        "templates",
        "strings",
        "Your own edit rules, in ast-grep's syntax (`if ($A) $B ==> while ($A) $B`; needs "
        "`language`) or with `:[` in that of the built-in rules (`if (:[a]) ==> while "
        "(:[a])`): docs/text.md.",
        default=[],
    ),
    Key(
        "rules",
        "boolean",
        "Use the built-in edit rules of the language. They and `templates` are the "
        "mutator `template`. Default: true.",
    ),
    Key(
        "without",
        ValueType("a list of text mutators", _edits, lambda: one_or_list(_mutator_names())),
        "Text mutators to leave out; `fuzztui mutate --list` lists all.",
        default=[],
    ),
)


class TextTable(CampaignTable):
    """``[text]``, for AFL++ and the engine text, which always has the table."""

    def keys_for(self, kind: EngineKind | None) -> Sequence[Key] | None:
        """The same keys, for AFL++ and the kinds that say so."""
        return self.keys if kind is None or kind.text else None

    def is_implied(self, kind: str) -> bool:
        """The engine text has no other mutators."""
        return kind == "text"

    def fill_in(self, campaign: Campaign, frozen: dict[str, Any], load: CampaignLoad) -> None:
        """Fill in the mixture and the language, which depend on what is given.

        Without a probability: the best mixture known. A run from before it keeps its own, as one
        from before ``roll`` keeps rolling for each step, and one from before ``rules`` has none.
        """
        text = campaign.table(self.name)
        given = {name: text[name] for name in CLASSES if text[name] is not None}
        best = not given and load.run is None
        whole = BEST if best else completed({"splice": 0.0} | given, _LEFT)
        filled: dict[str, Any] = {
            name: round(part, 9) for name, part in zip(CLASSES, whole, strict=True)
        }
        if Mixture(**filled).problem:
            terms = " + ".join(f"{name} {part:g}" for name, part in given.items())
            total = f" = {sum(given.values()):g}" if len(given) > 1 else ""
            load.problem("text", f"{terms}{total}: havoc, text and splice must add to 1")
        filled["rules"] = load.run is None if text["rules"] is None else text["rules"]
        filled["roll"] = text["roll"] or ("step" if load.run else "input")
        filled["adaptive"] = best if text["adaptive"] is None else text["adaptive"]
        if (
            best
            and not text["language"]
            and (language := guessed_language(campaign.engine["seeds"]))
        ):
            filled["language"] = language
        frozen |= filled
        text |= filled
        if text["language"] == NO_LANGUAGE:
            text["language"] = ""

    def notes(self, campaign: Campaign, given: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield whether a language was guessed."""
        text = campaign.table(self.name)
        if "text.language" in given or not (text["splice"] or text["adaptive"]):
            return
        if language := text["language"]:
            yield "text.language", f'"{language}", by the suffixes of the seeds'
        else:
            yield (
                "text.language",
                "no language: lines and what is between brackets and quotes are spliced; a "
                "language that has a grammar gives better fragments",
            )

    def problems(self, campaign: Campaign, *, of_run: bool) -> Iterator[tuple[str, str]]:
        """Yield bad templates."""
        text = campaign.table(self.name)
        if not text["templates"]:
            return
        from fuzztui.engines.text.syntax import template_problem  # slow

        for template in text["templates"]:
            if of_run and is_rule(template):
                continue  # earlier versions knew more holes: the engine warns, the run continues
            if problem := template_problem(text["language"], template):
                yield "text.templates", f"{template!r}: {problem}"


def spec(campaign: Campaign, directory: Path, path: Path) -> dict[str, dict[str, Any]]:
    """Return the table with the path of the library of text mutators, or why there is none."""
    if not (table := campaign.table("text")):
        return {}
    library, why = text_library()
    return {"text": {**table, "library": str(library or ""), "why": why}}


TABLE = TextTable("text", "mutate inputs as text; the engine text has it always", KEYS)
