"""The command line: commands, their arguments and their output.

:data:`fuzztui.cli.help.EXIT_CODES` lists the exit codes.
"""

from __future__ import annotations

import os
import sys

from fuzztui.cli import damage
from fuzztui.cli.output import FAILED, CliError, say
from fuzztui.cli.parser import parse


def main(argv: list[str] | None = None) -> int:
    """Run one command; return its exit code."""
    options = parse(sys.argv[1:] if argv is None else argv)
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
    except KeyboardInterrupt:
        return 130
    except OSError as e:
        say(f"{e.filename}: {e.strerror}" if e.filename else f"output: {e.strerror or e}")
        return FAILED
