"""``yardarm serve``: from the command line to an answer, and away again."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest
from toy_world import MoverPolicy, ToyConfig

from tests.checkpoints import small_act, small_diffusion
from tests.helpers import start_yardarm, yardarm, yardarm_here
from tests.policies.remote.test_remote import what_happened
from tests.serve.running import OpenpiClient, running
from yardarm.api import evaluate
from yardarm.policies import ActionChunk, PolicySpec, Request, open_policy
from yardarm.serving import PolicyBackend
from yardarm.tasks.metaworld import MetaworldConfig

SMALL = MetaworldConfig(task="reach-v3", observation_height=32, observation_width=32, episode_length=20)


class Served:
    def __init__(self, *flags: object) -> None:
        self.process = start_yardarm("serve", "--port=0", *flags)
        assert self.process.stdout is not None
        self.first_line = self.process.stdout.readline()
        match = re.search(r"ws://\S+", self.first_line)
        assert match, self.process.communicate(timeout=30)[1]
        self.url = match[0]

    def stop(self, number: int = signal.SIGINT) -> tuple[str, str]:
        self.process.send_signal(number)
        return self.process.communicate(timeout=30)


@pytest.fixture
def act(tmp_path: Path) -> Iterator[tuple[Served, Path]]:
    small_act(32).save_pretrained(tmp_path / "act")
    served = Served(f"--policy.path={tmp_path / 'act'}")
    yield served, tmp_path / "act"
    if served.process.poll() is None:
        served.stop()


def test_a_checkpoint_is_served_and_evaluated_from_afar_with_the_same_result(
    act: tuple[Served, Path], tmp_path: Path
) -> None:
    served, folder = act
    home = evaluate(folder, SMALL, n_episodes=2, output_dir=tmp_path / "home")
    policy = PolicySpec("remote", {"url": served.url})
    away = evaluate(policy, SMALL, n_episodes=2, batch_size=2, output_dir=tmp_path / "away")
    assert what_happened(away) == what_happened(home)
    answer = yardarm(
        *("eval", "--policy.type=remote", f"--policy.url={served.url}", "--env.type=metaworld", "--env.task=reach-v3"),
        *("--env.observation_height=32", "--env.observation_width=32", "--env.episode_length=20"),
        *("--eval.n_episodes=1", f"--output_dir={tmp_path / 'cli'}"),
    )
    assert answer.returncode == 0, answer.stderr
    answer = yardarm(
        "eval", "--policy.type=remote", f"--policy.url={served.url}", "--env.type=metaworld", "--env.task=reach-v3"
    )
    assert answer.returncode == 2
    assert "add --env.observation_height=32 --env.observation_width=32" in answer.stderr
    out, err = served.stop()
    assert re.search(r"answered \d+ requests in \d+ batches, .* each; 0 errors", out), (out, err)
    assert served.process.returncode == 0


@pytest.mark.slow
def test_a_diffusion_with_its_history_is_served_with_the_same_result(tmp_path: Path) -> None:
    policy = small_diffusion(32)
    home = evaluate(policy, SMALL, n_episodes=2, output_dir=tmp_path / "home")
    with open_policy(policy) as loaded, running(PolicyBackend(loaded)) as server:
        away = evaluate(PolicySpec("remote", {"url": server.url}), SMALL, n_episodes=2, output_dir=tmp_path / "away")
    assert what_happened(away) == what_happened(home)


def test_a_policy_that_must_know_its_environment_is_told_by_the_servers_flags() -> None:
    served = Served("--policy.type=expert", "--env.type=metaworld", "--env.task=reach-v3")
    answer = OpenpiClient(served.url).infer({"observation.environment_state": np.zeros(39)})
    served.stop(signal.SIGTERM)
    assert answer["actions"].shape == (1, 4)


def test_a_clients_own_instruction_counts() -> None:
    class Listening(MoverPolicy):
        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            return [ActionChunk(np.full((1, 1), len(request.episode.task.instruction))) for request in requests]

    with open_policy(Listening()) as loaded:
        backend = PolicyBackend(loaded, ToyConfig().tasks()[0])
    with running(backend) as server:
        client = OpenpiClient(server.url)
        assert client.infer({"observation.state": np.zeros(2)})["actions"][0, 0] == len("Go left")
        assert client.infer({"observation.state": np.zeros(2), "prompt": "Stay"})["actions"][0, 0] == len("Stay")


def test_without_them_its_clients_are_told_what_is_missing() -> None:
    served = Served("--policy.type=random")
    client = OpenpiClient(served.url)
    with pytest.raises(RuntimeError, match=r"start the server with --env\.type and --env\.task"):
        client.infer({})
    served.stop()


def test_a_server_in_the_open_without_a_key_is_warned_of() -> None:
    served = Served("--policy.type=zero", "--host=0.0.0.0")
    _, err = served.stop()
    assert "anyone who can reach this port can use the policy; set --api_key" in err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--policy.type=zero", "--prot=1"], "unknown option '--prot'; did you mean 'port'? `yardarm serve --help`"),
        (["--policy.type=zero", "--port=99999"], "--port must be between 0 and 65535"),
        (["--policy.type=zero", "--max_batch_size=0"], "--max_batch_size must be positive"),
        (["--policy.type=zero", "--max_message_mb=inf"], "--max_message_mb must be less than"),
        (["--policy.type=zero", "--max_wait_time=60"], "--max_wait_time must be between 0 and 10"),
        (["--policy.type=zero", "--host=192.0.2.1"], "cannot listen on 192.0.2.1:8000"),
        (["--policy.type=zero", "8000"], "yardarm serve takes flags only"),
        ([], "--policy.path=CHECKPOINT or --policy.type is missing"),
    ],
)
def test_mistakes_are_one_line(flags: list[str], message: str) -> None:
    answer = yardarm_here("serve", *flags)
    assert answer.returncode == 2
    assert message in answer.stderr
    assert len(answer.stderr.splitlines()) == 1


def test_help_names_the_flags() -> None:
    text = yardarm_here("serve", "--help").stdout
    for flag in ("--policy.path", "--host", "--api_key", "--max_connections", "--max_message_mb", "--rename_map"):
        assert flag in text
