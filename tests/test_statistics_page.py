"""The page on statistics says what its scripts compute, and shows what they draw."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.helpers import yardarm

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "statistics.md"
SCRIPTS = ROOT / "examples" / "statistics"
NAMES = sorted(path.name for path in SCRIPTS.glob("*.py") if path.name != "common.py")


def pictures_of(script: str) -> set[str]:
    return set(re.findall(r'"(statistics_\w+\.png)"', (SCRIPTS / script).read_text()))


def in_one_line(text: str) -> str:
    return " ".join(text.split())


def test_the_page_names_every_script_and_no_other() -> None:
    assert set(re.findall(r"\(\.\./examples/statistics/(\w+\.py)\)", PAGE.read_text())) == set(NAMES)


def test_every_picture_is_there_and_a_script_makes_it() -> None:
    shown = re.findall(r"!\[[^]]+\]\(images/([^)]+)\)", PAGE.read_text())
    assert shown
    assert set(shown) == set().union(*(pictures_of(name) for name in NAMES))
    for name in shown:
        assert (ROOT / "docs" / "images" / name).stat().st_size < 80_000


@pytest.mark.parametrize("flag", ["--detect=0.1", "--episodes=50"])
def test_plans_are_quoted_word_for_word(flag: str) -> None:
    command = f"    yardarm plan --baseline=0.7 {flag}\n\n```\n"
    assert command + yardarm("plan", "--baseline=0.7", flag).stdout + "```" in PAGE.read_text()


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("name", NAMES)
def test_a_script_draws_and_prints_what_the_page_says(name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    answer = subprocess.run([sys.executable, SCRIPTS / name, tmp_path], capture_output=True, text=True)
    assert answer.returncode == 0, answer.stderr
    assert {path.name for path in tmp_path.iterdir()} == pictures_of(name)
    lines = [line for line in answer.stdout.splitlines() if line]
    assert lines
    page = PAGE.read_text()
    # Tables and lists stand there line by line; sentences may be wrapped.
    wrapped = in_one_line(page)
    for line in lines:
        assert f"\n{line}\n" in page if line[0] in "|-" else in_one_line(line) in wrapped, line
