"""π0 and π0.5 on real Meta-World: whoever shares the evaluation, and wherever they compute."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.checkpoints import small_pi
from tests.evaluation.test_smolvla import SMALL
from tests.helpers import courses, yardarm_here
from tests.policies.remote.test_remote import what_happened
from tests.serve.running import running
from yardarm.api import evaluate
from yardarm.policies import PolicySpec, open_policy
from yardarm.policies.learned import tuning
from yardarm.serving import PolicyBackend


@pytest.fixture(scope="module", autouse=True)
def row_by_row() -> Iterator[None]:
    """Tiny ones would be asked in batches, and differ in their last bits from a server, which has one row at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tuning, "BUSY_FLOPS", 0)
        yield


@pytest.fixture(scope="module", params=["pi0", "pi05"])
def checkpoint(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """It needs no other files: a checkpoint has its tokenizer, and the sizes of its parts."""
    folder = tmp_path_factory.mktemp(request.param) / "checkpoint"
    small_pi(request.param).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def alone(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("alone") / "run"
    evaluate(checkpoint, SMALL, n_episodes=1, batch_size=1, output_dir=folder)
    return folder


def test_workers_do_not_matter(checkpoint: Path, alone: Path, tmp_path: Path) -> None:
    evaluate(checkpoint, SMALL, n_episodes=1, batch_size=3, output_dir=tmp_path / "run")
    assert courses(tmp_path / "run") == courses(alone)


def test_it_is_served_with_the_same_result(checkpoint: Path, alone: Path, tmp_path: Path) -> None:
    spec = PolicySpec("pretrained", {"path": str(checkpoint)})
    with open_policy(spec) as loaded, running(PolicyBackend(loaded)) as server:
        evaluate(PolicySpec("remote", {"url": server.url}), SMALL, n_episodes=1, output_dir=tmp_path / "away")
    assert what_happened(tmp_path / "away") == what_happened(alone)


def test_words_change_what_it_does(checkpoint: Path, alone: Path, tmp_path: Path) -> None:
    answer = yardarm_here(
        *("eval", f"--policy.path={checkpoint}", "--env.type=metaworld", "--env.task=faucet-open-v3,faucet-close-v3"),
        *("--env.observation_height=32", "--env.observation_width=32", "--env.episode_length=8"),
        *("--eval.n_episodes=1", f"--output_dir={tmp_path / 'run'}", "--env.instruction=Do something else"),
    )
    assert answer.returncode == 0, answer.stderr
    told, misled = courses(alone), courses(tmp_path / "run")
    assert told.keys() == misled.keys()
    assert all(told[key] != misled[key] for key in told)
