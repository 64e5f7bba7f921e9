"""The command line: what to do, in words; the doing is elsewhere.

Exit codes: 0 done; 1 the campaign failed, or the command was rejected; 2 the
command or the campaign file is wrong; 3 there is no such run, or nothing runs there.
"""

from __future__ import annotations

import os
import sys

from fuzztui.cli.parser import parse
from fuzztui.cli.words import FAILED, Failure, say


def main(argv: list[str] | None = None) -> int:
    """Run one command; returns its exit code."""
    options = parse(sys.argv[1:] if argv is None else argv)
    try:
        return int(options.command(options))
    except Failure as failure:
        say(str(failure))
        return failure.code
    except BrokenPipeError:
        # The reader of our output went away (fuzztui status | head): nothing to say.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        return 130
    except OSError as e:
        say(f"{e.filename}: {e.strerror}" if e.filename else f"output: {e.strerror or e}")
        return FAILED
