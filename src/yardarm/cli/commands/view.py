"""``yardarm view``: runs in the browser."""

from __future__ import annotations

import sys
import threading
import webbrowser
from collections.abc import Callable, Sequence
from pathlib import Path

from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown, switch
from yardarm.errors import UsageError
from yardarm.viewer import FIRST_PORT, Listening, ViewOptions, serve_viewer

__all__ = ["LISTENING_FLAGS", "read_listening", "run", "say_address"]

DEFAULT_FOLDER = Path("outputs/eval")
SWITCHES = ("help",)
LISTENING_FLAGS = [
    ("--port", "", f"where to listen [{FIRST_PORT}, or the next that is free]"),
    ("--host", "127.0.0.1", "the address to listen on; 0.0.0.0 lets everybody who reaches this machine look"),
    ("--open", "true", "open a browser"),
]
# What `yardarm eval --view` starts it with: the page to open, and how to know that it is over.
FOR_EVAL = ("page", "until_stdin_closes")
HELP = f"""\
Look at runs in the browser: a list of all runs below a folder, each run's page, each episode's video (rendered when it
is first opened) with its actions, rewards and states, and comparisons. Runs that are going on are shown live. Code that
a run names (a package, another Python) never runs here: `yardarm replay` renders such episodes.

usage: yardarm view [DIR] [--flag=value …]

  DIR  a folder of runs, or a run [{DEFAULT_FOLDER}]
{listed(LISTENING_FLAGS)}"""


def run(words: Sequence[str]) -> int:
    """Serve until Ctrl-C."""
    plain, flags = read_flags(words, SWITCHES)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, [*(name[2:] for name, _, _ in LISTENING_FLAGS), *FOR_EVAL], "view")
    if len(plain) > 1:
        raise UsageError(f"yardarm view takes one folder, got {len(plain)}")
    options = _options(plain[0] if plain else None, flags)
    say = say_address(str(options.folder), options.listening, flags)
    until = sys.stdin.read if switch(flags, "until_stdin_closes") else None
    try:
        serve_viewer(options, lambda address: say(address + flags.get("page", "")), until)
    except KeyboardInterrupt:
        return 0  # that is how one ends it
    return 0


def _options(folder: str | None, flags: Flags) -> ViewOptions:
    path = Path(folder) if folder else DEFAULT_FOLDER
    if not path.is_dir():
        raise UsageError(f"there is no folder {path}; `yardarm view DIR` takes a folder of runs, or a run")
    return ViewOptions(path, read_listening(flags))


def read_listening(flags: Flags) -> Listening:
    """Where to listen."""
    port = int(number(flags, "port", 0, whole=True)) if "port" in flags else None
    if port is not None and port > 65535:
        raise UsageError(f"--port must be at most 65535, got {port}")
    return Listening(flags.get("host", "127.0.0.1"), port)


def say_address(what: str, listening: Listening, flags: Flags) -> Callable[[str], None]:
    """Tell where the viewer answers, and open a browser there unless that was not wanted."""
    opens = switch({"open": "true", **flags}, "open")

    def say(address: str) -> None:
        print(f"Viewing {what} at {address}   (Ctrl-C ends it)", flush=True)
        if listening.is_open_to_others:
            print("yardarm: warning: everybody who reaches this port can look at this", file=sys.stderr)
        if opens:  # one that runs in the terminal would keep the viewer from answering it
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()

    return say
