"""One port, two protocols, many clients: who does harm harms nobody else."""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import re
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import msgpack
import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.helpers import wait_until
from tests.serve.running import Doubler, OpenpiClient, VlaEvalClient, opened, running
from yardarm_serve import Answer, BackendError, Episode, Request, ServerConfig, serve
from yardarm_serve.batching import Batcher, Limits

HERE = np.array([1.0, 2.0], np.float32)


def seen(**more: Any) -> dict[str, Any]:
    return {"observation/state": HERE, "prompt": "Push the puck", **more}


def test_openpis_client_gets_metadata_and_chunks() -> None:
    with running(Doubler()) as server:
        client = OpenpiClient(server.url)
        assert client.metadata["yardarm"]["id"] == "doubler"
        first, second = client.infer(seen()), client.infer(seen())
    assert first["actions"].tolist() == [[2, 4], [1, 1]]
    assert second["actions"].tolist() == [[2, 4], [2, 2]], "a connection is an episode"
    assert first["server_timing"].keys() == {"infer_ms"}
    assert second["server_timing"].keys() == {"infer_ms", "prev_total_ms"}
    assert server.backend.episodes == [Episode("Push the puck")]  # type: ignore[attr-defined]


def test_openpis_client_can_begin_a_new_episode() -> None:
    with running(Doubler()) as server:
        client = OpenpiClient(server.url)
        counts = [client.infer(seen(**{"yardarm/reset": reset}))["actions"][1, 0] for reset in (False, False, True)]
    assert counts == [1, 2, 1]


def test_vla_evals_client_gets_one_action_at_a_time() -> None:
    with running(Doubler()) as server:
        client = VlaEvalClient(server.url)
        assert client.hello["payload"]["protocol_version"] == 1
        assert client.hello["payload"]["observation_params"] == {"send_state": True}
        client.send("episode_start", task={"name": "Push the puck", "suite": "toys", "episode_idx": 3})
        actions = []
        for step in range(4):
            state = HERE + step
            reply = client.exchange("observation", images={}, states=state, task_description="Push the puck")
            assert (reply["type"], reply["seq"]) == ("action", client.seq)
            actions.append(reply["payload"]["actions"].tolist())
        client.send("episode_end", metrics={"success": True}, steps=4, elapsed_sec=1.0)
    assert actions == [[2, 4], [1, 1], [6, 8], [2, 2]], "the chunk stays with the server, and is asked for when it ends"
    assert server.backend.episodes[0].index == 3  # type: ignore[attr-defined]


class Pairs(Doubler):
    """Answers with three actions, and looks after the last two; each action names the steps of the looks before."""

    def infer(self, requests: Any) -> list[Answer]:
        steps = [[look.step for look in request.looks] for request in requests]
        return [Answer(np.array([[seen[0], seen[-1]]] * 3), {"observation.state": [2, 3]}) for seen in steps]


def test_a_policy_that_looks_several_times_gets_those_looks_of_vla_evals_client() -> None:
    with running(Pairs(steps=2)) as server:
        client = VlaEvalClient(server.url)
        client.send("episode_start", task={"name": "x"})
        actions = [client.exchange("observation", images={}, states=HERE)["payload"]["actions"] for _ in range(7)]
    assert actions[0].tolist() == [0, 0]
    assert actions[3].tolist() == [2, 3]
    assert actions[6].tolist() == [5, 6]


def test_history_may_be_stacked_and_a_single_look_stands_for_all_of_it() -> None:
    class Sum(Doubler):
        def infer(self, requests: Any) -> list[Answer]:
            return [
                Answer(np.sum([look.values["observation.state"] for look in request.looks], axis=0)[None])
                for request in requests
            ]

    with running(Sum(steps=3)) as server:
        client = OpenpiClient(server.url)
        stacked = client.infer({"observation.state": np.stack([HERE, 2 * HERE, 3 * HERE])})
        single = client.infer({"observation.state": HERE})
    assert stacked["actions"].tolist() == [[6, 12]]
    assert single["actions"].tolist() == [[3, 6]]


def test_requests_that_wait_are_answered_together() -> None:
    backend = Doubler(pause_s=0.1)
    with running(backend) as server:
        clients = [OpenpiClient(server.url) for _ in range(9)]
        with concurrent.futures.ThreadPoolExecutor(9) as pool:
            answers = list(
                pool.map(lambda item: item[1].infer({"observation.state": HERE * item[0]}), enumerate(clients))
            )
    assert [answer["actions"][0].tolist() for answer in answers] == [[2 * i, 4 * i] for i in range(9)]
    assert sum(backend.batches) == 9
    assert len(backend.batches) <= 4, "the first runs alone, the others wait and go together"


