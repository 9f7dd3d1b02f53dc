"""The real openpi-client and vla-eval, in environments of their own, with this server and this client."""

from __future__ import annotations

import contextlib
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from toy_world import ToyConfig

from tests.checkpoints import small_act
from tests.serve.running import Doubler, running
from yardarm.api import evaluate
from yardarm.policies import PolicySpec, open_policy
from yardarm.policies.remote.mapping import ObservationMapping
from yardarm.serving import PolicyBackend
from yardarm_serve.wire import pack_openpi, unpack

# They install the real packages.
pytestmark = pytest.mark.slow

OPENPI_CLIENT = """
import json, sys
import numpy as np
from openpi_client import action_chunk_broker, websocket_client_policy

host, port, key = sys.argv[1:]
policy = websocket_client_policy.WebsocketClientPolicy(host, int(port), api_key=key)
steps = action_chunk_broker.ActionChunkBroker(policy, action_horizon=5)
rng = np.random.default_rng(0)
actions = []
for _ in range(10):
    image = rng.integers(0, 256, (32, 32, 3), np.uint8)
    state = rng.normal(size=4).astype(np.float32)
    seen = {"observation/image": image, "observation/state": state, "prompt": "Reach"}
    actions.append(steps.infer(seen)["actions"].tolist())
try:
    policy.infer({"observation/state": np.zeros(3)})
except RuntimeError as error:
    print(json.dumps({"metadata": policy.get_server_metadata(), "actions": actions, "error": str(error)}))
"""

VLA_EVAL_CLIENT = """
import json, sys
import anyio
import numpy as np
from vla_eval.connection import Connection

async def main():
    rng = np.random.default_rng(0)
    async with Connection(sys.argv[1]) as connection:
        await connection.connect(benchmark="Toy")
        await connection.start_episode({"task": {"name": "Reach", "episode_idx": 0}})
        actions = []
        for _ in range(10):
            image = rng.integers(0, 256, (32, 32, 3), np.uint8)
            state = rng.normal(size=4).astype(np.float32)
            seen = {"images": {"image": image}, "states": state, "task_description": "Reach"}
            actions.append((await connection.act(seen))["actions"].tolist())
        await connection.end_episode({"metrics": {"success": False}, "steps": 10, "elapsed_sec": 1.0})
        try:
            await connection.act({"images": {}, "states": np.zeros(4)})
        except RuntimeError as error:
            print(json.dumps({"hello": connection.server_info, "actions": actions, "error": str(error)}))

anyio.run(main)
"""

VLA_EVAL_SERVER = """
import sys
import anyio
import numpy as np
from vla_eval.model_servers.predict import PredictModelServer
from vla_eval.model_servers.serve import serve_async
from vla_eval.specs import IMAGE_RGB, LANGUAGE, RAW

class Mover(PredictModelServer):
    def predict(self, obs, ctx):
        position, goal = obs["states"]
        return {"actions": np.full((4, 1), np.sign(goal - position), np.float32)}

    def get_observation_params(self):
        return {"send_state": True}

    def get_action_spec(self):
        return {"actions": RAW}

    def get_observation_spec(self):
        return {"front": IMAGE_RGB, "language": LANGUAGE}

async def main():
    async with anyio.create_task_group() as group:
        print(await group.start(serve_async, Mover(chunk_size=4), "127.0.0.1", 0), flush=True)

anyio.run(main)
"""

OPENPI_TOOLS = """
import sys
import numpy as np
from openpi_client import image_tools, msgpack_numpy

data = msgpack_numpy.unpackb(sys.stdin.buffer.read())
sizes = [(224, 224), (64, 96), (100, 30)]
data["resized"] = [image_tools.resize_with_pad(data["image"], *size) for size in sizes]
sys.stdout.buffer.write(msgpack_numpy.packb(data))
"""


