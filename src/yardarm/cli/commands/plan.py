"""``yardarm plan``: how many episodes a comparison needs, or which difference a number of episodes can detect."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from yardarm.cli.flags import Flags, listed, number, read_flags, refuse_unknown, switch
from yardarm.errors import UsageError
from yardarm.report import percent, print_table
from yardarm.stats import Design, largest_correlation, level

__all__ = ["run"]

FLAGS = [
    ("--baseline", "", "the success rate of your current policy, from 0 to 1"),
    ("--detect", "", "the difference to detect: 0.1 is 10 points better, -0.1 is 10 points worse"),
    (
        "--episodes",
        "",
        "instead of --detect: show the smallest difference that this many episodes of each policy can detect",
    ),
    ("--correlation", "", "correlation of the two policies' outcomes on the same episodes [a table of 0 to 0.7]"),
    ("--power", "0.8", "the chance of detecting a difference that exists"),
    ("--confidence", "0.95", "1 minus the chance of reporting a difference that does not exist"),
    ("--tasks", "1", "the number of tasks to spread the episodes over"),
    ("--json", "", "print JSON instead of a table"),
]
MOST_EPISODES = 1_000_000
USUAL_CORRELATIONS = (0.0, 0.3, 0.5, 0.7)
HELP = f"""\
Plan a comparison of two policies: how many episodes each policy needs, or which difference a number of episodes can
detect. The table covers the same episodes for both (paired: the more the policies' outcomes correlate, the fewer
episodes they need) and different episodes (unpaired). `yardarm compare` shows the correlation of two runs.

usage: yardarm plan --baseline=0.8 --detect=0.1 [--flag=value …]
       yardarm plan --baseline=0.8 --episodes=50 [--flag=value …]

