"""``yardarm view``: show runs in the browser."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from yardarm.cli.displays.live_view import STOP_HINT
from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown, switch
from yardarm.errors import UsageError
from yardarm.viewer import FIRST_PORT, Listening, ViewOptions, serve_viewer
from yardarm.workspace import DEFAULT_FOLDER

__all__ = ["LISTENING_FLAGS", "read_listening", "run", "say_address"]

SWITCHES = ("help",)
LISTENING_FLAGS = [
    ("--port", "", f"the port to listen on [{FIRST_PORT}, or the next free one]"),
    ("--host", "127.0.0.1", "the address to listen on; 0.0.0.0 lets anyone who can reach this machine view"),
    ("--open", "true", "open a browser"),
    ("--edit", "", "let the pages change things [true; false with a --host that other machines can reach]"),
]
FLAGS = [
    *LISTENING_FLAGS,
    (
        "--render_ahead",
        "true",
        "while idle, draw the first failures of runs that you open, and render their videos",
    ),
]
# Internal flags of `yardarm eval --view`: the page to open, and when to stop.
FOR_EVAL = ("page", "until_stdin_closes")
HELP = f"""\
Show runs in the browser: a list of all runs and trainings below a folder, each run's results, each episode's video
(rendered when you first open it) with its actions, rewards and states, and comparisons. Runs in progress are shown
live. Runs can be named, tagged, hidden and deleted (to a trash). The viewer never runs code that a run refers to (a
package, another Python); use `yardarm replay` for such episodes.

usage: yardarm view [DIR] [--flag=value …]

  DIR     a folder of runs and trainings, or one of them [{DEFAULT_FOLDER}]
{listed(FLAGS)}

example:
  yardarm view outputs/eval --port=8080 --open=false"""


def run(words: Sequence[str]) -> int:
    """Serve the pages until Ctrl-C."""
    plain, flags = read_flags(words, SWITCHES)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, [*(name[2:] for name, _, _ in FLAGS), *FOR_EVAL], "view")
    if len(plain) > 1:
        raise UsageError(f"yardarm view takes one folder, got {len(plain)}")
    options = _options(plain[0] if plain else None, flags)
    say = say_address(str(options.folder), options.listening, flags)
    until = sys.stdin.read if switch(flags, "until_stdin_closes") else None
    try:
        serve_viewer(options, lambda address: say(address + flags.get("page", "")), until)
    except KeyboardInterrupt:
        return 0  # the normal way to stop
    return 0


def _options(folder: str | None, flags: Flags) -> ViewOptions:
    path = Path(folder) if folder else DEFAULT_FOLDER
    if not path.is_dir():
        raise UsageError(f"there is no folder {path}; `yardarm view DIR` takes a folder of runs, or one run")
    return ViewOptions(path, read_listening(flags), switch({"render_ahead": "true", **flags}, "render_ahead"))


def read_listening(flags: Flags) -> Listening:
    """The address and port to listen on, and whether pages may change things."""
    port = int(number(flags, "port", 0, whole=True)) if "port" in flags else None
    if port is not None and port > 65535:
        raise UsageError(f"--port must be at most 65535, got {port}")
    edit = switch(flags, "edit") if "edit" in flags else None
    return Listening(flags.get("host", "127.0.0.1"), port, edit)


def say_address(what: str, listening: Listening, flags: Flags) -> Callable[[str], None]:
    """A callback that prints the viewer's address and, unless --open=false, opens a browser there."""
    opens = switch({"open": "true", **flags}, "open")

    def say(address: str) -> None:
        print(f"Viewing {what} at {address}   {STOP_HINT}", flush=True)
        if listening.is_open_to_others:
            print("yardarm: warning: anyone who can reach this port can view this", file=sys.stderr)
        if opens:  # in a thread: a browser that runs in the terminal would block the viewer
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return say
