"""The table ``[oracle]``: what is a bug in addition to crashes and hangs."""

from __future__ import annotations

from fuzztui.engines.kinds import Key

ORACLE = (
    Key(
        "message",
        "pattern",
        "An exception whose class and message (`package.Class: message`) contain a match is a "
        "failure, even if it is `expected`. The matched text is a part of the signature.",
        default="",
    ),
    Key(
        "against",
        "callable",
        "A second implementation, run on every entry: an input that only one of the two accepts, "
        "or for which they return different values, is a finding.",
        default="",
    ),
    Key(
        "always",
        "boolean",
        "Run `against` in every trial: slower, but also finds differences without new coverage.",
        default=False,
    ),
)
"""The table ``[oracle]`` for Python targets: what is a bug in addition to crashes and hangs."""

AFL_ORACLE = (
    Key(
        "message",
        "pattern",
        "An entry is a finding if the output of `run` contains a match, whatever the exit status. "
        "The matched text is the signature.",
        default="",
    ),
    Key(
        "run",
        "command",
        "The command that is run on every entry, with `@@` as in `target.command`. A program with "
        "a slash is relative to the campaign file or, with `target.build`, to the build directory; "
        "any other must be on PATH. Arguments may begin with $BUILD/ or $SOURCE/. The command runs "
        "in an empty directory inside the run. Default: `target.command` in its own directory.",
    ),
    Key(
        "against",
        "command",
        "A second command, written like `run`: an entry for which only one of the two exits with "
        "status 0, or for which their stdout differs, is a finding.",
    ),
    Key(
        "timeout",
        "duration",
        "Time limit of each command. Default: five times `target.timeout`, at least 2s.",
    ),
)
"""The table ``[oracle]`` for AFL++ targets."""
