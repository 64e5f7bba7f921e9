"""``fuzztui check``: is a campaign file good, and could its engine start?"""

from __future__ import annotations

import argparse

from fuzztui.base.text import several
from fuzztui.campaign import FrozenCampaign
from fuzztui.campaign.rundir import Unfit
from fuzztui.cli.output import DONE, say
from fuzztui.cli.run import load_file, refuse_idle, unfit
from fuzztui.cli.waiting import Waiting
from fuzztui.inprocess.ready import Ready, ready


def check(options: argparse.Namespace) -> int:
    """Read and check a campaign file, import its target; print what it means."""
    loaded = load_file(options.file, options.overrides)
    refuse_idle(loaded)
    asked = options.run and bool(loaded.campaign.target.get("function"))
    found = _asked(loaded) if asked else Ready()
    print(loaded.toml(), end="")
    for name, words in found.aliases.items():
        say(f'{_alias(loaded, name)}: engine.aliases: "{name}": {words}')
    for remark in found.diagnostics:
        at = f"{loaded.origin(remark.key)}: " if remark.key else ""
        say(f"{at}{'warning: ' * remark.warns}{remark.words}")
    made = f", {several(found.made, 'input was', 'inputs were')} made" if found.made else ""
    say(f"{options.file} is a good campaign file{', its target can be loaded' * asked}{made}")
    return DONE


def _asked(loaded: FrozenCampaign) -> Ready:
    """Have the target imported, and some inputs made."""
    try:
        with Waiting() as waiting:
            return ready(loaded.campaign, waiting)
    except Unfit as e:
        raise unfit(loaded, e) from None


def _alias(loaded: FrozenCampaign, name: str) -> str:
    """Where an alias is written: for a generator's type, with the first application's type."""
    for of, makes in loaded.campaign.engine["aliases"].items():
        if name in (of, makes) or (isinstance(makes, list) and name in makes):
            return loaded.origin(f"engine.aliases.{of}")
    return loaded.origin("engine.aliases")