def test_clients_that_ask_together_are_waited_for() -> None:
    backend = Doubler(pause_s=0.01)
    with running(backend, limits=Limits(max_wait_time=5.0)) as server:
        clients = [OpenpiClient(server.url) for _ in range(6)]
        with concurrent.futures.ThreadPoolExecutor(6) as pool:
            for _ in range(4):
                list(pool.map(lambda client: client.infer({"observation.state": HERE}), clients))
    assert backend.batches == [6, 6, 6, 6], "when all have asked, the wait is over"


def test_nobody_is_waited_for_if_there_is_nobody_else() -> None:
    with running(Doubler(), limits=Limits(max_wait_time=5.0)) as server:
        client = OpenpiClient(server.url)
        started = time.perf_counter()
        client.infer({"observation.state": HERE})
    assert time.perf_counter() - started < 4


@pytest.mark.parametrize(
    ("gains", "limits", "last_s", "wait_s"),
    [
        (True, Limits(), 1.0, 0.1),
        (True, Limits(), 600.0, 0.25),
        (True, Limits(max_wait_time=0.5), 1.0, 0.5),
        (False, Limits(), 1.0, 0.0),
    ],
)
def test_a_wait_is_a_tenth_of_the_last_batch_where_it_helps(
    gains: bool, limits: Limits, last_s: float, wait_s: float
) -> None:
    backend = Doubler()
    backend.gains_from_batches = gains  # type: ignore[attr-defined]
    batcher = Batcher(backend, limits)
    batcher._last_s = last_s
    assert batcher._patience_s() == pytest.approx(wait_s)


MISTAKES = [
    ("no msgpack", b"\xc1", "not a valid msgpack"),
    ("no map", msgpack.packb([1, 2]), "an observation must be a map"),
    ("a wrong shape", {"observation.state": np.zeros(3)}, r"'observation\.state' has the shape \(3,\)"),
    ("a missing input", {"other": np.zeros(2)}, r"the policy's input 'observation\.state' is missing"),
    ("text for numbers", {"observation.state": np.array(["a", "b"])}, "must be numbers"),
    (
        "what the policy fails on",
        {"observation.state": np.array([1e7, 0])},
        "(?s)Traceback.*RuntimeError: too far away",
    ),
    ("half a look of Yardarm's", {"yardarm": {"looks": [[0]]}}, "not a valid look of a Yardarm client"),
    ("no look at all", {"yardarm": {"begin": {}, "looks": []}}, "the request has no looks"),
    ("a first look without an input", {"yardarm": {"begin": {}, "looks": [[0, {}]]}}, "is missing; the policy reads"),
    ("a look before an episode", {"yardarm": {"looks": [[0, {"observation.state": np.zeros(2)}]]}}, "no episode"),
]


@pytest.mark.parametrize(("what", "message", "reason"), MISTAKES, ids=[mistake[0] for mistake in MISTAKES])
def test_a_bad_frame_gets_an_error_and_harms_nobody_else(what: str, message: Any, reason: str) -> None:
    with running(Doubler()) as server:
        good, bad, other = OpenpiClient(server.url), OpenpiClient(server.url), VlaEvalClient(server.url)
        with pytest.raises(RuntimeError, match=reason):
            bad.infer(message)
        with pytest.raises(ConnectionClosed) as closed:
            bad.receive()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1011
        assert good.infer(seen())["actions"][0].tolist() == [2, 4]
        assert other.exchange("observation", images={}, states=HERE)["type"] == "action"


def test_one_clients_mistake_in_a_batch_is_one_clients_error() -> None:
    backend = Doubler(pause_s=0.1)
    with running(backend) as server:
        clients = [OpenpiClient(server.url) for _ in range(5)]

        def ask(number: int) -> Any:
            state = np.array([1e7, 0]) if number == 3 else HERE
            try:
                return clients[number].infer({"observation.state": state})["actions"][0].tolist()
            except RuntimeError as error:
                return str(error).splitlines()[-1]

        with concurrent.futures.ThreadPoolExecutor(5) as pool:
            answers = list(pool.map(ask, range(5)))
    assert max(backend.batches) > 1
    assert answers == [[2, 4], [2, 4], [2, 4], "RuntimeError: too far away", [2, 4]]


def test_vla_evals_client_is_told_of_errors_and_goes_on() -> None:
    with running(Doubler()) as server:
        client = VlaEvalClient(server.url)
        for message in ({"states": np.zeros(5)}, {"states": np.array([1e7, 0])}):
            reply = client.exchange("observation", images={}, **message)
            assert (reply["type"], reply["seq"]) == ("error", client.seq)
        client.socket.send(b"\xc1")
        assert client.receive()["type"] == "error"
        assert client.exchange("nonsense")["type"] == "error"
        assert client.exchange("observation", images={}, states=HERE)["type"] == "action"


