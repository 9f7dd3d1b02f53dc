"""``yardarm``: finds the command, and turns exceptions into one line on stderr and an exit code."""

from __future__ import annotations

import contextlib
import faulthandler
import importlib
import io
import os
import signal
import sys
import threading
from collections.abc import Sequence
from types import FrameType

import yardarm
from yardarm.cli.groups import asks_for_help, command_lines
from yardarm.cli.lerobot.commands import find_command
from yardarm.errors import UsageError, YardarmError, nearest
from yardarm.machine import shared_kernels

__all__ = ["main"]

COMMANDS = {
    "eval": "evaluate a policy in simulation",
    "merge": "merge the shards of an evaluation into one run",
    "compare": "compare runs: which is better, and how certain that is",
    "report": "write a run's report again, or figures, Markdown, a model card",
    "view": "show runs in the browser",
    "runs": "list, label and clean up runs on the terminal",
    "plan": "compute how many episodes a comparison needs",
    "tasks": "list benchmarks and their tasks",
    "dataset": "inspect, view and edit LeRobot datasets",
    "serve": "serve a policy over a WebSocket",
    "record": "record demonstrations as a dataset",
    "train": "train a policy on a dataset",
    "replay": "render the video of a finished episode; or play one of a dataset on an arm",
    "find-port": "find the port of an arm, and see what answers on it",
    "find-cameras": "find cameras, see what they can do, and save a picture of each",
    "setup-motors": "give the motors of a new arm their ids",
    "calibrate": "show an arm where its middle and its ends are",
    "robot": "look at an arm's motors, and at what went over its cable",
    "teleoperate": "move an arm with a leader arm, or another teleoperator",
    "find-joint-limits": "find how far an arm's joints can go",
    "twin": "an arm without hardware, on a port that any program can open",
    "setup": "install a benchmark into its own Python environment",
    "info": "show versions, cores, renderer, and what is missing",
}

EXIT_FAULT = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130
BY_A_SIGNAL = 128
# Threads in other people's code, which nobody can end: by how their names begin.
MAY_HANG = ("policy", "camera ")


class Terminated(BaseException):
    """SIGTERM or SIGHUP as an exception, so that everything is closed on the way out."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    if arguments is not None:
        return _exit_code(list(arguments))
    faulthandler.enable()  # if a policy crashes this process, stderr shows where
    code = _exit_code(sys.argv[1:])
    if any(thread.name.startswith(MAY_HANG) for thread in threading.enumerate()):
        _leave_at_once(code)
    return code


def _leave_at_once(code: int) -> None:
    """Exit without waiting for the threads of a policy or a device that hangs; everything is closed, and on disk."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError):
            stream.flush()
    os._exit(code)


def _exit_code(words: list[str]) -> int:
    """Run a command; turn an exception into one line on stderr and an exit code."""
    signal.signal(signal.SIGTERM, _terminate)
    if signal.getsignal(signal.SIGHUP) is signal.SIG_DFL:  # `nohup` ignores it
        signal.signal(signal.SIGHUP, _hang_up)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal without a dash must not end an evaluation
    try:
        return _run(words)
    except UsageError as error:
        print(f"yardarm: {error}", file=sys.stderr)
        return EXIT_USAGE
    except YardarmError as error:
        print(f"yardarm: {error}", file=sys.stderr)
        return EXIT_FAULT
    except KeyboardInterrupt:
        return EXIT_INTERRUPTED
    except OSError as error:
        if isinstance(error, BrokenPipeError):
            return _reader_closed()
        print(f"yardarm: {error}; finished episodes are kept", file=sys.stderr)
        return EXIT_FAULT
    except Terminated as error:
        return BY_A_SIGNAL + error.number


def _reader_closed() -> int:
    """A closed pipe, as in `yardarm tasks | head`, is not an error."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


def _run(words: list[str]) -> int:
    if not words or asks_for_help(words):
        print(_usage())
        return 0
    if words[0] == "--version":
        print(f"yardarm {yardarm.__version__}")
        return 0
    # A simulator in this process (--eval.use_async_envs=false) must compute exactly like one in a worker.
    os.environ.update({name: value for name, value in shared_kernels().items() if name not in os.environ})
    command, rest = words[0], words[1:]
    module = f"commands.{command.replace('-', '_')}" if command in COMMANDS else find_command(command)
    if module is None:
        raise UsageError(f"unknown command '{command}'{nearest(command, COMMANDS)} `yardarm --help` lists them all")
    return importlib.import_module(f"yardarm.cli.{module}").run(rest)


def _usage() -> str:
    return (
        "Yardarm trains robot policies, evaluates them in simulation, and drives robot arms.\n\n"
        f"usage: yardarm COMMAND …\n\n{command_lines(COMMANDS)}\n\n"
        "`yardarm COMMAND --help` explains a command. LeRobot's names work too: `yardarm lerobot-eval …`. To start:\n"
        "  yardarm eval --policy.type=expert --env.type=metaworld --env.task=reach-v3 --eval.n_episodes=10"
    )


def _terminate(signum: int, frame: FrameType | None) -> None:
    raise Terminated(signum)


def _hang_up(signum: int, frame: FrameType | None) -> None:
    """The terminal is gone: what is printed on the way out goes nowhere, instead of failing."""
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    raise Terminated(signum)
