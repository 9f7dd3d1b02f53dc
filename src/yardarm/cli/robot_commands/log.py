"""``yardarm robot log``: what went over an arm's cable, readably; or played again through the driver."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from yardarm.cli.flags import listed, read_flags, refuse_unknown, switch
from yardarm.errors import UsageError
from yardarm.robots.bus_log import LogSession, read_bus_log, replay, shown, summary

__all__ = ["run"]

COMMAND = "robot log"
FLAGS = [
    (
        "--faults",
        "false",
        "only what went wrong: missing, late and damaged answers, complaints, failed calls",
    ),
    ("--summary", "false", "only the summary of each session"),
    ("--replay", "false", "make the same calls to a port that answers as recorded, and compare what comes of them"),
]
SWITCHES = [name[2:] for name, _, _ in FLAGS]
HELP = f"""\
Show the log of a bus, which --robot.log=FILE and --teleop.log=FILE write: when each request was sent, who answered
what, after how long, and what went wrong. --replay needs no hardware: a failure can be reproduced anywhere.

usage: yardarm robot log FILE [--flag=value …]

{listed(FLAGS)}

examples:
  yardarm robot log arm.jsonl --faults
  yardarm robot log arm.jsonl --replay"""


def run(words: Sequence[str]) -> int:
    """Show or replay a log; exit code 1 if a replay gives a different result."""
    plain, flags = read_flags(words, SWITCHES)
    if "help" in flags:
        print(HELP)
        return 0
    refuse_unknown(flags, SWITCHES, COMMAND)
    if len(plain) != 1:
        raise UsageError(f"yardarm robot log takes one file, got {len(plain)}; --robot.log=FILE writes one")
    if sum(switch(flags, name) for name in SWITCHES) > 1:
        raise UsageError(f"give one of {', '.join(f'--{name}' for name in SWITCHES)}, not several")
    sessions = read_bus_log(Path(plain[0]))
    if switch(flags, "replay"):
        return max([_replay(number, session) for number, session in enumerate(sessions, start=1)])
    for number, session in enumerate(sessions):
        print("\n" * bool(number), end="")
        _show(session, switch(flags, "faults"), switch(flags, "summary"))
    return 0


def _show(session: LogSession, only_faults: bool, only_summary: bool) -> None:
    lines = shown(session, only_faults)
    print(next(lines))
    if not only_summary:
        for line in lines:
            print(line)
    print(summary(session))


def _replay(number: int, session: LogSession) -> int:
    print(f"session {number}: {session.device}, {len(session.calls)} calls", flush=True)
    report = replay(session)
    for line in [*map(str, report.differences), *report.notes]:
        print(line)
    if report.differences:
        print(f"{report.replayed} calls were made again, {len(report.differences)} gave a different result")
    else:
        print(f"{report.replayed} calls were made again, and all gave the recorded results")
    return 1 if report.differences else 0
