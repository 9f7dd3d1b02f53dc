"""What `make` answers before it starts anything."""

from __future__ import annotations

import subprocess
import sys
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


def changed_tests(*files: str) -> list[str]:
    code = "import sys; from changed_tests import tests_of; print(*tests_of(sys.argv[1:]))"
    return subprocess.run(
        [sys.executable, "-c", code, *files], cwd=ROOT / "scripts", capture_output=True, text=True, check=True
    ).stdout.split()


def test_a_check_runs_the_tests_of_changed_rooms_and_the_layers() -> None:
    assert changed_tests() == ["tests/test_architecture.py"]
    files = ("src/yardarm/stats/power.py", "src/yardarm/machine.py", "serve/src/yardarm_serve/wire.py")
    assert changed_tests(*files)[1:] == ["tests/stats", "tests/test_machine.py", "tests/serve"]
    assert changed_tests("tests/stats/test_power.py", "tests/golden/README.md")[1:] == ["tests/stats/test_power.py"]
    assert changed_tests("tests/stats/test_power.py", "src/yardarm/stats/power.py")[1:] == ["tests/stats"]