def test_a_message_over_the_limit_ends_its_connection_only() -> None:
    with running(Doubler(), max_message_mb=0.01) as server:
        good, bad = OpenpiClient(server.url), OpenpiClient(server.url)
        with pytest.raises(ConnectionClosed) as closed:
            bad.infer(seen(image=np.zeros(20_000, np.uint8)))
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009
        assert good.infer(seen())["actions"].shape == (2, 2)


def test_further_clients_are_turned_away() -> None:
    with running(Doubler(), max_connections=2) as server:
        clients = [OpenpiClient(server.url) for _ in range(2)]
        with pytest.raises(InvalidStatus, match="503"):
            OpenpiClient(server.url)
        clients[0].socket.close()
        with contextlib.suppress(InvalidStatus):
            wait_until(lambda: _connections(server.url) < 2)
        assert OpenpiClient(server.url).infer(seen())["actions"].shape == (2, 2)


def test_a_key_is_asked_for_when_there_is_one() -> None:
    with running(Doubler(), api_key="sesame") as server:
        for headers in ({}, {"Authorization": "Api-Key wrong"}, {"Authorization": "sesame"}):
            with pytest.raises(InvalidStatus, match="401"):
                OpenpiClient(server.url, **headers)
        with pytest.raises(InvalidStatus, match="401"):
            opened(server.url, additional_headers=[("Authorization", "a"), ("Authorization", "b")])
        assert OpenpiClient(server.url, Authorization="Api-Key sesame").infer(seen())["actions"].shape == (2, 2)
        assert _get(server.url, "/healthz") == "OK\n"
        with pytest.raises(urllib.error.HTTPError, match="401"):
            _get(server.url, "/config")


def test_a_page_in_a_browser_is_no_client() -> None:
    with running(Doubler()) as server, pytest.raises(InvalidStatus, match="403"):
        opened(server.url, origin="http://evil.example")


def test_health_and_settings_are_told_over_http() -> None:
    with running(Doubler()) as server:
        OpenpiClient(server.url).infer(seen())
        assert _get(server.url, "/healthz") == "OK\n"
        assert json.loads(_get(server.url, "/health")) == {"status": "ok"}
        answer = json.loads(_get(server.url, "/config?max_batch_size=3&max_wait_time=x&colour=red"))
        assert answer["applied"] == {"max_batch_size": 3}
        assert answer["config"]["max_batch_size"] == 3
        assert len(answer["errors"]) == 2
        assert (answer["requests"], answer["batches"]) == (1, {"1": 1})


def test_a_policy_for_one_episode_serves_one_after_the_other() -> None:
    with running(Doubler(episodes=1)) as server:
        first, second = OpenpiClient(server.url), OpenpiClient(server.url)
        assert first.infer(seen())["actions"][1, 0] == 1
        answers: list[Any] = []
        waiting = threading.Thread(target=lambda: answers.append(second.infer(seen())))
        waiting.start()
        assert first.infer(seen())["actions"][1, 0] == 2
        assert not answers
        first.socket.close()
        waiting.join(10)
    assert answers[0]["actions"][1, 0] == 1


def test_a_client_that_leaves_in_the_middle_is_forgotten() -> None:
    backend = Doubler(pause_s=0.2)
    with running(backend) as server:
        client = OpenpiClient(server.url)
        client.socket.send(msgpack.packb({"observation.state": [1.0, 2.0]}))
        client.socket.socket.close()
        assert OpenpiClient(server.url).infer(seen())["actions"].shape == (2, 2)
        wait_until(lambda: _connections(server.url) <= 1)


