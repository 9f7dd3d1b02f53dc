"""Runs measurements by name, prints the results, and writes them to a file."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import logging
import time
from collections.abc import Callable, Collection, Mapping
from pathlib import Path

from report import Section, commit, document, table
from usage import CpuAccount

from yardarm.machine import usable_cores

Measurements = Mapping[str, Callable[[], Section]]
log = logging.getLogger("benchmark")


def run_campaign(
    title: str,
    description: str,
    method: str,
    full: Measurements,
    small: Measurements,
    on_request: Collection[str] = (),
    options: argparse.ArgumentParser | None = None,
) -> None:
    """Run the measurements that the command line selects; `small` does the same in a minute or two.

    Those `on_request` run only if they are named; `options` are the campaign's own.
    """
    arguments = _parse_arguments(description, full, on_request, options)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    started = time.perf_counter()
    measurements = full if arguments.scale == "full" else small
    kept = arguments.keep / arguments.scale if arguments.keep else None
    earlier = {name for name in arguments.only if kept and _file(kept, name).exists()}
    sections = [_measure(name, measurements[name], kept) for name in arguments.only]
    print(table(sections))
    if arguments.output:
        wall_s = time.perf_counter() - started
        arguments.output.write_text(document(title, method, sections, wall_s, is_whole=not earlier))


def _parse_arguments(
    description: str, full: Measurements, on_request: Collection[str], options: argparse.ArgumentParser | None
) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=description,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        parents=[options] if options else [],
    )
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    default = ",".join(name for name in full if name not in on_request)
    others = f"; only if named: {', '.join(on_request)}" if on_request else ""
    parser.add_argument("--only", default=default, help=f"what to measure; default: %(default)s{others}")
    parser.add_argument("--output", type=Path, help="also write a result file")
    parser.add_argument(
        "--keep", type=Path, help="a folder that keeps each measurement; what is there is not measured again"
    )
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(full):
        parser.error(f"--only has unknown {', '.join(sorted(unknown))}; use {', '.join(full)}")
    return arguments


def _measure(name: str, measurement: Callable[[], Section], kept: Path | None) -> Section:
    """Run a measurement, unless it was kept; print it, and note how busy the machine was."""
    if kept and _file(kept, name).exists():
        log.info("%s was measured before", name)
        return Section.from_json(json.loads(_file(kept, name).read_text()))
    log.info("%s", name)
    when = f" on {dt.date.today().isoformat()}, commit {commit()}," if kept else ""
    started = time.perf_counter()
    with CpuAccount() as cpu:
        section = measurement()
    wall_s = time.perf_counter() - started
    share = cpu.others_s / (wall_s * usable_cores())
    section.notes.append(f"Measured{when} in {wall_s:.0f} s; other programs used {share:.0%} of the machine meanwhile.")
    for line in (*(figure.row() for figure in section.figures), *section.notes):
        log.info("  %s", line)
    if kept:
        kept.mkdir(parents=True, exist_ok=True)
        _file(kept, name).write_text(json.dumps(section.to_json()))
    return section


def _file(kept: Path, name: str) -> Path:
    return kept / f"{name}.json"
