"""Policies behind a socket: the same episodes as at home, whatever happens to the connection."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from toy_world import MoverPolicy, ToyConfig

from tests.helpers import courses, journal_lines, wait_until, yardarm
from tests.policies.remote.servers import OpenpiServer, VlaEvalServer, open_server
from tests.serve.running import Running, running
from yardarm.api import evaluate
from yardarm.errors import ConnectionFault, PolicyFault, UsageError
from yardarm.policies import ActionChunk, Look, ObservationSpec, PolicySpec, Request, open_policy
from yardarm.policies.remote.connection import Address
from yardarm.policies.remote.protocols import dial
from yardarm.results import RunResult
from yardarm.serving import PolicyBackend
from yardarm.tasks.libero import LiberoConfig
from yardarm.tasks.metaworld import MetaworldConfig

SENT = {
    "state": "observation.state",
    "picture": {"from": "observation.image", "resize": [16, 16]},
    "prompt": "instruction",
}


def play(policy: Any, folder: Path, *, toy: ToyConfig | None = None, **options: Any) -> RunResult:
    options = {"n_episodes": 4, "batch_size": 3, **options}
    return evaluate(policy, toy or ToyConfig(), output_dir=folder, **options)


def remote(url: str, **options: Any) -> PolicySpec:
    return PolicySpec("remote", {"url": url, "timeout_s": 20, "patience_s": 20, **options})


def at_home(policy: Any) -> PolicyBackend:
    with open_policy(policy) as loaded:
        return PolicyBackend(loaded)


def what_happened(run: RunResult | Path) -> dict[Any, Any]:
    """Courses by task and index, whatever the policy is called."""
    return {
        (key.task, key.index): {name: value for name, value in course.items() if name != "policy"}
        for key, course in courses(run).items()
    }


class HistoryPolicy(MoverPolicy):
    """Reads the state at the last two steps of a chunk."""

    wants = ObservationSpec(inputs=("observation.state",), steps=2, shapes={"observation.state": (2,)})

    def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
        chunks = []
        for request in requests:
            speed = np.ptp([look.values["observation.state"][0] for look in request.looks])
            actions = np.full((3, 1), np.sign(request.observation["observation.state"][1]) * (1 - speed))
            chunks.append(ActionChunk(actions, {"observation.state": [2, 3]}))
        return chunks


@pytest.mark.parametrize("policy", [MoverPolicy(), HistoryPolicy()])
@pytest.mark.parametrize("batch_size", [1, 5])
def test_a_served_policy_plays_the_same_episodes_as_at_home(policy: Any, batch_size: int, tmp_path: Path) -> None:
    home = play(policy, tmp_path / "home")
    with running(at_home(policy)) as server:
        away = play(remote(server.url), tmp_path / "away", batch_size=batch_size)
    assert what_happened(away) == what_happened(home)
    assert away.counts.errors == 0


def test_a_server_that_is_killed_and_comes_back_costs_no_episode(tmp_path: Path) -> None:
    toy = ToyConfig(step_s=0.01)
    home = play(MoverPolicy(), tmp_path / "home", toy=toy, n_episodes=10)
    server = Running(at_home(MoverPolicy()))

    def kill_and_restart() -> None:
        for count in (2, 8):
            wait_until(lambda count=count: journal_lines(tmp_path / "away") >= count)
            server.stop()
            time.sleep(0.3)
            server.start()

    thread = threading.Thread(target=kill_and_restart)
    thread.start()
    away = play(remote(server.url), tmp_path / "away", toy=toy, n_episodes=10)
    thread.join()
    server.stop()
    assert what_happened(away) == what_happened(home)
    assert {record.attempts for record in away.episodes} > {1}, "some episodes had begun on a connection that died"


def test_a_server_that_stays_away_ends_the_run_and_what_is_finished_is_kept(tmp_path: Path) -> None:
    toy = ToyConfig(step_s=0.01)
    server = Running(at_home(MoverPolicy()))

    def kill() -> None:
        wait_until(lambda: journal_lines(tmp_path / "run") >= 2)
        server.stop()

    thread = threading.Thread(target=kill)
    thread.start()
    with pytest.raises(PolicyFault, match="for 1 s now; finished episodes are kept: start the server"):
        play(remote(server.url, patience_s=1), tmp_path / "run", toy=toy, n_episodes=20)
    thread.join()
    kept = journal_lines(tmp_path / "run")
    assert 2 <= kept < 40
    server.start()
    resumed = play(remote(server.url), tmp_path / "run", toy=toy, n_episodes=20)
    server.stop()
    assert resumed.counts.episodes == 40
    assert what_happened(resumed) == what_happened(play(MoverPolicy(), tmp_path / "home", toy=toy, n_episodes=20))


def test_an_answer_that_does_not_come_in_time_costs_an_attempt(tmp_path: Path) -> None:
    class Stuck(MoverPolicy):
        slow = threading.Event()

        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            is_real = requests[0].observation["observation.state"].any()
            if is_real and not self.slow.is_set():
                self.slow.set()
                time.sleep(1.5)
            return super().infer(requests)

    with running(at_home(Stuck())) as server:
        run = play(remote(server.url, timeout_s=1), tmp_path / "run")
    assert run.counts.episodes == 8
    assert what_happened(run) == what_happened(play(MoverPolicy(), tmp_path / "home"))


def test_a_server_that_serves_another_policy_when_it_comes_back_is_noticed(tmp_path: Path) -> None:
    toy = ToyConfig(step_s=0.01)
    server = Running(at_home(MoverPolicy()))

    def replace() -> None:
        wait_until(lambda: journal_lines(tmp_path / "run") >= 1)
        server.stop()
        server.backend = at_home(MoverPolicy(chunk=4))
        server.start()

    thread = threading.Thread(target=replace)
    thread.start()
    with pytest.raises(PolicyFault, match="has become another"):
        play(remote(server.url), tmp_path / "run", toy=toy, n_episodes=20)
    thread.join()
    server.stop()


def towards_goal(observation: dict[str, Any]) -> np.ndarray:
    position, goal = observation["state"]
    return np.full((10, 1), np.sign(goal - position), np.float32)


def test_any_openpi_server_is_sent_what_the_mapping_says_and_looked_at_when_it_replans(tmp_path: Path) -> None:
    with open_server(OpenpiServer, towards_goal) as server:
        run = play(remote(server.url, observations=SENT, replan=4), tmp_path / "run")
    assert run.counts.successes == 8
    looks = sum(-(-record.steps // 4) for record in run.episodes)
    assert len(server.seen) == looks + 1, "one look for every four steps, and one made-up one before"
    assert server.seen[1]["state"].shape == (2,)
    assert server.seen[1]["picture"].shape == (16, 16, 3)
    assert {observation["prompt"] for observation in server.seen} == {"Go left", "Go right"}
    assert server.connections <= 4


def test_any_vla_eval_server_is_told_of_episodes_and_asked_for_every_action(tmp_path: Path) -> None:
    def answer(observation: dict[str, Any]) -> np.ndarray:
        return np.sign(np.diff(observation["states"])).astype(np.float32)

    sent = {"images": {"front": "observation.image"}, "states": "observation.state", "task_description": "instruction"}
    with open_server(VlaEvalServer, answer) as server:
        run = play(remote(server.url, observations=sent), tmp_path / "run")
    assert run.counts.successes == 8
    assert len(server.seen) == sum(record.steps for record in run.episodes) + 1
    assert server.seen[1]["images"]["front"].shape == (8, 9, 3)
    assert server.events.count("episode_start") == server.events.count("episode_end") == 9


def test_the_protocol_is_found_even_if_an_openpi_server_is_slow_to_speak(tmp_path: Path) -> None:
    with open_server(OpenpiServer, towards_goal, silence_s=2.5) as server:
        run = play(remote(server.url, observations=SENT), tmp_path / "run", n_episodes=1, batch_size=1)
    assert run.counts.successes == 2


def test_what_a_server_raises_stops_the_run_with_its_words(tmp_path: Path) -> None:
    def fail_later(observation: dict[str, Any]) -> np.ndarray:
        if observation["state"][0] != 0:
            raise MemoryError("out of memory on the GPU")
        return towards_goal(observation)

    with (
        open_server(OpenpiServer, fail_later) as server,
        pytest.raises(PolicyFault, match=r"says:(?s:.)*out of memory on the GPU"),
    ):
        play(remote(server.url, observations=SENT), tmp_path / "run")

    def refuse(observation: dict[str, Any]) -> np.ndarray:
        raise ArithmeticError("not like this")

    with open_server(VlaEvalServer, refuse) as server, pytest.raises(UsageError, match="observation_failed: not like"):
        play(remote(server.url, observations=SENT), tmp_path / "other")


def test_actions_are_brought_into_the_environments_form(tmp_path: Path) -> None:
    def padded_and_reversed(observation: dict[str, Any]) -> np.ndarray:
        return np.concatenate([np.zeros((10, 2)), -10 * towards_goal(observation)], axis=1)

    mapping = {"take": [2], "scale": {0: -0.1}}
    with open_server(OpenpiServer, padded_and_reversed) as server:
        run = play(remote(server.url, observations=SENT, actions=mapping, replan=4), tmp_path / "run")
        with pytest.raises(
            UsageError, match=r"""actions of 3 numbers, 'left' of toy takes 1; if the first are meant"""
        ):
            play(remote(server.url, observations=SENT), tmp_path / "other")
    assert run.counts.successes == 8


def test_a_server_that_declares_other_actions_is_refused_unless_they_are_converted() -> None:
    spec = {"gripper": {"name": "gripper", "dims": 1, "format": "binary_close_negative"}}
    tasks = MetaworldConfig(task="reach-v3").tasks()
    with open_server(VlaEvalServer, lambda _: np.zeros(4, np.float32), hello={"action_spec": spec}) as server:
        with (
            pytest.raises(UsageError, match="its 'gripper' is binary_close_negative, metaworld's is binary_close_pos"),
            open_policy(remote(server.url, protocol="vla-eval"), tasks),
        ):
            pass
        for allowed in ({"check": False}, {"actions": {"scale": {3: -1}}}):
            with open_policy(remote(server.url, protocol="vla-eval", **allowed), tasks) as loaded:
                assert loaded.policy.wants.inputs == ("observation.image",), "it asks for no state, and gets none"


@pytest.mark.parametrize(
    ("params", "form", "complaint"),
    [
        ({"send_state": True}, "eef_pos3_quat4_gripper1", "it reads a state of eef_pos3_quat4_gripper1, libero's is"),
        ({}, "eef_pos3_axisangle3_gripper2", "but did not ask for one (send_state)"),
        ({"send_state": True}, "eef_pos3_axisangle3_gripper2", None),
        ({"send_state": True, "send_wrist_image": True}, "raw", None),
    ],
)
def test_a_server_that_reads_another_state_is_refused(params: Any, form: str, complaint: str | None) -> None:
    spec = {"state": {"name": "state", "dims": 8, "format": form}, "agentview": {"dims": 0, "format": "rgb_hwc_uint8"}}
    hello = {"observation_spec": spec, "observation_params": params}
    tasks = LiberoConfig(task="libero_spatial", task_ids=[0]).tasks()
    with open_server(VlaEvalServer, lambda _: np.zeros(7, np.float32), hello=hello) as server:
        if complaint is None:
            with open_policy(remote(server.url, protocol="vla-eval"), tasks) as loaded:
                assert ("observation.images.image2" in loaded.policy.wants.inputs) == ("send_wrist_image" in params)
            return
        policy = remote(server.url, protocol="vla-eval")
        with pytest.raises(UsageError, match=re.escape(complaint)), open_policy(policy, tasks):
            pass


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"url": "localhost:8000"}, "policy.url=localhost:8000 is no address of a server"),
        ({"url": "ws://me:secret@host:8000"}, "policy.url must hold no password"),
        ({"protocol": "openpy"}, "did you mean 'openpi'"),
        ({"replan": -1}, "policy.replan must be a number of at least 0, got -1"),
        ({"timeout_s": "soon"}, "policy.timeout_s must be a number"),
        ({"replan": 11}, "answers with 10 action(s) only, of which 11 were to be played: give policy.replan=10"),
        ({"observations": None}, "there is no preset for toy with openpi"),
        ({"observations": {"x": "observation.stat"}}, "did you mean 'observation.state'"),
        ({"observations": {"x": {"from": "observation.image", "rotate": 45}}}, "rotate must be 0, 90, 180 or 270"),
        (
            {"observations": {"x": {"from": "observation.image", "size": 3}}},
            "has no option 'size'; did you mean 'resize'",
        ),
        ({"observations": {"x": "observation.state[0:1] as quat"}}, "unknown form 'quat'"),
        ({"observations": {"x": {}}}, "'x' is empty"),
        ({"observations": {"x": {"form": "observation.image", "rotate": 90}}}, "'x' has no 'from'"),
        ({"observations": {"x": "instructions"}}, "did you mean 'instruction'"),
        ({"observations": {"x": "observation.state[1:3]"}}, "observation.state has 2 numbers, [1:3] is beyond them"),
        ({"observations": {"x": "observation.state[4:]"}}, "observation.state has 2 numbers, [4:] is beyond them"),
        ({"actions": {"flip": 3}}, "policy.actions has no option 'flip'"),
        ({"actions": {"take": [7]}}, "the server's actions have 1 numbers"),
        ({"rename_map": {"a": "b"}}, "rename_map is for servers that know Yardarm"),
    ],
)
def test_mistakes_are_told_before_anything_starts(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with open_server(OpenpiServer, towards_goal) as server, pytest.raises(UsageError) as error:
        play(PolicySpec("remote", {"url": server.url, "observations": SENT, **options}), tmp_path / "run")
    assert message in str(error.value)
    assert not (tmp_path / "run").exists()


def test_a_server_that_is_not_there_or_wants_a_key_is_told_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(UsageError, match="Connection refused; is the server running there"):
        play(remote("ws://127.0.0.1:9"), tmp_path / "run")
    with running(at_home(MoverPolicy()), api_key="sesame") as server:
        with pytest.raises(UsageError, match=r"wants a key: give policy\.api_key"):
            play(remote(server.url), tmp_path / "run")
        monkeypatch.setenv("YARDARM_API_KEY", "sesame")
        assert play(remote(server.url), tmp_path / "run").counts.episodes == 8


# Read as a number it would be another; and it is long enough not to be among the digits of a time by chance.
KEY = "00123456701234567"


@pytest.mark.parametrize("flag", [[f"--policy.api_key={KEY}"], ["--policy.api_key", KEY]])
def test_a_key_is_taken_as_it_is_and_not_written_down(flag: list[str], tmp_path: Path) -> None:
    with running(at_home(MoverPolicy()), api_key=KEY) as server:
        flags = ["--policy.type=remote", f"--policy.url={server.url}", "--env.type=toy", "--eval.n_episodes=1"]
        answer = yardarm("eval", *flags, *flag, f"--output_dir={tmp_path / 'run'}")
    assert answer.returncode == 0, answer.stderr
    texts = [file.read_text() for file in (tmp_path / "run").iterdir() if file.is_file()]
    assert texts
    assert not any(KEY in text for text in texts)


def test_a_mistake_leaves_no_connection_behind(tmp_path: Path) -> None:
    backend = at_home(HistoryPolicy())
    object.__setattr__(backend.contract, "action_size", 5)
    with running(backend) as server:
        for _ in range(3):
            with pytest.raises(UsageError, match="actions have 5 numbers"):
                play(remote(server.url), tmp_path / "run")
            with pytest.raises(UsageError, match="rename_map renames 'a' to 'b', which the policy does not read"):
                play(remote(server.url, rename_map={"a": "b"}), tmp_path / "run")
        config = server.url.replace("ws", "http", 1) + "/config"
        wait_until(lambda: json.load(urllib.request.urlopen(config))["connections"] == 0)


def test_another_mapping_is_another_policy_whatever_its_name(tmp_path: Path) -> None:
    with open_server(OpenpiServer, towards_goal) as server:
        first = play(remote(server.url, observations=SENT, name="mine", replan=4), tmp_path / "run", n_episodes=1)
        with pytest.raises(UsageError, match="mine-"):
            play(remote(server.url, observations=SENT, name="mine", replan=5), tmp_path / "run", n_episodes=1)
    assert first.episodes[0].key.policy.startswith("mine-")


def test_a_server_that_fails_on_a_made_up_look_is_told_before_anything_starts(tmp_path: Path) -> None:
    class Broken(MoverPolicy):
        def infer(self, requests: Sequence[Request]) -> list[ActionChunk]:
            raise RuntimeError("no weights")

    with running(at_home(Broken())) as server, pytest.raises(UsageError, match="RuntimeError: no weights"):
        play(remote(server.url), tmp_path / "run")
    with open_server(OpenpiServer, towards_goal) as server:
        server.answer = lambda _: (_ for _ in ()).throw(ValueError("not like this"))
        with pytest.raises(UsageError, match="ValueError: not like this"):
            play(remote(server.url, observations=SENT), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_proxy_for_the_world_is_not_asked_for_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with running(at_home(MoverPolicy())) as server:
        assert play(remote(server.url), tmp_path / "run", n_episodes=1).counts.episodes == 2


def test_a_server_that_stops_reading_is_given_up_in_time() -> None:
    enough = threading.Event()

    def read_nothing(socket: Any) -> None:
        socket.send(msgpack.packb({}))
        enough.wait(20)

    with open_server(OpenpiServer, towards_goal) as server:
        server.converse = read_nothing
        connection = dial(Address(server.url, timeout_s=1), "openpi")
        started = time.perf_counter()
        with pytest.raises(ConnectionFault):
            connection.ask([Look(0, {"image": np.zeros((5000, 5000, 3), np.uint8)})], "")
        assert time.perf_counter() - started < 10
        connection.close()
        enough.set()


def test_no_more_episodes_run_at_once_than_the_server_takes(tmp_path: Path) -> None:
    backend = at_home(MoverPolicy())
    object.__setattr__(backend.contract, "episodes", 1)
    with running(backend) as server:
        run = play(remote(server.url), tmp_path / "run", batch_size=4)
    assert run.counts.episodes == 8
    home = play(MoverPolicy(), tmp_path / "home")
    assert what_happened(run) == what_happened(home)