def test_names_of_cameras_are_found_or_asked_for() -> None:
    class Grey(Doubler):
        def infer(self, requests: Any) -> list[Answer]:
            return [Answer(_greys(request)) for request in requests]

    def _greys(request: Request) -> np.ndarray:
        return np.array([[float(request.looks[-1].values[name].mean()) for name in names]])

    def picture(grey: int) -> np.ndarray:
        return np.full((4, 4, 3), grey, np.uint8)

    names = ("observation.images.image", "observation.images.image2")
    inputs = dict.fromkeys(names, (4, 4, 3))
    with running(Grey(inputs=inputs, images=names)) as server:
        client = OpenpiClient(server.url)
        sent = {"observation/image": picture(1), "observation/wrist_image": picture(2)}
        assert client.infer(sent)["actions"].tolist() == [[1, 2]]
        other = VlaEvalClient(server.url)
        reply = other.exchange("observation", images={"wrist": picture(4), "agentview": picture(3)})
        assert reply["payload"]["actions"].tolist() == [3, 4]
        with pytest.raises(RuntimeError, match=r"""--rename_map='\{"your name": "observation\.images\.image"\}'"""):
            client.infer({"left": picture(1), "right": picture(2)})
    renaming = {"left": names[0], "right": names[1]}
    with running(Grey(inputs=inputs, images=names), rename_map=renaming) as server:
        sent = {"left": picture(5), "right": picture(6)}
        assert OpenpiClient(server.url).infer(sent)["actions"].tolist() == [[5, 6]]
        with pytest.raises(RuntimeError, match="must be bytes"):
            OpenpiClient(server.url).infer({**sent, "left": picture(5).astype(np.float32)})


@pytest.mark.parametrize("answer", [None, [[1, 2], [3]], [["a", "b"]], [[np.nan, 1]], [1, 2]])
def test_an_odd_answer_is_an_error_for_who_asked_and_for_nobody_else(answer: Any) -> None:
    class Odd(Doubler):
        def _answer(self, request: Request) -> Answer:
            return Answer(answer) if request.looks[-1].values["observation.state"][0] > 9 else super()._answer(request)

    with running(Odd()) as server:
        good, bad = OpenpiClient(server.url), OpenpiClient(server.url)
        with pytest.raises(RuntimeError, match="the policy's actions"):
            bad.infer({"observation.state": np.array([10.0, 0])})
        assert good.infer(seen())["actions"][0].tolist() == [2, 4]


def test_what_makes_no_sense_is_refused_when_a_server_starts() -> None:
    with pytest.raises(BackendError, match=r"the contract's images have 'observation\.image', which is not one of"):
        Doubler(images=("observation.image",))
    with pytest.raises(BackendError, match=r"renames 'cam' to 'observation\.top', which the policy does not read"):
        asyncio.run(serve(Doubler(), ServerConfig(port=0, rename_map={"cam": "observation.top"}), version="1"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--backend=mine:Bare"], "--backend=mine:Bare has no contract"),
        (["--backend=mine:Failing"], "--backend=mine:Failing cannot be created: ValueError: weights not found"),
        (["--backend=mine:Nothing"], "--backend=mine:Nothing cannot be imported"),
        (["--backend=mine"], "unknown --backend=mine; use lerobot, or package.module:Name"),
        (["--backend=mine:Bare", "--policy.gain", "3"], "'--policy.gain' needs a value: --policy.gain=…"),
        (["--backend=mine:Bare", "--prot=3"], "unknown argument '--prot=3'"),
        (["--backend=mine:Bare", "--max_message_mb=nan"], "--max_message_mb must be positive"),
    ],
)
def test_yardarm_serve_tells_mistakes_in_a_last_line(words: list[str], message: str, tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "class Bare: pass\nclass Failing:\n    def __init__(self): raise ValueError('weights not found')\n"
    )
    answer = subprocess.run(
        [sys.executable, "-m", "yardarm_serve", *words], cwd=tmp_path, capture_output=True, text=True, timeout=60
    )
    assert answer.returncode == 2
    assert message in answer.stderr.strip().splitlines()[-1]


def test_a_policy_that_ends_itself_does_not_end_the_server() -> None:
    class Leaving(Doubler):
        def start(self, episode: Episode) -> Any:
            raise SystemExit(3)

    with running(Leaving()) as server:
        for _ in range(2):
            with pytest.raises(RuntimeError, match="SystemExit"):
                OpenpiClient(server.url).infer(seen())


def test_who_shared_a_batch_with_a_failure_goes_on_from_where_it_was() -> None:
    class Counting(Doubler):
        def _answer(self, request: Request) -> Answer:
            request.state[0] += 1  # before it can fail
            if request.looks[-1].values["observation.state"][0] > 1e6:
                raise RuntimeError("too far away")
            return Answer(np.array([[request.state[0]] * 2]))

    backend = Counting(pause_s=0.05)
    with running(backend, limits=Limits(max_wait_time=5.0)) as server:
        good, bad = OpenpiClient(server.url), OpenpiClient(server.url)
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            first = pool.submit(good.infer, seen())
            second = pool.submit(bad.infer, {"observation.state": np.array([1e7, 0])})
            assert second.exception() is not None
            assert first.result()["actions"][0, 0] == 1
        assert backend.batches[:3] == [2, 1, 1]
        assert good.infer(seen())["actions"][0, 0] == 2


