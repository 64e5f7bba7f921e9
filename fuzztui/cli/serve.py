"""``fuzztui serve``: the screens of a run in a browser."""

from __future__ import annotations

import argparse
import asyncio
import sys

from fuzztui.cli.output import DONE, CliError, UsageError, say, short_path
from fuzztui.cli.runs import find_run
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.run.campaign.extras import missing_extra
from fuzztui.tui import BROWSER


def serve(options: argparse.Namespace) -> int:
    """Serve the screens of a run until the process is interrupted."""
    if missing := missing_extra("web"):
        raise CliError(f"serve needs a web server; {missing}")
    if not 0 <= options.port < 65536:
        raise UsageError(f"--port {options.port}: is no port: 0 to 65535; 0: any free one")
    run = find_run(options.run)
    from fuzztui.tools.web import access, server  # imports the web server

    where = access.open_access(options.host, options.cert, options.key)
    words = [sys.executable, "-P", "-m", "fuzztui", "attach"]
    words += [] if options.steer else ["--read-only"]
    words += ["--theme", options.theme] if options.theme else []

    def ready(port: int) -> None:
        print(where.address(port), flush=True)
        what = "keys steer it" if options.steer else "read-only"
        say(f"serves {short_path(run)} ({what}) to who has this address; ctrl+c ends it")

    with temporary_directory("fuzztui-serve-") as state:
        # Visitors change nothing that is remembered of the user, such as the theme.
        environment = {"TEXTUAL_DRIVER": BROWSER, "FUZZTUI_ASCII": "0", "XDG_STATE_HOME": state}
        web = server.WebServer(where, run.name, [*words, "--", str(run)], environment)
        try:
            asyncio.run(server.serve(web, where, options.port, ready))
        except OSError as e:
            free = "; --port 0 takes a free one" if options.port else ""
            raise CliError(
                f"cannot listen on port {options.port} of {where.host}: {e.strerror or e}{free}"
            ) from None
    return DONE
