"""A learned policy on real Meta-World: the same journal for any number of workers, and after a kill."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from tests.checkpoints import small_act, small_diffusion
from tests.helpers import assert_all_gone, courses, descendants, journal_lines, start_yardarm, wait_until, yardarm
from yardarm import load_policy
from yardarm.api import evaluate
from yardarm.engine.exactness import FixedBatching, fix_batching
from yardarm.errors import PolicyFault, UsageError
from yardarm.policies import BatchedPolicy, Batching, LoadedPolicy, Observations, ObservationSpec, PolicySpec, as_policy
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.tasks.metaworld import MetaworldConfig

SMALL = {"observation_height": 32, "observation_width": 32, "episode_length": 15}


def command(checkpoint: Path, folder: Path, *words: str) -> list[str]:
    env = [f"--env.{name}={value}" for name, value in SMALL.items()]
    tasks = ["--env.type=metaworld", "--env.task=reach-v3,push-v3", *env]
    return ["eval", f"--policy.path={checkpoint}", *tasks, "--eval.n_episodes=3", f"--output_dir={folder}", *words]


@pytest.mark.slow
@pytest.mark.parametrize("make", [lambda: small_act(n_action_steps=5), lambda: small_diffusion(n_action_steps=6)])
def test_a_killed_evaluation_of_a_checkpoint_ends_with_the_identical_journal(
    make: Callable[[], LearnedPolicy], tmp_path: Path
) -> None:
    make().save_pretrained(tmp_path / "checkpoint")
    whole = command(tmp_path / "checkpoint", tmp_path / "whole", "--eval.batch_size=1")
    finished = yardarm(*whole)
    assert finished.returncode == 0, finished.stderr
    cut = command(tmp_path / "checkpoint", tmp_path / "cut", "--eval.batch_size=3")
    process = start_yardarm(*cut)
    wait_until(lambda: journal_lines(tmp_path / "cut") >= 2)
    workers = descendants(process.pid)
    process.kill()
    process.communicate()
    assert_all_gone(workers)
    assert journal_lines(tmp_path / "cut") < 6, "it was killed too late"
    resumed = yardarm(*cut)
    assert resumed.returncode == 0, resumed.stderr
    assert courses(tmp_path / "cut") == courses(tmp_path / "whole")
    actions = [played_actions(tmp_path / name) for name in ("whole", "cut")]
    assert [*actions[0]] == [*actions[1]]
    assert all(np.array_equal(actions[0][name], actions[1][name]) for name in actions[0])


def played_actions(folder: Path) -> dict[str, np.ndarray]:
    files = sorted((folder / "actions").rglob("*.npz"))
    assert len(files) == 6
    return {str(file.relative_to(folder)): np.load(file)["actions"] for file in files}


def test_the_manifest_says_what_computed_and_how(tmp_path: Path) -> None:
    policy = small_act()
    policy.save_pretrained(tmp_path / "checkpoint")
    loaded = load_policy(tmp_path / "checkpoint")
    evaluate(loaded, MetaworldConfig(task="reach-v3", **SMALL), n_episodes=1, output_dir=tmp_path / "run")
    (session,) = json.loads((tmp_path / "run" / "manifest.json").read_text())["sessions"]
    reason = session["batching"].pop("reason")
    assert session["batching"] == {"exact": True, "rows": 1, "threads": loaded.batching.threads, "device": "cpu"}
    assert "GFLOP a row" in reason
    assert session["policy"] == {
        "id": policy.id,
        "type": "act",
        "path": str(tmp_path / "checkpoint"),
        "commit": None,
        "parameters": sum(parameter.numel() for parameter in policy.network.parameters()),
        "device": "cpu",
        "dtype": "float32",
    }


def test_who_continues_a_run_keeps_its_batching() -> None:
    policy = small_act(image=None)
    loaded = LoadedPolicy.prepared(policy, PolicySpec("pretrained"), ())
    stored = FixedBatching(exact=True, rows=4, threads=3, device="cpu")
    assert fix_batching(loaded, exact=True, stored=stored) == stored
    assert policy.batching == Batching(4, 3)
    with pytest.raises(UsageError, match=r"started with --eval.exact=true, and cannot be resumed otherwise"):
        fix_batching(loaded, exact=False, stored=stored)
    floating = fix_batching(loaded, exact=False, stored=None)
    assert floating is not None
    assert floating.rows is None
    with pytest.raises(UsageError, match=r"started with --policy.device=cuda, and cannot be resumed with cpu"):
        fix_batching(loaded, exact=True, stored=replace(stored, device="cuda"))


class Network(torch.nn.Module):
    """Somebody's own policy in the middle of its training."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = torch.nn.Sequential(torch.nn.Linear(4, 32), torch.nn.Dropout(0.5), torch.nn.Linear(32, 12))

    def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
        return self.layers(batch["observation.state"]).unflatten(-1, (3, 4))


def short_run(policy: object, folder: str = "run", **options: object) -> dict[object, object]:
    env = MetaworldConfig(task="reach-v3", **{**SMALL, "episode_length": 4})
    return courses(evaluate(policy, env, n_episodes=4, output_dir=folder, **options))


def test_a_module_is_evaluated_as_it_is_and_left_as_it_was() -> None:
    torch.manual_seed(0)
    network = Network().train()
    one, three = (
        short_run(network, f"workers{workers}", inputs=["observation.state"], batch_size=workers) for workers in (1, 3)
    )
    assert one == three
    assert network.training
    again = short_run(network, "workers1", inputs=["observation.state"])
    assert again == one, "the same weights go on with the same run"
    with torch.no_grad():
        network.layers[0].weight.add_(0.1)
    with pytest.raises(UsageError, match="holds another run: policy was Network-"):
        short_run(network, "workers1", inputs=["observation.state"])


