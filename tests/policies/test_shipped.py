"""The policy that comes with the package is small, and has learned its tasks."""

from __future__ import annotations

from pathlib import Path

import yardarm
from yardarm.policies import shipped

FOLDER = Path(shipped.__file__).parent / "mt10_act"
MOST_BYTES = 10_000_000


def test_it_is_small() -> None:
    assert sum(path.stat().st_size for path in FOLDER.iterdir()) < MOST_BYTES


def test_it_solves_what_it_was_trained_for(tmp_path: Path) -> None:
    tasks = ["reach-v3", "drawer-close-v3", "button-press-topdown-v3"]
    run = yardarm.evaluate("mt10-act", tasks, n_episodes=3, seed=7000, output_dir=tmp_path / "run")
    assert run.counts.successes >= 8, run.counts
    assert run.counts.errors == 0
