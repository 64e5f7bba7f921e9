"""Actions of a replay."""

from __future__ import annotations

from functools import partial

from fuzztui.tui.frame.action import Action

STEP = 0.01
"""Part of the campaign by which a key moves a replay."""

_action = partial(Action, group="Replay", mode="replay")

REPLAY = (
    _action("replay.play", ("space",), "Play", "Play or pause the replay", footer=2),
    _action("replay.back", ("left",), "Back", "Go back by 1% of the campaign", footer=3,
        run="replay.step", args=(-STEP,)),
    _action("replay.forward", ("right",), "Forward", "Go forward by 1% of the campaign", footer=4,
        run="replay.step", args=(STEP,)),
    _action("replay.slower", ("minus",), "Slower", "Halve the speed", run="replay.scale",
        args=(0.5,)),
    _action("replay.faster", ("plus", "equals_sign"), "Faster", "Double the speed", footer=5,
        run="replay.scale", args=(2.0,)),
    _action("replay.previous", ("comma",), "Previous mark",
        "Go to the previous mark on the timeline", footer=8),
    _action("replay.next", ("full_stop",), "Next mark", "Go to the next mark on the timeline",
        footer=6),
    _action("replay.kind", ("semicolon",), "Marks",
        "Jump to findings ✗, steering ◇, kills •, new edges ╹, or any mark", footer=7),
    *(
        _action(f"replay.{name}", (f"ctrl+{key}",), label, f"Go to the {name}",
            run="replay.step", args=(by,))
        for name, key, label, by in (("start", "home", "Start", -1.0), ("end", "end", "End", 1.0))
    ),
)  # fmt: skip
