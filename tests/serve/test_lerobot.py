"""LeRobot's policies behind a server in a Python of their own, shown with a stand-in that has LeRobot's interface."""

from __future__ import annotations

import json
import os
import random
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from toy_world import ToyConfig

from tests.helpers import assert_all_gone, courses, descendants, path_with, start_yardarm, wait_until, yardarm
from yardarm.api import evaluate
from yardarm.errors import UsageError
from yardarm.policies import PolicySpec
from yardarm.results import RunResult
from yardarm_serve import BackendError, Episode, Look, Request

STANDIN = Path(__file__).parent / "standin"
MakeCheckpoint = Callable[..., Path]


@pytest.fixture(autouse=True)
def _with_the_stand_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("PYTHONPATH", path_with(STANDIN))
    monkeypatch.syspath_prepend(STANDIN)
    yield
    for name in [name for name in sys.modules if name.partition(".")[0] == "lerobot"]:
        del sys.modules[name]


@pytest.fixture
def checkpoint(tmp_path: Path) -> MakeCheckpoint:
    def make(kind: str, **options: Any) -> Path:
        folder = tmp_path / "checkpoints" / kind
        folder.mkdir(parents=True, exist_ok=True)
        inputs = {
            "observation.state": {"type": "STATE", "shape": [2]},
            "observation.image": {"type": "VISUAL", "shape": [3, 8, 9]},
            "observation.images.empty_camera_0": {"type": "VISUAL", "shape": [3, 8, 9]},
        }
        config = {
            "type": kind,
            "input_features": inputs,
            "output_features": {"action": {"type": "ACTION", "shape": [1]}},
        }
        (folder / "policy_preprocessor.json").write_text("{}")
        weights = {"gain": torch.tensor([0.9]), "bias": torch.zeros(1)}
        lacking = options.pop("lacking", ())
        kept = {name: value for name, value in weights.items() if name not in lacking}
        save_file(kept, folder / "model.safetensors")
        (folder / "config.json").write_text(json.dumps({**config, **options}))
        return folder

    return make


def play(folder: Path, output: Path, **options: Any) -> RunResult:
    own = {name: options.pop(name) for name in ("max_batch_size", "n_action_steps", "type", "toy") if name in options}
    toy = own.pop("toy", ToyConfig())
    policy = PolicySpec("lerobot", {"path": str(folder), "python": sys.executable, **own})
    return evaluate(policy, toy, output_dir=output, **{"n_episodes": 4, "batch_size": 4, **options})


def session(run: RunResult) -> dict[str, Any]:
    return json.loads((run.path / "manifest.json").read_text())["sessions"][-1]


