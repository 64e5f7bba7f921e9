"""Actions of a replay."""

from __future__ import annotations

from fuzztui.tui.frame.action import Action

STEP = 0.01
"""Part of the campaign by which a key moves a replay."""

REPLAY = (
    Action(
        "replay.play", ("space",), "Play", "Play or pause the replay", "Replay",
        footer=2, mode="replay",
    ),
    Action(
        "replay.back", ("left",), "Back", "Go back by 1% of the campaign", "Replay",
        footer=3, mode="replay", run="replay.step", args=(-STEP,),
    ),
    Action(
        "replay.forward", ("right",), "Forward", "Go forward by 1% of the campaign", "Replay",
        footer=4, mode="replay", run="replay.step", args=(STEP,),
    ),
    Action(
        "replay.slower", ("minus",), "Slower", "Halve the speed", "Replay",
        mode="replay", run="replay.scale", args=(0.5,),
    ),
    Action(
        "replay.faster", ("plus", "equals_sign"), "Faster", "Double the speed", "Replay",
        footer=5, mode="replay", run="replay.scale", args=(2.0,),
    ),
    Action(
        "replay.previous", ("comma",), "Previous mark", "Go to the previous mark on the timeline",
        "Replay", footer=8, mode="replay",
    ),
    Action(
        "replay.next", ("full_stop",), "Next mark", "Go to the next mark on the timeline", "Replay",
        footer=6, mode="replay",
    ),
    Action(
        "replay.kind", ("semicolon",), "Marks",
        "Jump to findings ✗, steering ◇, kills •, new edges ╹, or any mark", "Replay",
        footer=7, mode="replay",
    ),
    *(
        Action(
            f"replay.{name}", (f"ctrl+{key}",), label, f"Go to the {name}", "Replay",
            mode="replay", run="replay.step", args=(by,),
        )
        for name, key, label, by in (("start", "home", "Start", -1.0), ("end", "end", "End", 1.0))
    ),
)  # fmt: skip
