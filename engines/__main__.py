"""``python -P -m fuzztui.engines SPEC.json [--repro FILE | --minimise FILE | --mutants | ...]``."""

from __future__ import annotations

import argparse
import contextlib
import os
import signal
import sys
import traceback
from pathlib import Path

from fuzztui.engines.base.errors import CANNOT_START, CannotStart
from fuzztui.engines.base.spec import Spec, read_spec
from fuzztui.engines.execute.limits import allow_descriptors


def main() -> int:
    """Run an engine instance; exit statuses are in engines/README.md."""
    parser = argparse.ArgumentParser(prog="fuzztui.engines", description=__doc__)
    parser.add_argument("spec", type=Path, help="spec.json of the instance")
    parser.add_argument("--repro", type=Path, metavar="FILE", help="run this input")
    parser.add_argument(
        "--save-example", action="store_true", help="with --repro: keep a failing input"
    )
    parser.add_argument("--minimise", type=Path, metavar="FILE", help="minimise this input")
    parser.add_argument("--tries", type=int, default=100_000, help="with --minimise: maximum runs")
    parser.add_argument("--seconds", type=float, default=600.0, help="with --minimise: time limit")
    parser.add_argument("--mutants", action="store_true", help="print the mutants as JSON")
    parser.add_argument("--diff", metavar="ID", help="with --mutants: print this mutant's diff")
    parser.add_argument("--score", type=Path, nargs="+", metavar="DIR", help="score these inputs")
    parser.add_argument("--jobs", type=int, default=1, help="with --score: parallel processes")
    parser.add_argument("--within", type=float, default=0.0, help="with --score: time limit")
    parser.add_argument("--matrix", type=Path, metavar="FILE", help="with --score: kill matrix")
    parser.add_argument("--kills", default="all", help="with --matrix: all, first or cover")
    parser.add_argument("--part", type=Path, metavar="FILE", help="with --score: some mutants")
    parser.add_argument("--record", type=Path, metavar="FILE", help="record outcomes of inputs")
    parser.add_argument("--confirm", type=Path, metavar="FILE", help="run tests with mutants")
    parser.add_argument("--batch", type=Path, metavar="FILE", help="run the inputs of a request")
    parser.add_argument("--observe", type=Path, metavar="FILE", help="observe types of a request")
    parser.add_argument("--locate", nargs="+", metavar="MODULE", help="print the files of modules")
    parser.add_argument("--statements", nargs="+", metavar="FILE", help="print statements")
    parser.add_argument("--code", type=Path, metavar="FILE", help="print a digest of the code")
    parser.add_argument("--ready", type=float, metavar="S", help="check the start within S s")
    parser.add_argument(
        "--parent", type=int, default=0, metavar="PID", help="end with this process"
    )
    parser.add_argument("--worker", type=int, metavar="PARENT", help=argparse.SUPPRESS)
    args = parser.parse_args()
    try:
        file = args.spec.absolute()
        spec = read_spec(file)
        allow_descriptors()
        if args.worker is not None:
            from fuzztui.engines.process.worker import work

            status, leave = 1, os._exit  # before a target replaces it
            # Not sys.exit(): the target's threads and exit handlers could prevent the exit, and
            # the end of the interpreter would leave the timer on without its handler.
            try:
                status = work(spec, args.worker)
            except Exception:
                traceback.print_exc()
            finally:
                leave(status)
        if args.repro is not None:
            from fuzztui.engines.process.repro import reproduce

            return reproduce(spec, args.repro, save=args.save_example)
        if not _is_campaign(args):
            from fuzztui.engines.process.apart import apart

            return _mirror(apart(lambda: _answer(spec, args), args.parent))
        if args.ready is not None:
            from fuzztui.engines.process.check import ready

            return ready(spec, args.ready)
        from fuzztui.engines.process.monitor import WorkerMonitor

        return WorkerMonitor(spec, file).run()
    except CannotStart as e:
        print(f"fuzztui: {e}", file=sys.stderr)
        return CANNOT_START


def _is_campaign(args: argparse.Namespace) -> bool:
    """Whether an instance is started, or checked with ``--ready``, which forks by itself."""
    commands = (
        *("minimise", "mutants", "score", "record", "confirm", "batch"),
        *("observe", "locate", "statements", "code"),
    )
    return not any(getattr(args, name) for name in commands)


def _answer(spec: Spec, args: argparse.Namespace) -> int:
    """Carry out a command outside of a campaign. Returns the exit status."""
    if args.minimise is not None:
        from fuzztui.engines.process.minimise import minimise

        return minimise(spec, args.minimise.absolute(), args.tries, args.seconds)
    if args.mutants:
        from fuzztui.engines.mutants.listing import list_mutants

        return list_mutants(spec, args.diff)
    if args.score:
        from fuzztui.engines.mu2.score import score

        folders = [folder.absolute() for folder in args.score]
        limits = {"within_s": args.within, "matrix": args.matrix, "part": args.part}
        return score(spec, folders, args.jobs, kills=args.kills, **limits)
    if args.record is not None:
        from fuzztui.engines.export.record import record

        return record(spec, args.record.absolute())
    if args.confirm is not None:
        from fuzztui.engines.export.confirm import confirm

        return confirm(spec, args.confirm.absolute())
    if args.batch is not None:
        from fuzztui.engines.process.batch import batch

        return batch(spec, args.batch.absolute())
    if args.observe is not None:
        from fuzztui.engines.observe.run import observe

        return observe(spec, args.observe.absolute())
    if args.locate:
        from fuzztui.engines.process.origin import locate

        return locate(spec, args.locate)
    if args.statements:
        from fuzztui.engines.instrument.statements import print_statements

        return print_statements(args.statements)
    from fuzztui.engines.process.origin import code_of

    return code_of(args.code)


def _mirror(status: int) -> int:
    """End as the child did: return its exit status, or send this process the same signal."""
    if status < 0:
        with contextlib.suppress(OSError):  # SIGKILL has no handler
            signal.signal(-status, signal.SIG_DFL)
        os.kill(os.getpid(), -status)
    return status


if __name__ == "__main__":
    sys.exit(main())
