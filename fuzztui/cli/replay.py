"""``replay``: open the replay screen of a log, or print the status at one time as JSON."""

from __future__ import annotations

import argparse
from pathlib import Path

from fuzztui.cli import damage
from fuzztui.cli.json_output import print_json
from fuzztui.cli.output import DONE
from fuzztui.cli.runs import find_run, no_records, open_session, standing_of
from fuzztui.cli.status import status_object
from fuzztui.run.home.finding import is_run


def replay(options: argparse.Namespace) -> int:
    """Open the replay screen of a log, or print the status at one time as JSON."""
    path = options.path
    if not path.exists() and len(path.parts) == 1 and is_run(Path("runs") / path):
        path = Path("runs") / path  # a run's name, as in other commands
    elif path.suffix == ".toml":
        path = find_run(path)
    run = path if is_run(path) else None
    if options.json:
        session = open_session(path, at=options.at)
        now = standing_of(session, run)
        if session.end_seq or session.problems:
            print_json("status", status_object(path.absolute(), now))
        if not session.end_seq:
            raise no_records(path, session.problems)
        return DONE
    if not (session := open_session(path)).end_seq:  # an error here, not an empty screen
        raise no_records(path, session.problems)
    from fuzztui.tui import run_app

    return run_app(
        run,
        path,
        mode="replay",
        speed=options.speed,
        at=options.at,
        theme=options.theme,
        control=False,
        opened=damage.watch,
    )
