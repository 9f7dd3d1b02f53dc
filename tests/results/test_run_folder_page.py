"""The page that describes a run's folder names every record and every field."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path
from typing import Any

import pytest

from tests.golden.runs_0_1 import RUNS
from yardarm.results import EpisodeKey, EpisodeRecord
from yardarm.results.manifest.codec import Record
from yardarm.results.manifest.formats import FORMAT
from yardarm.tasks import EpisodeTiming

PAGE = (Path(__file__).parents[2] / "docs" / "run-folder.md").read_text()
# A dataclass with slots is a copy of the class that was written down, and both are listed here.
BY_NAME: dict[str, Any] = {kind.__name__: kind for kind in Record.__subclasses__()}
RECORDS = [*BY_NAME.values(), EpisodeKey, EpisodeRecord, EpisodeTiming]


def section(name: str) -> str:
    """What stands below a heading."""
    found = re.search(rf"^##+ {re.escape(name)}\n(.*?)(?=^##|\Z)", PAGE, re.MULTILINE | re.DOTALL)
    assert found, f"there is no section {name}"
    return found[1]


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_every_field_of_a_record_is_described(kind: Any) -> None:
    text = section(kind.__name__)
    names = [item.name for item in dataclasses.fields(kind)]
    assert [name for name in names if f"`{name}`" not in text and name != "extra"] == []
    assert ("extra" in names) == ("urther fields" in text)


@pytest.mark.parametrize("kind", RECORDS, ids=lambda kind: kind.__name__)
def test_nothing_is_described_that_is_not_there(kind: Any) -> None:
    first_cells = re.findall(r"^\| (`.*?) \|", section(kind.__name__), re.MULTILINE)
    described = {name for cell in first_cells for name in re.findall(r"`(\w+)`", cell)}
    beside = {"format", "mixed_versions"}  # written, and not kept
    assert described - beside <= {item.name for item in dataclasses.fields(kind)}


def test_the_newest_format_is_described() -> None:
    assert re.findall(r"^\| (\d+) \|", section("Formats"), re.MULTILINE)[0] == str(FORMAT)


def test_every_key_of_a_summary_is_described() -> None:
    info = json.loads((RUNS / "precise" / "eval_info.json").read_text())
    task = info["per_task"][0]
    keys = {*info, *info["overall"], *task, *task["metrics"], *next(iter(info["per_group"].values()))}
    assert [key for key in sorted(keys) if f"`{key}`" not in section("eval_info.json")] == []