def test_a_part_that_was_frozen_stays_so_and_what_a_module_keeps_is_of_use_in_training() -> None:
    class Caching(Network):
        kept = None

        def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            if self.kept is None:
                self.kept = torch.ones(12)
            return (self.layers(batch["observation.state"]) * self.kept).unflatten(-1, (3, 4))

    network = Caching().train()
    network.layers[1].eval()
    short_run(network, inputs=["observation.state"])
    assert [part.training for part in network.layers] == [True, False, True]
    network({"observation.state": torch.rand(2, 4)}).sum().backward()


def test_a_modules_name_is_what_it_does() -> None:
    def name(*parts: torch.nn.Module, inputs: tuple[str, ...] = ("observation.state",)) -> str:
        torch.manual_seed(0)
        features = MetaworldConfig().tasks()[0].env.features
        policy: Any = as_policy(torch.nn.Sequential(torch.nn.Linear(4, 4), *parts), lambda: features, inputs)
        return policy.id

    assert name(torch.nn.ReLU()) == name(torch.nn.ReLU())
    both = ("observation.state", "observation.image")
    assert len({name(torch.nn.ReLU()), name(torch.nn.Tanh()), name(torch.nn.ReLU(), inputs=both)}) == 3


def test_a_batched_policy_of_ones_own_goes_on_with_its_run() -> None:
    class Mine(BatchedPolicy):
        wants = ObservationSpec(("observation.state",))

        def predict(self, observations: Observations) -> np.ndarray:
            return np.zeros((len(observations["observation.state"]), 5, 4))

    policy = Mine()
    assert short_run(policy, "mine") == short_run(policy, "mine")


def test_a_module_that_cannot_be_asked_fails_before_anything_starts() -> None:
    with pytest.raises(PolicyFault, match=r"(?s)tried on made-up observations.*mat1 and mat2"):
        short_run(torch.nn.Sequential(Network(), torch.nn.Linear(7, 4)), inputs=["observation.state"])


def test_a_module_sees_images_as_it_was_trained_on_them() -> None:
    seen = {}

    class Looking(torch.nn.Module):
        def forward(self, batch: dict[str, torch.Tensor]) -> torch.Tensor:
            seen.update(batch)
            return torch.zeros(len(batch["observation.image"]), 4)

    short_run(Looking())
    image = seen["observation.image"]
    assert image.shape[-3:] == (3, 32, 32)
    assert image.dtype == torch.float32
    assert 0 <= image.min() < image.max() <= 1


def test_any_function_is_a_policy() -> None:
    shapes = set()

    def still(batch: dict[str, np.ndarray]) -> np.ndarray:
        shapes.add(
            (batch["observation.state"].shape, batch["observation.image"].dtype, batch["observation.image"].ndim)
        )
        return np.zeros((len(batch["observation.state"]), 4))

    assert len(short_run(still)) == 4
    assert shapes == {((1, 4), np.dtype("uint8"), 4)}


def test_what_is_no_policy_is_refused() -> None:
    with pytest.raises(UsageError, match="int is no policy: give a name, a checkpoint, a function or a torch module"):
        evaluate(3, "reach-v3")
    with pytest.raises(UsageError, match=r"the environment offers no 'pixels'; it offers observation.image"):
        evaluate(lambda batch: batch, "reach-v3", inputs=["pixels"])
    for wrong in ("observation.state", []):
        with pytest.raises(UsageError, match="inputs must be a list of names"):
            evaluate(lambda batch: batch, "reach-v3", inputs=wrong)
    with pytest.raises(UsageError, match="inputs are for functions and modules"):
        evaluate("expert", "reach-v3", inputs=["observation.state"])
    with pytest.raises(UsageError, match=r"evaluate has no option 'n_episode'; did you mean 'n_episodes'\?"):
        evaluate("expert", "reach-v3", n_episode=3)
    with pytest.raises(PolicyFault, match=r"^the policy answered 1 row\(s\) with the shape \(4,\)"):
        short_run(lambda batch: np.zeros(4))


def test_a_folder_is_a_policy_whatever_it_is_called() -> None:
    small_act(image=None).save_pretrained("mine")
    env = MetaworldConfig(task="reach-v3", **SMALL)
    assert evaluate("mine", env, n_episodes=1).episodes[0].key.policy.startswith("act-")


@pytest.mark.slow
def test_two_checkpoints_in_one_run_play_as_they_do_alone(tmp_path: Path) -> None:
    """They share the process's threads, and workers; the second reads another input, and is of another kind."""
    for name, policy in (("act", small_act(n_action_steps=5)), ("diffusion", small_diffusion(n_action_steps=6))):
        policy.save_pretrained(tmp_path / name)
    config = MetaworldConfig(task="reach-v3,push-v3", **SMALL)
    options: dict[str, Any] = {"n_episodes": 2, "batch_size": 3}
    run = evaluate(
        str(tmp_path / "act"), config, against=str(tmp_path / "diffusion"), output_dir=tmp_path / "run", **options
    )
    for name, folder in (("act", tmp_path / "run"), ("diffusion", tmp_path / "run" / "against")):
        alone = evaluate(str(tmp_path / name), config, output_dir=tmp_path / f"{name}-alone", **options)
        assert courses(folder) == courses(alone)
    assert run.against == tmp_path / "run" / "against"