def run(python: str, script: str, *arguments: Any) -> dict[str, Any]:
    """A script's last line, as JSON."""
    words = [python, "-c", script, *map(str, arguments)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.fixture(scope="module")
def act() -> PolicyBackend:
    with open_policy(small_act(32, n_action_steps=5)) as loaded:
        return PolicyBackend(loaded)


def expected(backend: PolicyBackend, every: int) -> np.ndarray:
    """What the policy answers to the looks that the clients send, if it is asked after `every` actions."""
    rng = np.random.default_rng(0)
    looks = [
        {"observation.image": rng.integers(0, 256, (32, 32, 3), np.uint8), "observation.state": rng.normal(size=4)}
        for _ in range(10)
    ]
    chunks = [
        backend._policy.predict({name: value[None].astype(value.dtype if value.ndim == 3 else np.float32)
                                 for name, value in looks[step].items()})[0, :every]
        for step in range(0, 10, every)
    ]  # fmt: skip
    return np.concatenate(chunks)


def test_the_real_openpi_client_gets_an_acts_actions(openpi_python: str, act: PolicyBackend) -> None:
    with running(act, api_key="sesame") as server:
        answer = run(openpi_python, OPENPI_CLIENT, "127.0.0.1", server.port, "sesame")
    np.testing.assert_allclose(answer["actions"], expected(act, 5), atol=1e-5)
    assert answer["metadata"]["yardarm"]["action_size"] == 4
    assert "the policy's input 'observation.image' is missing" in answer["error"]


def test_the_real_vla_eval_client_gets_an_acts_actions(vla_eval_python: str, act: PolicyBackend) -> None:
    with running(act) as server:
        answer = run(vla_eval_python, VLA_EVAL_CLIENT, server.url)
    np.testing.assert_allclose(answer["actions"], expected(act, 5), atol=1e-5)
    assert answer["hello"]["observation_params"] == {"send_state": True}
    assert "Misfit: the policy" in answer["error"]  # it escapes the apostrophe that follows
    assert "is missing: it reads observation.image" in answer["error"]


@contextlib.contextmanager
def vla_eval_server(python: str) -> Iterator[str]:
    process = subprocess.Popen([python, "-c", VLA_EVAL_SERVER], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        yield f"ws://127.0.0.1:{int(process.stdout.readline())}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def test_a_policy_behind_the_real_vla_eval_server_is_evaluated(vla_eval_python: str, tmp_path: Path) -> None:
    sent = {"images": {"front": "observation.image"}, "states": "observation.state", "task_description": "instruction"}
    with vla_eval_server(vla_eval_python) as url:
        policy = PolicySpec("remote", {"url": url, "observations": sent})
        result = evaluate(policy, ToyConfig(), n_episodes=4, batch_size=3, output_dir=tmp_path / "run")
    assert (result.counts.successes, result.counts.episodes) == (8, 8)


def test_pictures_and_bytes_are_those_of_openpis_own_tools(openpi_python: str) -> None:
    image = np.random.default_rng(0).integers(0, 256, (48, 64, 3), np.uint8)
    data = {"image": image, "scalar": np.float32(1.5), "text": "Push", "nested": {"x": np.arange(3)}}
    words = [openpi_python, "-c", OPENPI_TOOLS]
    answer = unpack(subprocess.run(words, input=pack_openpi(data), capture_output=True, check=True).stdout)
    assert pack_openpi({name: answer[name] for name in data}) == pack_openpi(data)
    for size, theirs in zip([(224, 224), (64, 96), (100, 30)], answer["resized"], strict=True):
        mapping = ObservationMapping({"x": {"from": "image", "resize": list(size)}})
        np.testing.assert_array_equal(mapping.apply({"image": image}, "")["x"], theirs)


def test_the_server_runs_with_numpy_msgpack_and_websockets_alone(openpi_python: str, tmp_path: Path) -> None:
    """From the small distribution, in an environment without torch and without Yardarm."""
    (tmp_path / "mine.py").write_text(
        "import numpy as np\n"
        "from yardarm_serve import Answer, Contract\n"
        "class Mine:\n"
        "    contract = Contract('mine', {'observation.state': (2,)}, action_size=2)\n"
        "    def __init__(self, gain): self.gain = gain\n"
        "    def start(self, episode): return None\n"
        "    def infer(self, requests):\n"
        "        states = [request.looks[-1].values['observation.state'] for request in requests]\n"
        "        return [Answer(np.array([self.gain * state])) for state in states]\n"
    )
    source = Path(sys.modules[Doubler.__module__].__file__ or "").parents[2] / "serve"
    source = shutil.copytree(source, tmp_path / "serve", ignore=shutil.ignore_patterns("build", "*.egg-info"))
    target = tmp_path / "site"
    quietly = ["--quiet", "--no-deps", "--no-build-isolation", "--disable-pip-version-check"]
    subprocess.run([sys.executable, "-m", "pip", "install", *quietly, "--target", target, source], check=True)
    words = [openpi_python, "-m", "yardarm_serve", "--backend=mine:Mine", "--policy.gain=3", "--announce", "--port=0"]
    process = subprocess.Popen(
        words, cwd=tmp_path, env={"PYTHONPATH": str(target)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    assert process.stdin is not None
    port = json.loads(process.stdout.readline())["port"]
    script = (
        "import json, numpy as np; from openpi_client import websocket_client_policy as w\n"
        f"policy = w.WebsocketClientPolicy('127.0.0.1', {port})\n"
        "print(json.dumps(policy.infer({'observation/state': np.array([1.0, 2.0])})['actions'].tolist()))"
    )
    assert run(openpi_python, script) == [[3.0, 6.0]]  # type: ignore[comparison-overlap]
    process.stdin.close()
    assert process.wait(10) == 0, "a server that was started by a program ends with it"
    process.stdout.close()