{listed(FLAGS)}"""


def run(words: Sequence[str]) -> int:
    """Print a row per correlation, and one for unpaired episodes."""
    plain, flags = read_flags(words, ("json", "help"))
    if "help" in flags or not words:
        print(HELP)
        return 0
    refuse_unknown(flags, [name[2:] for name, _, _ in FLAGS], "plan")
    if plain:
        raise UsageError(f"yardarm plan takes flags only, not '{plain[0]}'")
    if ("detect" in flags) == ("episodes" in flags):
        raise UsageError("give either --detect=DIFFERENCE or --episodes=NUMBER; see `yardarm plan --help`")
    baseline = _between(flags, "baseline", None, 0, 1)
    if "detect" in flags:
        rows = _episodes_needed(flags, baseline)
    else:
        rows = _smallest_gaps(flags, baseline)
    if switch(flags, "json"):
        print(json.dumps({**_settings(flags, baseline), "rows": rows}, indent=1))
    else:
        _print(flags, baseline, rows)
    return 0


def _episodes_needed(flags: Flags, baseline: float) -> list[dict[str, Any]]:
    gap = _between(flags, "detect", None, -1, 1)
    if gap == 0:
        raise UsageError("--detect=0: there is no difference to detect; give one like --detect=0.1")
    if not 0 <= baseline + gap <= 1:
        raise UsageError(
            f"--baseline={baseline:g} --detect={gap:g}: a rate of {baseline + gap:g} is impossible; give a smaller "
            f"difference, or one in the other direction (--detect={-gap:g})"
        )
    rows = []
    for correlation in _correlations(flags, largest_correlation(baseline, gap), f"{baseline:g} and {baseline + gap:g}"):
        design = Design(baseline, gap, correlation, *_test(flags))
        rows.append({"paired": correlation is not None, "correlation": correlation, "episodes": design.episodes()})
    return _with_tasks(flags, rows)


def _smallest_gaps(flags: Flags, baseline: float) -> list[dict[str, Any]]:
    episodes = int(number(flags, "episodes", 0, whole=True))
    if not 1 <= episodes <= MOST_EPISODES:
        raise UsageError(f"--episodes must be between 1 and {MOST_EPISODES:,}, got {flags['episodes']}")
    if "tasks" in flags:
        raise UsageError("--tasks goes with --detect; --episodes already counts the episodes of all tasks")
    rows = []
    for correlation in _correlations(flags, 1.0, ""):
        better, worse = (
            Design(baseline, direction, correlation, *_test(flags)).smallest_gap(episodes) for direction in (0.1, -0.1)
        )
        rows.append({"paired": correlation is not None, "correlation": correlation, "better": better, "worse": worse})
    return rows


def _correlations(flags: Flags, largest: float, rates: str) -> list[float | None]:
    """The given correlation, or the usual ones that are possible; then None, for different episodes."""
    if "correlation" not in flags:
        return [*(value for value in USUAL_CORRELATIONS if value <= largest), None]
    correlation = _between(flags, "correlation", None, -1, 1)
    if correlation < 0:
        raise UsageError(
            f"--correlation={correlation:g} must be at least 0: below that, pairing episodes does not help"
        )
    if correlation > largest:
        raise UsageError(
            f"--correlation={correlation:g} is impossible for rates of {rates}: it is at most "
            f"{math.floor(100 * largest) / 100:.2f}"
        )
    return [correlation, None]


def _test(flags: Flags) -> tuple[float, float]:
    return _between(flags, "power", 0.8, 0.5, 0.9999), level(_between(flags, "confidence", 0.95, 0.5, 0.9999))


def _with_tasks(flags: Flags, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    tasks = int(number(flags, "tasks", 1, whole=True))
    if tasks < 1:
        raise UsageError(f"--tasks must be at least 1, got {tasks}")
    return [{**row, "per_task": row["episodes"] and math.ceil(row["episodes"] / tasks)} for row in rows]


def _settings(flags: Flags, baseline: float) -> dict[str, Any]:
    power, alpha = _test(flags)
    given: dict[str, Any] = {name: float(flags[name]) for name in ("detect", "episodes", "tasks") if name in flags}
    return {"baseline": baseline, **given, "power": power, "confidence": 1 - alpha}


def _print(flags: Flags, baseline: float, rows: list[dict[str, Any]]) -> None:
    console, note = Console(highlight=False, markup=False, emoji=False), ""
    power, alpha = _test(flags)
    test = f"{power:.4g} power, {1 - alpha:.4g} confidence"
    if "detect" in flags:
        other = baseline + float(flags["detect"])
        console.print(
            f"To detect the difference between {percent(other)} and {percent(baseline)} ({test}), each policy needs",
            soft_wrap=True,
        )
        tasks = int(number(flags, "tasks", 1, whole=True))
        header: tuple[str, ...] = ("", "correlation", "episodes", *(["per task"] if tasks > 1 else []))
        table = [(*_first(row), *_needed(row, tasks)) for row in rows]
        largest = largest_correlation(baseline, float(flags["detect"]))
        if "correlation" not in flags and largest < max(USUAL_CORRELATIONS):
            note = f"With these rates the correlation is at most {math.floor(100 * largest) / 100:.2f}."
    else:
        console.print(
            f"With {flags['episodes']} episodes of each policy and a baseline of {percent(baseline)} ({test}), the "
            "smallest difference you can detect:",
            soft_wrap=True,
        )
        header = ("", "correlation", "if better", "if worse")
        table = [(*_first(row), *(_gap(row, way, baseline) for way in ("better", "worse"))) for row in rows]
    print_table(console, header, table)
    if any(cell.endswith("*") for line in table for cell in line):
        note = "* at the largest possible correlation: policies that differ this much cannot correlate more"
    if note:
        console.print(note, soft_wrap=True)


def _first(row: dict[str, Any]) -> tuple[str, str]:
    return ("same episodes", f"{row['correlation']:g}") if row["paired"] else ("different episodes", "-")


def _needed(row: dict[str, Any], tasks: int) -> list[str]:
    if row["episodes"] is None:
        return ["more than a million", *(["-"] if tasks > 1 else [])]
    return [f"{row['episodes']:,}", *([f"{row['per_task']:,}"] if tasks > 1 else [])]


def _gap(row: dict[str, Any], way: str, baseline: float) -> str:
    gap = row[way]
    if gap is None:
        return "none"
    agree = largest_correlation(baseline, gap if way == "better" else -gap)
    return f"{100 * gap:.1f} points" + ("*" if row["paired"] and row["correlation"] > agree else "")


def _between(flags: Flags, name: str, default: float | None, low: float, high: float) -> float:
    if default is None and name not in flags:
        raise UsageError(f"--{name} is missing; see `yardarm plan --help`")
    value = number(flags, name, default or 0.0)
    if not low <= value <= high:
        raise UsageError(f"--{name} must be between {low:g} and {high:g}, got {flags[name]}")
    return value
