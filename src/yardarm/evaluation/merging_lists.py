"""Joins the lists of evaluations of several policies whose runs were merged."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import yaml

from yardarm.evaluation.config_file import read_config_file
from yardarm.files import write_atomically
from yardarm.pages import write_several_report
from yardarm.results import RunFolder, SeveralFolder

__all__ = ["merge_lists"]


def merge_lists(output: Path, runs: Sequence[RunFolder]) -> None:
    """Write the list of all policies and the page that compares them, if the runs are of several."""
    places = dict.fromkeys(run.path.parent.parent for run in runs)
    parts = [SeveralFolder(place) for place in (output, *places)]
    parts = [part for part in parts if part.index.exists()]
    if not parts:
        return
    whole = SeveralFolder(output)
    listed = {own.id: own for part in reversed(parts) for own in part.read_policies()}
    order = dict.fromkeys(own.id for part in parts for own in part.read_policies())
    whole.write_index(parts[0].read_plan(), [listed[policy] for policy in order])
    _write_config(whole, [part.whole for part in parts])
    if whole.begun():
        write_several_report(whole)


def _write_config(whole: SeveralFolder, parts: Sequence[RunFolder]) -> None:
    """The configuration of the part with most episodes, as that of the whole."""
    found = [read_config_file(part.config) for part in parts if part.config.exists()]
    if found:  # policies that are objects leave none
        largest = max(found, key=lambda data: data["eval"]["n_episodes"])
        text = yaml.safe_dump(
            {**largest, "output_dir": str(whole.path), "shard": None}, sort_keys=False, allow_unicode=True
        )
        write_atomically(whole.whole.config, lambda file: file.write(text.encode()))
