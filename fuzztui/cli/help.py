"""The text of ``--help``: the commands grouped by purpose, examples, exit codes."""

from __future__ import annotations

from dataclasses import dataclass

CAMPAIGN = "CAMPAIGN.toml"
"""Name of the command without a name, whose first argument is a campaign file."""

_WIDTH = 27
"""Columns of a command in the list before its summary."""

_GAP = 2
"""Minimum number of spaces between a command and its summary; else the summary is a line below."""


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """One command: its forms, each with a summary, and examples."""

    name: str
    forms: tuple[tuple[str, str], ...]
    """Pairs of the arguments after the name and a summary."""
    examples: tuple[str, ...]
    """Arguments of ``fuzztui``; the most useful example is first."""


GROUPS: dict[str, tuple[CommandHelp, ...]] = {
    "start": (
        CommandHelp(
            CAMPAIGN,
            (("", "start a campaign, rejoin it, or resume it"),),
            (
                "tomllib-mu2.toml",
                "campaign.toml --detach",
                "campaign.toml --headless --set campaign.budget=10m",
            ),
        ),
        CommandHelp(
            "run",
            ((f"[{CAMPAIGN}]", "the same; default: campaign.toml, pyproject.toml"),),
            ("run", "run --headless"),
        ),
        CommandHelp(
            "init",
            (("[PATH]", "find what to fuzz there, write a campaign file"),),
            ("init", "init --yes --start", "init --function mylib:parse --print"),
        ),
        CommandHelp(
            "test",
            (
                ("[TESTS...]", "fuzz all Hypothesis tests there in one campaign"),
                ("--mutants", "and see which changes of the code they detect"),
            ),
            ("test tests/", "test tests/test_a.py::test_b --headless --budget 10m"),
        ),
        CommandHelp(
            "adopt",
            (("DIR", "supervise a fleet of afl-fuzz started by hand"),),
            ("adopt /path/to/sync_dir", "adopt out --yes --detach"),
        ),
        CommandHelp(
            "check",
            ((f"[{CAMPAIGN}]", "report errors of a file with line and key"),),
            ("check campaign.toml", "check campaign.toml --notify"),
        ),
        CommandHelp(
            "doctor",
            (("", "report what this machine lacks, with remedies"),),
            ("doctor", "doctor --json"),
        ),
        CommandHelp(
            "hosts",
            (("check [FILE]", "report whether the hosts of a campaign are ready"),),
            ("hosts check campaign.toml", "hosts check --host user@box*8"),
        ),
        CommandHelp("samples", (("", "list the campaigns that come with fuzztui"),), ("samples",)),
    ),
    "look": (
        CommandHelp(
            "runs",
            (("[DIR...]", "list the runs here, and those under way elsewhere"),),
            ("runs", "runs ~/campaigns --size", "runs --json"),
        ),
        CommandHelp(
            "attach",
            (("[RUN]", "show a campaign; [USER@]HOST:RUN: over ssh"),),
            ("attach runs/tomllib-mu2", "attach user@box:runs/tomllib-mu2"),
        ),
        CommandHelp(
            "serve",
            (("[RUN]", "show the screens in a browser, read-only"),),
            ("serve runs/tomllib-mu2", "serve --port 8080 --steer"),
        ),
        CommandHelp(
            "watch",
            (("DIR...", "show the screen of any AFL output directories"),),
            ("watch /path/to/sync_dir", "watch out1 out2 --keep LOG"),
        ),
        CommandHelp(
            "status",
            (("[RUN|DIR]", "print one screen of text, or --json one object"),),
            ("status runs/tomllib-mu2 --json", "status /path/to/sync_dir"),
        ),
        CommandHelp(
            "events",
            (("[RUN]", "print the log: --json, --follow, --kind, --host"),),
            (
                "events runs/tomllib-mu2 --follow --json",
                "events runs/crate --kind finding_described",
            ),
        ),
        CommandHelp(
            "metrics",
            (("[RUN...]", "print figures for Prometheus; --listen PORT"),),
            ("metrics runs/crate --listen 9464", "metrics -o fuzz.prom --every 15s"),
        ),
        CommandHelp(
            "comparisons",
            (("[RUN]", "list what the target's comparisons have brought"),),
            ("comparisons runs/tomllib --all",),
        ),
        CommandHelp(
            "types",
            (("[RUN]", "spoton: list targeted types and uncovered goals"),),
            ("types runs/thumbnails --all",),
        ),
        CommandHelp(
            "mutators",
            (("[RUN]", "text: list mutators with uses and saved inputs"),),
            ("mutators runs/mujs-text --sort found",),
        ),
    ),
    "steer": (
        CommandHelp(
            "ctl",
            (
                ("RUN COMMAND", "pause, resume, stop, skip-current, exact-pass"),
                ("RUN COMMAND ENTRY", "skip, promote, demote, reset a queue entry"),
                ("RUN add-seed FILE", "add a seed, or a directory of seeds"),
                ("RUN COMMAND FINDING", "minimise, cancel-minimise a finding"),
                ("RUN judge FINDING known", "or fixed, wont-fix, new: your verdict"),
                ("RUN skip-frames RULE...", "frames that do not count for signatures;"),
                ("RUN count-frames RULE...", "they count again"),
                ("RUN use-mutants USE", "parallel, sequential"),
                ("RUN COMMAND MUTANTS", "skip-mutants, promote-mutants, move-mutants,"),
                ("", "requeue-mutants, mark-equivalent, accept-mutants,"),
                ("", "unaccept-mutants"),
                ("RUN COMMAND TYPE", "spoton: weigh-type, ban, unban a type"),
                ("RUN COMMAND BRANCH", "spoton: pin, unpin, ignore, unignore a branch"),
                ("RUN targeted 70%", "spoton: set the share of targeted mutations"),
                ("RUN mixture PART...", "text: set the mixture of havoc, text and splice"),
                ("RUN weigh-mutator NAME 3", "or x2, 0: change how often it is drawn"),
                ("RUN weigh-property NAME 3", "or x2, 0: change the share of a suite's test"),
                ("RUN weigh-target NAME 3", "or x2, 0: change a target's share of the time"),
                ("RUN undo [ID]", "undo your last command; again: the one before it"),
            ),
            (
                "ctl runs/tomllib-mu2 pause",
                "ctl runs/crashy promote main/12",
                "ctl runs/tomllib-mu2 skip-mutants 'operator=math,function=parse_*'",
                "ctl runs/mujs-text mixture havoc=.1 text=.7 splice=.2",
                "ctl runs/thumbnails weigh-type datetime.date x2",
            ),
        ),
    ),
    "several machines": (
        CommandHelp(
            "sync",
            (("RUN DIR", "exchange entries with other runs through DIR"),),
            (
                "sync runs/tomllib /path/to/shared --every 5m",
                "sync runs/tomllib .cache/fuzz --name ci --prune --json",
            ),
        ),
        CommandHelp(
            "merge",
            (("RUN... -o OUT", "join shards, repetitions or scores into one"),),
            (
                "merge runs/json-1-of-2 runs/json-2-of-2 -o runs/json",
                "merge score-1.json score-2.json -o score.json",
            ),
        ),
    ),
    "after the run": (
        CommandHelp(
            "replay",
            (("RUN|LOG", "show a campaign again, at any speed"),),
            ("replay runs/tomllib-mu2 --at 20s --speed 10",),
        ),
        CommandHelp(
            "report",
            (("[RUN] [-o FILE]", "write a page about a run: HTML, Markdown, JSON"),),
            ("report runs/tomllib-mu2 -o run.html", "report runs/crate -o summary.md"),
        ),
        CommandHelp(
            "compare",
            (
                ("RUN RUN...", "compare runs of one target at one time"),
                ("A=RUN,RUN B=RUN,RUN", "compare groups of runs, with tests"),
            ),
            (
                "compare runs/tomllib-zest runs/tomllib-mu2 --at 10s",
                "compare 'zest=runs/z*' 'mu2=runs/m*' -o compared.html",
            ),
        ),
        CommandHelp(
            "repro",
            (
                ("RUN FILE...", "run the target on findings or queue entries;"),
                ("", "exit code 10: one fails, 0: none does"),
            ),
            ("repro runs/crate runs/crate/out/main/crashes/id:000000*",),
        ),
        CommandHelp(
            "bisect",
            (
                ("RUN FINDING GOOD..BAD", "find the commit since which it fails;"),
                ("RUN MUTANT GOOD..BAD", "since which no input kills a mutant"),
            ),
            (
                "bisect runs/crate main/crashes/id:000000* v1.0..HEAD",
                "bisect runs/lib main/crashes/id:000000* v1.0.. --build 'make ext'",
            ),
        ),
        CommandHelp(
            "export",
            (("RUN --pytest FILE", "write tests from the corpus and the findings"),),
            ("export runs/tomllib-mu2 --pytest tests/test_fuzz_toml.py --tests 20",),
        ),
        CommandHelp(
            "coverage",
            (("RUN", "list the lines that the inputs execute; LCOV"),),
            (
                "coverage runs/tomllib-mu2",
                "coverage runs/tomllib-mu2 --format lcov -o lcov.info",
            ),
        ),
        CommandHelp(
            "corpus",
            (
                ("export RUN DIR", "write the inputs as libFuzzer or Go keep them"),
                ("import DIR SEEDS", "write the corpus of another fuzzer as seeds"),
                ("minimise RUN -o D", "the fewest entries that keep edges and kills"),
                ("merge DIR RUN...", "add to DIR only what brings something new"),
                ("why RUN ID", "why an entry is kept, what only it covers"),
            ),
            (
                "corpus minimise runs/tomllib-mu2 -o small",
                "corpus merge seeds runs/tomllib-mu2 other-seeds",
                "corpus why runs/tomllib-mu2 main/12",
                "corpus export runs/tomllib-mu2 corpus",
                "corpus import testdata/fuzz/FuzzParse seeds",
            ),
        ),
        CommandHelp(
            "minimise",
            (("RUN FILE", "make a smaller input with the same signature"),),
            ("minimise runs/crate runs/crate/out/main/crashes/id:000000* -o small",),
        ),
    ),
    "mutants": (
        CommandHelp(
            "mutants",
            (
                ("list [FILE|RUN]", "list mutants before a run, or with states"),
                ("show FILE|RUN ID", "show one mutant with its state and diff"),
                ("rank SOURCE...", "rank mutants of C, C++, Rust, ... files"),
                ("matrix [RUN]", "fuzz-first: list which inputs kill which mutants"),
                ("export [FILE|RUN]", "write a report for Stryker's viewers"),
            ),
            (
                "mutants list runs/tomllib-mu2 state=alive",
                "mutants show runs/tomllib-mu2 'tomllib._parser:loads:negate:0:!='",
                "mutants rank parse.c --limit 20 --check",
            ),
        ),
        CommandHelp(
            "score",
            (("RUN [--corpus DIR]", "compute the mutation score of any corpus"),),
            (
                "score runs/tomllib-mu2 --fail-under 80",
                "score runs/tomllib-mu2 --fail-new baseline.json",
                "score runs/tomllib-mu2 --matrix -o kills.csv",
                "score runs/tomllib-mu2 --corpus seeds",
                "score runs/tomllib-mu2 --cluster cluster.toml",
            ),
        ),
        CommandHelp(
            "ci",
            ((f"[{CAMPAIGN}]", "replay, fuzz, score changed code; reports"),),
            (
                "ci fuzz.toml --since origin/main --budget 5m",
                "ci fuzz.toml --budget 0 --corpus .cache/fuzz --baseline score.json",
            ),
        ),
    ),
    "tools": (
        CommandHelp(
            "cluster",
            (
                ("init DIR", "make the certificates of a cluster"),
                ("check [FILE]", "what would be used for jobs, and what is wrong"),
                ("scheduler IP", "Dask's scheduler, with TLS and no open port"),
                ("worker ADDRESS", "a worker of it"),
            ),
            (
                "cluster init ~/.fuzztui-cluster",
                "cluster scheduler 10.0.0.5 --tls ~/.fuzztui-cluster",
                "cluster worker tls://10.0.0.5:8786 --tls ~/.fuzztui-cluster",
                "cluster check campaign.toml",
            ),
        ),
        CommandHelp(
            "targets",
            ((f"[{CAMPAIGN}]", "list the goals of a Python target and their types"),),
            ("targets thumbnails-spoton.toml",),
        ),
        CommandHelp(
            "mutate",
            (("FILE...", "apply text mutators to files, to see their effect"),),
            ("mutate program.c --count 3", "mutate --list"),
        ),
        CommandHelp(
            "schema",
            (("", "print the JSON Schema of campaign files or outputs"),),
            ("schema", "schema --json status"),
        ),
        CommandHelp("themes", (("", "list the colour themes"),), ("themes",)),
        CommandHelp(
            "config",
            (("[--keys]", "check your keys, theme and columns; list the keys"),),
            ("config", "config --keys"),
        ),
        CommandHelp(
            "completion",
            (("bash|zsh|fish", "print the shell's completion of these commands"),),
            ("completion bash",),
        ),
        CommandHelp(
            "help",
            (("[COMMAND]", "explain a command, like COMMAND --help"),),
            ("help score", "help corpus why"),
        ),
        CommandHelp(
            "man",
            (("", "print the man page"),),
            ("man",),
        ),
    ),
}
"""The commands by group; tests compare these with the parser and docs/commands.md."""


