"""What is refused before any cluster is started."""

from __future__ import annotations

import socket
import threading
import time
from pathlib import Path

import pytest
import yaml

from tests.helpers import yardarm_here
from yardarm.cluster import RayOptions
from yardarm.evaluation import config_from_data, config_to_data

TOY = ["eval", "--policy.type=toy_world:SlowlyPolicy", "--env.type=toy", "--eval.n_episodes=1"]


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--ray.address=here:6379"], "--ray.… is for --runner=ray"),
        (["--runner=rey"], "did you mean 'ray'?"),
        (["--runner=ray", "--ray.policy_replicas=-1"], "--ray.policy_replicas must not be negative"),
        (["--runner=ray", "--eval.use_async_envs=false"], "--eval.use_async_envs=false keeps the simulator in this"),
        (["--runner=ray", "--ray.address=ray://head:10001"], "must be host:port"),
        (["--runner=ray", "--ray.adress=head:6379"], "did you mean 'address'?"),
    ],
)
def test_a_mistake_is_told_in_one_line(flags: list[str], complaint: str) -> None:
    answer = yardarm_here(*TOY, *flags)
    assert answer.returncode == 2
    assert complaint in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_an_address_at_which_nobody_listens_is_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    started = time.monotonic()
    answer = yardarm_here(*TOY, "--runner=ray", f"--ray.address={address}")
    assert answer.returncode == 2
    assert f"--ray.address={address} does not answer" in answer.stderr
    assert time.monotonic() - started < 10
    monkeypatch.setenv("RAY_ADDRESS", address)
    assert f"RAY_ADDRESS={address} does not answer" in yardarm_here(*TOY, "--runner=ray").stderr


def test_an_address_of_something_else_is_told_at_once() -> None:
    def greet(server: socket.socket) -> None:
        connection, _ = server.accept()
        with connection:
            connection.sendall(b"SSH-2.0-OpenSSH\r\n")

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=greet, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        answer = yardarm_here(*TOY, "--runner=ray", f"--ray.address={address}")
    assert answer.returncode == 2
    assert "is not a Ray cluster: something else listens there" in answer.stderr


def test_what_cannot_be_replayed_is_not_filmed_on_nodes() -> None:
    answer = yardarm_here(*TOY, "--runner=ray", "--eval.videos=1", "--env.replayable=false")
    assert answer.returncode == 2
    assert "'left' cannot be replayed" in answer.stderr


def test_the_configuration_keeps_its_runner(tmp_path: Path) -> None:
    data = {"policy": {"type": "zero"}, "env": {"type": "toy"}, "runner": "ray", "ray": {"address": "head:6379"}}
    config = config_from_data({**data, "trust_remote_code": True})
    assert config.ray == RayOptions(address="head:6379")
    stored = yaml.safe_load(yaml.safe_dump(config_to_data(config)))
    assert config_from_data({**stored, "trust_remote_code": True}).ray == config.ray
