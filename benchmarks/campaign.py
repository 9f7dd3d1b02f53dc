"""Runs measurements by name, shows what they found, and keeps it in a dated file."""

from __future__ import annotations

import argparse
import logging
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from report import Section, document, table
from usage import CpuAccount

from yardarm.machine import usable_cores

Measurements = Mapping[str, Callable[[], Section]]
log = logging.getLogger("benchmark")


def run_campaign(title: str, description: str, method: str, full: Measurements, small: Measurements) -> None:
    """Measure what the command line asks for; `small` tries the same in a minute or two."""
    arguments = _parse_arguments(description, full)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
    started = time.perf_counter()
    measurements = full if arguments.scale == "full" else small
    sections = [_measure(name, measurements[name]) for name in arguments.only]
    print(table(sections))
    if arguments.output:
        arguments.output.write_text(document(title, method, sections, time.perf_counter() - started))


def _parse_arguments(description: str, full: Measurements) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", choices=("full", "small"), default="full")
    parser.add_argument("--only", default=",".join(full), help="what to measure; all of it: %(default)s")
    parser.add_argument("--output", type=Path, help="write a result file, too")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(full):
        parser.error(f"--only does not know {', '.join(sorted(unknown))}; it knows {', '.join(full)}")
    return arguments


def _measure(name: str, measurement: Callable[[], Section]) -> Section:
    """Measure, show, and note whether the machine was quiet."""
    log.info("%s", name)
    started = time.perf_counter()
    with CpuAccount() as cpu:
        section = measurement()
    wall_s = time.perf_counter() - started
    share = cpu.others_s / (wall_s * usable_cores())
    section.notes.append(f"Measured in {wall_s:.0f} s; other programs used {share:.0%} of the machine meanwhile.")
    for line in (*(figure.row() for figure in section.figures), *section.notes):
        log.info("  %s", line)
    return section