def _rows(command: CommandHelp) -> list[str]:
    found: list[str] = []
    for arguments, summary in command.forms:
        form = f"{command.name} {arguments}".rstrip() if arguments or not found else ""
        if len(form) > _WIDTH - _GAP:
            found.append(f"  {form}")
            form = ""
        found.append(f"  {form:<{_WIDTH}}{summary}".rstrip())
    return found


def _grouped() -> str:
    lines: list[str] = []
    for title, commands in GROUPS.items():
        lines += [f"{title}:"]
        for command in commands:
            lines += _rows(command)
        lines += [f"  example: fuzztui {commands[0].examples[0]}", ""]
    return "\n".join(lines)


def described(name: str) -> str:
    """Return the forms of one command with their summaries."""
    return "\n".join(_rows(_COMMANDS[name]))


def examples(name: str) -> str:
    """Return the examples of one command, the end of its help."""
    shown = [f"  fuzztui {example}" for example in _COMMANDS[name].examples]
    return "\n".join(["examples:" if len(shown) > 1 else "example:", *shown])


_COMMANDS = {command.name: command for commands in GROUPS.values() for command in commands}

DESCRIPTION = f"""\
A terminal monitor and controller for fuzz campaigns.

{_grouped()}
fuzztui alone, on a terminal, shows the home screen: runs here and elsewhere.
fuzztui DIRECTORY shows the run there, as attach does.
fuzztui COMMAND --help explains one command, with examples. RUN is a run
directory (runs/NAME), or a campaign file: the newest of its runs."""

EXIT_CODES = """\
exit codes:
  0    done; no findings
  1    the campaign failed or has measured nothing, or the command was rejected
  2    the command line or the campaign file is wrong
  3    no such run, no campaign is running there, or --detach of a finished run
  4    the campaign log is damaged: numbers may be too low (see stderr)
  10   the campaign ended with findings, or the target fails on repro's input
  11   a gate of score or ci: --fail-under, --fail-new, --baseline
  130  interrupted with Ctrl-C
"""
