"""Runs measurements by name, prints the results, and writes them to a file."""

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
    """Run the measurements that the command line selects; `small` does the same in a minute or two."""
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
    parser.add_argument("--only", default=",".join(full), help="what to measure; default: %(default)s")
    parser.add_argument("--output", type=Path, help="also write a result file")
    arguments = parser.parse_args()
    arguments.only = arguments.only.split(",")
    if unknown := set(arguments.only) - set(full):
        parser.error(f"--only has unknown {', '.join(sorted(unknown))}; use {', '.join(full)}")
    return arguments


def _measure(name: str, measurement: Callable[[], Section]) -> Section:
    """Run a measurement, print it, and note how busy the machine was."""
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
