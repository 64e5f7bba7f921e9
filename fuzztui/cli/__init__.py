"""The command line: commands, their arguments and their output.

:data:`fuzztui.cli.help.EXIT_CODES` lists the exit codes.
"""

from __future__ import annotations

import os
import sys


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    try:
        return _run(sys.argv[1:] if argv is None else argv)
    except KeyboardInterrupt:
        return 130


def _run(argv: list[str]) -> int:
    # Imported here, not above: this takes 0.2 s, in which Ctrl-C must not print a traceback.
    from fuzztui.cli import damage
    from fuzztui.cli.output import FAILED, CliError, say
    from fuzztui.cli.parser import parse

    options = parse(argv)
    damage.forget()
    try:
        return damage.finish(int(options.command(options)))
    except CliError as failure:
        say(str(failure))
        return damage.finish(failure.code)
    except BrokenPipeError:
        # The reader of stdout has ended (fuzztui status | head): not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as e:
        say(f"{e.filename}: {e.strerror}" if e.filename else f"output: {e.strerror or e}")
        return FAILED
