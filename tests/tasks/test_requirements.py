"""What `pip` installs with an extra is what `yardarm setup` installs, and what is checked before a run."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest

from yardarm.tasks import BENCHMARKS

PROJECT = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]


@pytest.mark.parametrize("world", ["aloha", "gym", "libero", "metaworld", "pusht"])
def test_a_worlds_extra_names_what_its_benchmark_needs(world: str) -> None:
    benchmark = BENCHMARKS.load(world)
    assert set(PROJECT["optional-dependencies"][world]) == set(benchmark.requirements) - set(PROJECT["dependencies"])
    assert benchmark.how_to_install() == f"yardarm setup {world} (or: pip install 'yardarm[{world}]')"
