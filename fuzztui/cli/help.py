"""What ``--help`` shows: the commands in groups by what a user wants, examples, exit codes."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = [
    "CAMPAIGN",
    "DESCRIPTION",
    "EXIT_CODES",
    "GROUPS",
    "CommandHelp",
    "described",
    "examples",
]

CAMPAIGN = "CAMPAIGN.toml"
"""Stands for the command that has no name: a campaign file is its first argument."""

_WIDTH = 27
"""Columns of a command in the list, before its summary."""


@dataclass(frozen=True, slots=True)
class CommandHelp:
    """One command: its forms, each with a summary, and examples."""

    name: str
    forms: tuple[tuple[str, str], ...]
    """The arguments after the name, and what the command does with them."""
    examples: tuple[str, ...]
    """Arguments of ``fuzztui``; the first example is the one that a user most likely needs."""


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
            "check",
            ((CAMPAIGN, "would it start? mistakes with file, line and key"),),
            ("check campaign.toml",),
        ),
        CommandHelp("samples", (("", "list the campaigns that come with fuzztui"),), ("samples",)),
    ),
    "look": (
        CommandHelp(
            "attach",
            (("[RUN]", "the screen of a running or ended campaign"),),
            ("attach runs/tomllib-mu2", "attach"),
        ),
        CommandHelp(
            "watch",
            (("DIR...", "the screen of AFL output directories, anyone's"),),
            ("watch /path/to/sync_dir", "watch out1 out2 --keep LOG"),
        ),
        CommandHelp(
            "status",
            (("[RUN|DIR]", "one screen of text, or one object with --json"),),
            ("status runs/tomllib-mu2 --json", "status /path/to/sync_dir"),
        ),
        CommandHelp(
            "types",
            (("[RUN]", "spoton: types that are targeted, branches left"),),
            ("types runs/thumbnails --all",),
        ),
        CommandHelp(
            "operators",
            (("[RUN]", "text: operators, how often used, what they found"),),
            ("operators runs/mujs-text --sort found",),
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
                ("RUN COMMAND MUTANTS", "skip-mutants, promote-mutants, move-mutants,"),
                ("", "requeue-mutants, mark-equivalent"),
                ("RUN COMMAND TYPE", "spoton: weigh, ban, unban a type"),
                ("RUN COMMAND BRANCH", "spoton: pin, unpin, ignore, unignore a branch"),
                ("RUN targeted 70%", "spoton: the share of mutations that is targeted"),
                ("RUN mixture PART...", "text: the parts of havoc, text and splice"),
            ),
            (
                "ctl runs/tomllib-mu2 pause",
                "ctl runs/crashy promote main/12",
                "ctl runs/tomllib-mu2 skip-mutants 'operator=math,function=parse_*'",
                "ctl runs/mujs-text mixture havoc=.1 text=.7 splice=.2",
                "ctl runs/thumbnails weigh datetime.date x2",
            ),
        ),
    ),
    "after the run": (
        CommandHelp(
            "replay",
            (("RUN|LOG", "the campaign again, at any speed, from any time"),),
            ("replay runs/tomllib-mu2 --at 20s --speed 10",),
        ),
        CommandHelp(
            "repro",
            (
                ("RUN FILE", "run one finding or queue entry under the target;"),
                ("", "exit code 10: it fails, 0: it does not"),
            ),
            ("repro runs/crate runs/crate/out/main/crashes/id:000000*",),
        ),
        CommandHelp(
            "minimise",
            (("RUN FILE", "a smaller input that fails in the same way"),),
            ("minimise runs/crate runs/crate/out/main/crashes/id:000000* -o small",),
        ),
    ),
    "mutants": (
        CommandHelp(
            "mutants",
            (
                ("list FILE|RUN", "mutants before a run, or of a run with states"),
                ("show FILE|RUN ID", "one mutant, its state and its diff"),
                ("rank SOURCE...", "of C, C++, Rust, ... the most different first"),
                ("matrix RUN", "which inputs kill which, of fuzz-first runs"),
            ),
            (
                "mutants list runs/tomllib-mu2 state=alive",
                "mutants show runs/tomllib-mu2 'tomllib._parser:loads:negate:0:!='",
                "mutants rank parse.c --limit 20 --check",
            ),
        ),
        CommandHelp(
            "score",
            (("RUN [--corpus DIR]", "the exact mutation score of any corpus"),),
            ("score runs/tomllib-mu2 --fail-under 80", "score runs/tomllib-mu2 --corpus seeds"),
        ),
    ),
    "tools": (
        CommandHelp(
            "targets",
            ((CAMPAIGN, "branches of a Python target, the types they need"),),
            ("targets thumbnails-spoton.toml",),
        ),
        CommandHelp(
            "mutate",
            (("FILE...", "text operators applied to files, to see the effect"),),
            ("mutate program.c --count 3", "mutate --list"),
        ),
        CommandHelp("themes", (("", "list the colour themes"),), ("themes",)),
    ),
}
"""Each command is in one group; tests compare them with the parser and docs/commands.md."""


def _rows(command: CommandHelp) -> list[str]:
    found: list[str] = []
    for arguments, summary in command.forms:
        form = f"{command.name} {arguments}".rstrip() if arguments or not found else ""
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
    """What one command does."""
    return "\n".join(_rows(_COMMANDS[name]))


def examples(name: str) -> str:
    """The examples of one command, as the end of its help."""
    shown = [f"  fuzztui {example}" for example in _COMMANDS[name].examples]
    return "\n".join(["examples:" if len(shown) > 1 else "example:", *shown])


_COMMANDS = {command.name: command for commands in GROUPS.values() for command in commands}

DESCRIPTION = f"""\
A terminal monitor and controller for fuzz campaigns.

{_grouped()}
fuzztui COMMAND --help explains one command, with examples. RUN is a run
directory (runs/NAME), or a campaign file: the newest of its runs."""

EXIT_CODES = """\
exit codes:
  0    done; nothing was found
  1    failed: a campaign, or a command that was rejected
  2    usage: the command or the campaign file is wrong
  3    there is no such run, or nothing runs there
  4    the campaign log is damaged: figures may be too low (stderr says how)
  10   findings: a campaign that ended has some, or the input of repro fails
  11   below the threshold: score --fail-under
  130  interrupted with Ctrl-C
"""