def test_a_type_that_keeps_nothing_is_batched_over_episodes(checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    folder = checkpoint("smolvla")
    together = play(folder, tmp_path / "together")
    assert (together.counts.episodes, together.counts.errors) == (8, 0)
    assert together.counts.successes > 0
    contract = session(together)["policy"]["declared"]["yardarm"]
    assert contract["about"]["mode"] == "batched"
    assert contract["inputs"]["observation.image"] is None, "it takes images of any size"
    assert "observation.images.empty_camera_0" not in contract["inputs"]
    alone = play(folder, tmp_path / "alone", batch_size=1)
    assert courses(alone).keys() == courses(together).keys(), "a checkpoint is named by its content"
    for key, course in courses(alone).items():
        assert course["steps"] == courses(together)[key]["steps"], "each episode has noise of its own"


def test_a_type_that_reads_its_queues_has_them_swapped(checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    folder = checkpoint("vqbet", n_obs_steps=2)
    together = play(folder, tmp_path / "together")
    assert session(together)["policy"]["declared"]["yardarm"]["about"]["mode"] == "swapped"
    assert courses(together) == courses(play(folder, tmp_path / "alone", batch_size=1))


def test_a_type_that_nobody_knows_serves_one_episode_at_a_time(checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    run = play(checkpoint("novel"), tmp_path / "run")
    assert session(run)["batch_size"] == 1
    assert run.counts.successes == 8


@pytest.mark.parametrize("kind", ["smolvla", "vqbet", "novel"])
@pytest.mark.parametrize("order", [0, 1])
def test_interleaved_episodes_get_the_actions_of_lerobots_own_loop(
    kind: str, order: int, checkpoint: MakeCheckpoint
) -> None:
    from yardarm_serve.lerobot import LeRobotBackend

    backend = LeRobotBackend(str(checkpoint(kind, n_obs_steps=2 if kind == "vqbet" else 1)), device="cpu")
    rng = np.random.default_rng(3)
    states = rng.normal(size=(3, 30, 2)).astype(np.float32)
    images = rng.integers(0, 256, (3, 30, 8, 9, 3), np.uint8)

    def look(episode: int, step: int) -> Look:
        return Look(step, {"observation.state": states[episode, step], "observation.image": images[episode, step]})

    expected = [lockstep(backend, [look(episode, step) for step in range(24)], episode) for episode in range(3)]
    memories: list[Any] = [None, None, None]
    looks = [[look(episode, 0)] for episode in range(3)]
    actions: list[list[np.ndarray]] = [[], [], []]
    choices = random.Random(order)
    while waiting := [episode for episode in range(3) if len(actions[episode]) < 24]:
        episode = waiting[0] if backend.contract.episodes == 1 else choices.choice(waiting)
        spec = Episode(seed=episode)
        if memories[episode] is None:
            memories[episode] = backend.start(spec)
        (answer,) = backend.infer([Request(spec, memories[episode], looks[episode])])
        played = len(actions[episode])
        actions[episode] += list(answer.actions)
        offsets = answer.looks.get("observation.state", [len(answer.actions)])
        looks[episode] = [look(episode, played + offset) for offset in offsets]
    for episode in range(3):
        np.testing.assert_allclose(actions[episode][:24], expected[episode], atol=1e-6)


def lockstep(backend: Any, looks: list[Look], seed: int) -> np.ndarray:
    """As lerobot-eval plays an episode: `select_action` after every step."""
    loaded = backend._loaded
    loaded.policy.reset()
    torch.manual_seed(seed)
    actions = []
    for look in looks:
        image = torch.from_numpy(look.values["observation.image"]).permute(2, 0, 1)[None].float() / 255
        state = torch.from_numpy(look.values["observation.state"])[None]
        batch = loaded.preprocessor({"observation.image": image, "observation.state": state, "task": [""]})
        with torch.inference_mode():
            actions.append(loaded.postprocessor(loaded.policy.select_action(batch)).numpy()[0])
    return np.array(actions)


def test_a_server_that_dies_is_started_again_and_nothing_is_lost(checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    mark = tmp_path / "died"
    folder = checkpoint("vqbet", n_obs_steps=2, breaks="process", extra={"mark": str(mark)})
    run = play(folder, tmp_path / "run")
    assert mark.exists()
    assert (run.counts.episodes, run.counts.errors) == (8, 0)
    assert not [process for process in descendants(os.getpid()) if "yardarm_serve" in " ".join(process.cmdline())]


def test_the_server_ends_with_a_run_that_is_killed(checkpoint: MakeCheckpoint, tmp_path: Path) -> None:
    flags = [f"--policy.path={checkpoint('vqbet')}", f"--policy.python={sys.executable}", "--env.type=toy"]
    process = start_yardarm("eval", *flags, "--env.step_s=0.05", f"--output_dir={tmp_path / 'run'}")
    wait_until(lambda: (tmp_path / "run" / "manifest.json").exists())
    children = descendants(process.pid)
    assert any("--backend=lerobot" in child.cmdline() for child in children)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    assert_all_gone(children)


@pytest.mark.parametrize(
    ("kind", "options", "flags", "message"),
    [
        ("sarm", {}, {}, "has the type 'sarm', which rates observations and has no actions"),
        ("vqbet", {}, {"n_action_step": 2}, "has no such field; did you mean 'n_action_steps'?"),
        ("vqbet", {}, {"type": "act"}, "--policy.type=act: "),
        ("vqbet", {}, {"device": "tpu"}, "--policy.device=tpu cannot be used here"),
        ("vqbet", {"colour": 3}, {}, "cannot be read by this LeRobot: TypeError"),
        ("vqbet", {"breaks": "weights"}, {}, "LeRobot did not load 'gain'"),
        ("vqbet", {"lacking": ["bias"]}, {}, "LeRobot did not load 'bias' from it, and used other weights instead"),
        ("vqbet", {"lacking": ["bias", "gain"]}, {}, "LeRobot loaded none of its tensors"),
        ("vqbet", {"breaks": "loader"}, {}, "cannot be loaded by this LeRobot: LookupError: nobody expects this error"),
        (
            "vqbet",
            {},
            {"n_action_steps": 9},
            "--policy.n_action_steps=9 is not valid: ValueError: n_action_steps 9 must",
        ),
        ("vqbet", {}, {"n_action_steps": "three"}, "--policy.n_action_steps=three is not valid: TypeError"),
        ("vqbet", {}, {"from_pretrained": 3}, "has no such field"),
        ("vqbet", {"input_features": {}}, {}, "does not list the policy's inputs and its action"),
        ("vqbet", {}, {"path": "/nowhere"}, "there is no such folder, and it is not a Hub id"),
        ("vqbet", {}, {"path": ""}, "--policy.path=… is missing"),
    ],
)
def test_what_cannot_be_loaded_is_told_in_one_line(
    kind: str, options: Any, flags: dict[str, Any], message: str, checkpoint: MakeCheckpoint
) -> None:
    from yardarm_serve.lerobot import LeRobotBackend

    with pytest.raises(BackendError) as error:
        LeRobotBackend(**{"path": str(checkpoint(kind, **options)), **flags})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--policy.n_action_step=2", "has no such field; did you mean 'n_action_steps'?"),
        ("--policy.python=/no/python", "--policy.python=/no/python cannot be run: No such file"),
    ],
)
def test_mistakes_reach_the_user_as_one_line(flag: str, message: str, checkpoint: MakeCheckpoint) -> None:
    flags = [f"--policy.path={checkpoint('vqbet')}", f"--policy.python={sys.executable}", "--env.type=toy"]
    answer = yardarm("eval", *(word for word in flags if word.partition("=")[0] != flag.partition("=")[0]), flag)
    assert answer.returncode == 2, answer.stderr
    assert message in answer.stderr
    assert len(answer.stderr.strip().splitlines()) == 1


def test_an_environment_without_lerobot_is_named(
    checkpoint: MakeCheckpoint, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = checkpoint("vqbet")
    monkeypatch.delenv("PYTHONPATH")
    with pytest.raises(UsageError, match="is no Python of an environment that has LeRobot: it has no lerobot"):
        play(folder, tmp_path / "run")
