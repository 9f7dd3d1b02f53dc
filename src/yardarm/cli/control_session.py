"""What commands that move an arm share: their flags, what is shown meanwhile, and what is said at the end."""

from __future__ import annotations

import contextlib
import json
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from yardarm.cli.devices import ROBOT
from yardarm.cli.flags import Flags, describe
from yardarm.cli.sections import gather, read_only_flags
from yardarm.config import decode, option
from yardarm.control import Button, HoldOptions, LiveState, Loop, undisturbed
from yardarm.displays import live_table
from yardarm.errors import UsageError
from yardarm.files import write_atomically
from yardarm.robots import GuardOptions, HostClock, Robot, guard
from yardarm.robots.twins import Stage, StageOptions

__all__ = [
    "ArmSession",
    "Protection",
    "WatchOptions",
    "on_stage",
    "protection_rows",
    "say_timing",
    "take_protection",
    "viewed",
    "watched",
]

GUARD, HOLD = "guard", "hold"


def on_stage(
    words: Sequence[str], command: str, help_text: Callable[[Flags], str], act: Callable[[dict[str, Any], Stage], int]
) -> int:
    """Run a command that moves an arm: `act` gets its options by section, while the twins among its arms live.

    `command` begins with the command's name; words after it tell which of its spellings are LeRobot's.
    """
    flags = read_only_flags(words, command, help_text)
    if flags is None:
        return 0
    data = gather(flags)
    with Stage.from_data(data, command.partition(" ")[0]) as stage:
        return act(data, stage)


@dataclass
class WatchOptions:
    """Flags of every command that moves an arm: what is shown meanwhile."""

    view: bool = option(False, "show cameras, joints and the arm in the browser")
    view_port: int | None = option(None, "the page's port [the first free one]")
    view_host: str = option("127.0.0.1", "the address that the page listens on; 0.0.0.0 lets other machines look")
    view_open: bool = option(True, "open the page in a browser")
    priority: bool = option(True, "run the loop before all ordinary programs, if the system allows it")
    timing: Path | None = option(None, "a JSON file for how well the loop kept its rate")

    def __post_init__(self) -> None:
        """Refuse what cannot be served or written."""
        if self.view_port is not None and not 1 <= self.view_port <= 65535:
            raise UsageError(f"--view_port must lie between 1 and 65535, got {self.view_port}")
        if self.timing is not None and not self.timing.parent.is_dir():
            raise UsageError(f"--timing={self.timing}: there is no folder {self.timing.parent}")
        if self.timing is not None and self.timing.is_dir():
            raise UsageError(f"--timing={self.timing} is a folder; name a file in it, such as timing.json")


@dataclass(frozen=True, slots=True)
class Protection:
    """What stands between an action and the arm."""

    guard: GuardOptions
    hold: HoldOptions


def take_protection(data: dict[str, Any], command: str) -> Protection:
    """The sections ``guard`` and ``hold``, which are removed."""
    return Protection(
        decode(GuardOptions, GUARD, data.pop(GUARD, {}), command),
        decode(HoldOptions, HOLD, data.pop(HOLD, {}), command),
    )


def protection_rows() -> list[tuple[str, str, str]]:
    """The lines of ``--help`` for these sections, and for twins."""
    return [
        *describe(HoldOptions, f"{HOLD}."),
        *describe(GuardOptions, f"{GUARD}."),
        *describe(StageOptions, "twin."),
    ]


class ArmSession:
    """An arm that a command will move, protected, and on the clock of its stage. Nothing is connected yet."""

    def __init__(self, stage: Stage, robot: Robot, protection: Protection) -> None:
        robot.use_clock(stage.clock)
        robot.check_cameras()
        self.stage, self.robot, self.hold = stage, guard(robot, protection.guard), protection.hold

    def loop(self, fps: float) -> Loop:
        """A loop for the arm."""
        return Loop(fps, self.stage.clock)

    def state(self, loop: Loop, teleoperator: str = "", title: str = "", buttons: Sequence[Button] = ()) -> LiveState:
        """What can be watched of a loop that moves the arm."""
        state = LiveState(self.robot, loop, teleoperator, title, buttons)
        state.twin = self.stage.twins.get(ROBOT)
        return state


@contextlib.contextmanager
def viewed(state: LiveState, options: WatchOptions) -> Iterator[None]:
    """Serve the page of a loop, if it is wanted. Open it before anything moves: its port may be taken."""
    if not options.view:
        yield
        return
    from yardarm.viewer import Listening, served_control

    listening = Listening(options.view_host, options.view_port, flags="--view_port or --view_host")
    with served_control(state, listening) as address:
        print(f"Viewing it at {address}", flush=True)
        if options.view_open:  # in a thread: a browser that runs in the terminal would block the loop
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        yield


@contextlib.contextmanager
def watched(state: LiveState, options: WatchOptions) -> Iterator[Callable[[str], None]]:
    """Show what the loop in the block does; the block gets what prints a line meanwhile."""
    # A twin's time waits for the loop: nothing can be late, and a loop that never sleeps must not go first.
    comes_first = options.priority and isinstance(state.loop.clock, HostClock)
    with live_table(state) as say, undisturbed(comes_first):
        try:
            yield say
        finally:
            state.over = True


def say_timing(loop: Loop, options: WatchOptions) -> None:
    """Print how well the loop kept its rate, and write it down if that is wanted."""
    timing = loop.timing
    if not timing.done:
        return
    print(timing.summary())
    if parts := timing.parts_line():
        print(parts, flush=True)
    if options.timing is not None:
        content = json.dumps(timing.to_data(), indent=2).encode() + b"\n"
        write_atomically(options.timing, lambda file: file.write(content))