def test_values_of_other_shapes_do_not_share_a_call() -> None:
    class Stacking(Doubler):
        def infer(self, requests: Any) -> list[Answer]:
            self.batches.append(len(requests))
            images = np.stack([request.looks[-1].values["observation.image"] for request in requests])
            return [Answer(np.array([[float(image.mean()), image.shape[0]]])) for image in images]

    backend = Stacking(inputs={"observation.image": None}, images=("observation.image",))
    with running(backend, limits=Limits(max_wait_time=5.0)) as server:
        clients = [OpenpiClient(server.url) for _ in range(4)]
        images = [np.full((side, side, 3), side, np.uint8) for side in (4, 6, 4, 6)]
        with concurrent.futures.ThreadPoolExecutor(4) as pool:
            asked = zip(clients, images, strict=True)
            answers = list(pool.map(lambda pair: pair[0].infer({"observation.image": pair[1]})["actions"][0], asked))
    assert [answer.tolist() for answer in answers] == [[4, 4], [6, 6], [4, 4], [6, 6]]
    assert backend.batches == [2, 2]


def test_an_episode_that_could_not_begin_gives_its_place_back_and_stays_failed() -> None:
    class Choosy(Doubler):
        def start(self, episode: Episode) -> list[int]:
            if episode.instruction == "Fly":
                raise BackendError("it cannot fly")
            return super().start(episode)

    with running(Choosy(episodes=1)) as server:
        client = VlaEvalClient(server.url)
        client.send("episode_start", task={"name": "Fly"})
        assert "it cannot fly" in client.receive()["payload"]["error"]
        reply = client.exchange("observation", images={}, states=HERE, task_description="Fly")
        assert "it cannot fly" in reply["payload"]["error"], "it is not begun anew in silence"
        assert OpenpiClient(server.url).infer(seen())["actions"].shape == (2, 2)


def test_after_an_episodes_end_its_chunk_is_forgotten() -> None:
    with running(Doubler()) as server:
        client = VlaEvalClient(server.url)
        client.send("episode_start", task={"name": "x"})
        client.exchange("observation", images={}, states=HERE)
        client.send("episode_end", metrics={}, steps=1, elapsed_sec=0.1)
        reply = client.exchange("observation", images={}, states=3 * HERE)
    assert reply["payload"]["actions"].tolist() == [6, 12]


def test_an_address_may_say_what_its_client_speaks() -> None:
    with running(Doubler(), hello_wait_s=0.05) as server:
        late = opened(f"{server.url}/vla-eval")
        time.sleep(0.3)
        late.send(msgpack.packb({"type": "hello", "payload": {}, "seq": 1, "timestamp": 0.0}))
        answer = late.recv(5)
        assert isinstance(answer, bytes)
        assert msgpack.unpackb(answer)["type"] == "hello"
    with running(Doubler(), hello_wait_s=30) as server:
        assert OpenpiClient(f"{server.url}/openpi").infer(seen())["actions"].shape == (2, 2)


def test_a_web_page_cannot_change_settings() -> None:
    with running(Doubler()) as server:
        request = urllib.request.Request(
            server.url.replace("ws", "http", 1) + "/config?max_batch_size=1", headers={"Origin": "http://evil.example"}
        )
        with pytest.raises(urllib.error.HTTPError):
            urllib.request.urlopen(request, timeout=10)
        assert json.loads(_get(server.url, "/config"))["config"]["max_batch_size"] == 64


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_server_ends_at_once_even_while_its_policy_thinks(number: int, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text(
        "import time\n"
        "from yardarm_serve import Contract\n"
        "class Slow:\n"
        "    contract = Contract('slow', {'observation.state': (2,)})\n"
        "    def start(self, episode): pass\n"
        "    def infer(self, requests): print('thinking', flush=True); time.sleep(600)\n"
    )
    words = [sys.executable, "-m", "yardarm_serve", "--backend=slow:Slow", "--port=0"]
    process = subprocess.Popen(words, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    assert process.stdout is not None
    match = re.search(r"ws://[\d.:]+", process.stderr.readline())
    assert match
    client = OpenpiClient(match[0])
    client.socket.send(msgpack.packb({"observation.state": [1.0, 2.0]}))
    assert process.stdout.readline() == "thinking\n"
    process.send_signal(number)
    assert process.wait(10) == 0
    process.communicate()


def _get(url: str, path: str) -> str:
    with urllib.request.urlopen(url.replace("ws", "http", 1) + path, timeout=10) as answer:
        return answer.read().decode()


def _connections(url: str) -> int:
    return json.loads(_get(url, "/config"))["connections"]
