"""``check``: check a campaign file, and whether its engine can start; ``schema``: its schema."""

from __future__ import annotations

import argparse
import asyncio
import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from tempfile import mkdtemp

from fuzztui.cli.output import DONE, CliError, say
from fuzztui.cli.run import import_target, load_file, refuse_verdicts
from fuzztui.cli.samples import campaign_or_project
from fuzztui.features.notify.command import run_command
from fuzztui.features.notify.news import news_object, test_news
from fuzztui.kernel.base.files import temporary_directory
from fuzztui.kernel.base.text import several
from fuzztui.kernel.model.state import State
from fuzztui.run.afl.build import build_target
from fuzztui.run.campaign import FrozenCampaign, refuse_idle_keys
from fuzztui.run.campaign.extras import refuse_missing_extras
from fuzztui.run.campaign.rundir import SupervisorError
from fuzztui.run.campaign.schema import AFL
from fuzztui.run.campaign.table import feature_tables
from fuzztui.run.campaign.targets import all_parts
from fuzztui.run.inprocess.ask import Ready


def check(options: argparse.Namespace) -> int:
    """Check a campaign file, import its targets, and print the complete campaign."""
    file = campaign_or_project(options.file)
    loaded = load_file(file, options.overrides)
    refuse_idle_keys(loaded)
    refuse_verdicts(loaded)
    if options.notify:
        _notify(loaded)
    found = [(name, part, _try_target(part, options)) for name, part in all_parts(loaded)]
    print(loaded.toml(), end="")
    for name, part, ready in found:
        _report_target(part, ready, options, f"{file}, target {name}" if name else str(file))
    return DONE


def _try_target(loaded: FrozenCampaign, options: argparse.Namespace) -> Ready:
    """Import or build the target of a campaign, as far as the options say so. Raises CliError."""
    refuse_missing_extras(loaded)
    imported = options.run and bool(loaded.campaign.target.get("function"))
    found = import_target(loaded) if imported else Ready()
    if options.build:
        _build(loaded)
    return found


def _report_target(
    loaded: FrozenCampaign, found: Ready, options: argparse.Namespace, label: str
) -> None:
    """Print what is to be said about a target; ``label`` names it."""
    imported = options.run and bool(loaded.campaign.target.get("function"))
    buildable = bool(loaded.campaign.target.get("build"))
    for name, message in found.aliases.items():
        say(f'{_alias_origin(loaded, name)}: engine.aliases: "{name}": {message}')
    for name, table in feature_tables().items():
        if loaded.campaign.table(name):
            for key, message in table.notes(loaded.campaign, loaded.given):
                say(f"{loaded.origin(key)}: {key}: {message}")
    for remark in found.diagnostics:
        at = f"{loaded.origin(remark.key)}: " if remark.key else ""
        say(f"{at}{'warning: ' * remark.warns}{remark.words}")
    if loaded.campaign.kind == AFL:
        from fuzztui.run.afl.launcher import ALWAYS, DEFAULTS

        own = {**DEFAULTS}
        if loaded.campaign.engine["pin"]:
            own = {"AFL_TRY_AFFINITY": "1", **own}
            del own["AFL_NO_AFFINITY"]
        say(f"afl-fuzz gets {_assignments(ALWAYS)}; and, unless set, {_assignments(own)}")
    made = f", {several(found.made, 'input was', 'inputs were')} made" if found.made else ""
    built = ", its target can be built" if options.build else ""
    say(f"{label} is valid{', its target can be loaded' * imported}{made}{built}")
    if buildable and not options.build:
        say("target.build was not run: fuzztui check --build tries it")


def _assignments(variables: Mapping[str, str]) -> str:
    return " ".join(f"{name}={value}" for name, value in variables.items())


def _build(loaded: FrozenCampaign) -> None:
    """Run ``target.build`` in a temporary directory, which stays if the build fails.

    Raises :class:`CliError`.
    """
    if not loaded.campaign.target.get("build"):
        raise CliError(f"{loaded.campaign.file}: has no target.build, so there is nothing to build")
    output = Path(mkdtemp(prefix="fuzztui-check-"))
    try:
        build_target(replace(loaded.campaign, output=output), output, say)
    except SupervisorError as e:
        raise CliError(f"{loaded.origin('target.build')}: {e}") from None
    shutil.rmtree(output, ignore_errors=True)


def _notify(loaded: FrozenCampaign) -> None:
    """Run the command of ``[notify]`` with a test message. Raises :class:`CliError`."""
    campaign = loaded.campaign
    if not campaign.table("notify"):
        raise CliError(f"{campaign.file}: has no [notify], so there is no command to test")
    news = test_news(campaign.name)
    state = State(name=campaign.name, engine=campaign.kind, target=campaign.subject)
    with temporary_directory() as directory:
        run = Path(directory)
        (run / "supervisor").mkdir()
        data = news_object(state, news, campaign.output, 0.0)
        problem = asyncio.run(run_command(campaign.table("notify")["command"], data, run))
    if problem:
        raise CliError(f"{loaded.origin('notify.command')}: notify.command: {problem}")
    say(f"notify.command was run: {news.text}")


def _alias_origin(loaded: FrozenCampaign, name: str) -> str:
    """Return where an alias of a type is written: the first one that names the type."""
    for of, makes in loaded.campaign.engine["aliases"].items():
        if name in (of, makes) or (isinstance(makes, list) and name in makes):
            return loaded.origin(f"engine.aliases.{of}")
    return loaded.origin("engine.aliases")


def schema(options: argparse.Namespace) -> int:
    """Print the JSON Schema of campaign files, or of what a command prints as JSON."""
    from fuzztui.tools.schema.json_schema import document
    from fuzztui.tools.schema.outputs import output_schema

    made = output_schema(options.json) if options.json else document()
    print(json.dumps(made, indent=1))
    return DONE
