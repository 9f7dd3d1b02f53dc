"""The policies that come with the package are small, and have learned their tasks."""

from __future__ import annotations

from pathlib import Path

import pytest

import yardarm
from yardarm.policies import shipped
from yardarm.tasks.metaworld import MetaworldConfig

MOST_BYTES = 10_000_000


@pytest.mark.parametrize("name", ["mt10_act", "metaworld_smolvla"])
def test_they_are_small(name: str) -> None:
    folder = Path(shipped.__file__).parent / name
    assert sum(path.stat().st_size for path in folder.iterdir()) < MOST_BYTES


def test_it_solves_what_it_was_trained_for(tmp_path: Path) -> None:
    tasks = ["reach-v3", "drawer-close-v3", "button-press-topdown-v3"]
    run = yardarm.evaluate("mt10-act", tasks, n_episodes=3, seed=7000, output_dir=tmp_path / "run")
    assert run.counts.successes >= 8, run.counts
    assert run.counts.errors == 0


def test_it_listens(tmp_path: Path) -> None:
    """Both tasks begin with the same picture: only the instruction says which one is meant."""

    def successes(name: str, instruction: dict[str, str] | None) -> int:
        world = MetaworldConfig(
            task=",".join(OPPOSITES),
            alike=True,
            shadows=False,
            observation_height=96,
            observation_width=96,
            episode_length=100,
            instruction=instruction,
        )
        run = yardarm.evaluate("metaworld-smolvla", world, n_episodes=2, seed=7000, output_dir=tmp_path / name)
        assert run.counts.errors == 0
        return run.counts.successes

    assert successes("right", None) >= 3
    assert successes("swapped", OPPOSITES) <= 1


OPPOSITES = {"drawer-open-v3": "Push and close a drawer", "drawer-close-v3": "Open a drawer"}
