"""The table ``[text]``: text mutators."""

from __future__ import annotations

from fuzztui.engines.kinds import Key

GRAMMARS = (
    "bash", "c", "cpp", "csharp", "css", "dart", "elixir", "go", "haskell", "hcl", "html", "java",
    "javascript", "json", "kotlin", "lua", "markdown", "nix", "php", "python", "ruby", "rust",
    "scala", "solidity", "swift", "tsx", "typescript", "yaml", "zig",
)  # fmt: skip
"""Languages with a grammar: those of :data:`fuzztui.engines.text.syntax.LANGUAGES`."""

ALIASES = {
    "c#": "csharp", "c++": "cpp", "cc": "cpp", "cs": "csharp", "cxx": "cpp", "golang": "go",
    "hs": "haskell", "js": "javascript", "kt": "kotlin", "md": "markdown", "py": "python",
    "python3": "python", "rb": "ruby", "rs": "rust", "sh": "bash", "terraform": "hcl",
    "ts": "typescript", "yml": "yaml",
}  # fmt: skip
"""Other names of :data:`GRAMMARS` and :data:`LANGUAGES`, for suggestions in error messages."""

TEXT = (
    Key(
        "text",
        "part",
        "The probability of text mutators. Default: what `splice` and `havoc` leave of 1; without "
        "`havoc`, three quarters of what `splice` leaves.",
    ),
    Key(
        "splice",
        "part",
        "The probability of splicing: a fragment of another entry replaces one of the same kind. "
        "Default: 0.",
    ),
    Key(
        "havoc",
        "part",
        "The probability of havoc on bytes. Default: what `text` and `splice` leave; the three "
        "must add to 1.",
    ),
    Key(
        "adaptive",
        "boolean",
        "Adapt the three probabilities and those of single mutators to what each found recently.",
        default=False,
    ),
    Key(
        "language",
        "choice",
        "The grammar that splits inputs into fragments. Default: none, only brackets and quotes "
        "are fragments.",
        default="",
        choices=GRAMMARS,
        without="for another language leave the key out: brackets and quotes are spliced then",
    ),
    Key(
        "templates",
        "strings",
        "Your own edit rules: in ast-grep's syntax, such as `if ($A) $B ==> while ($A) $B`, which "
        "needs `language`; or in comby's, such as `if (:[a]) ==> while (:[a])`, which needs comby "
        "on PATH. A rule with `:[` in it is in comby's syntax.",
        default=[],
    ),
    Key(
        "without",
        "edits",
        "Text mutators to leave out; `fuzztui mutate --list` lists all.",
        default=[],
    ),
)
"""The table ``[text]``, which makes an engine mutate inputs as text."""
