"""What `make` answers before it starts anything."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parent.parent


def make(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["make", "--no-print-directory", *words], cwd=ROOT, capture_output=True, text=True, timeout=60
    )


def test_slow_tests_run_in_parts() -> None:
    assert "pytest -m slow -n 0 tests/cluster ||" in make("--dry-run", "test-slow", "PART=cluster").stdout
    assert (
        "pytest -m slow -n 0 tests/stats/test_power.py ||" in make("-n", "test-slow", "PART=stats/test_power.py").stdout
    )
    assert "pytest -m slow -n 0 tests ||" in make("--dry-run", "test-slow").stdout


def test_a_part_that_does_not_exist_is_named_in_one_line() -> None:
    answer = make("test-slow", "PART=clustre")
    assert answer.returncode == 2
    assert answer.stdout == ""
    (line,) = answer.stderr.splitlines()
    assert "there is no tests/clustre" in line
