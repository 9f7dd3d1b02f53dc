"""Checkpoints from the Hugging Face Hub and to it, through its real client; only the Hub is a small server here."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.checkpoints import small_act
from tests.helpers import GOLDEN
from tests.hub_server import ACCOUNT, EXPIRED, READER, WRITER, Files, Hub, running_hub
from yardarm import load_policy
from yardarm.errors import UsageError

ACT = "owner/act"
A_COMMIT = "0123456789abcdef0123456789abcdef01234567"
# For processes of their own: the client reads where the Hub is when it is imported, and the token when it needs it.
PREAMBLE = """
import json, os, sys
import yardarm
from yardarm.errors import UsageError
from yardarm.policies.learned.tuning import made_up

def describe(path, **options):
    policy = yardarm.load_policy(path, **options)
    predictions = policy.predict(made_up(policy.row_shapes(), policy.cameras, 2))
    return {"id": policy.id, "commit": policy.source.commit, "predictions": predictions.tolist()}

def tokens(name):
    from yardarm.hub import Repositories
    from yardarm.policies.processing import Tokenize
    step = Tokenize(name, 24).completed(Repositories())
    return {"files": sorted(step.files()), "tokens": step.tokens("push").tolist()}

def answer(token, call, *arguments):
    os.environ["HF_TOKEN"] = token
    try:
        return call(*arguments)
    except UsageError as error:
        return str(error)
"""


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("checkpoint")
    small_act(image=None).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("other")
    small_act(image=None, n_action_steps=5).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def hub(checkpoint: Path, other: Path) -> Iterator[Hub]:
    files = files_of(checkpoint)
    weights = files["model.safetensors"]
    with running_hub() as hub:
        hub.add(ACT, {**files_of(other), "training_state/optimizer_state.safetensors": b"large"})
        hub.repositories[ACT].refs["v1"] = hub.repositories[ACT].refs["main"]
        hub.repositories[ACT].commit(files)
        hub.add("owner/gated", files, gated=True)
        hub.add("owner/readme", {"README.md": b"# Soon"})
        hub.add("owner/truncated", {**files, "model.safetensors": weights[: len(weights) // 2]})
        hub.add("owner/full", {}, full=True)
        yield hub


@pytest.fixture(scope="module")
def closed() -> str:
    """An address where nobody listens."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}"


@pytest.fixture(scope="module")
def silent() -> Iterator[str]:
    """An address where somebody listens, and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}"


def files_of(folder: Path) -> Files:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def run(words: list[str], endpoint: str, home: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run Python where the Hub is at `endpoint` and its cache in `home`."""
    home.mkdir(exist_ok=True)
    own = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING"))}
    hub = {"HF_ENDPOINT": endpoint, "HF_HOME": str(home), "HF_HUB_DISABLE_TELEMETRY": "1", "HF_HUB_DISABLE_XET": "1"}
    return subprocess.run(
        [sys.executable, *words],
        env={**own, **hub, "NO_PROXY": "127.0.0.1", "OMP_NUM_THREADS": "1", **environment},
        cwd=home,
        capture_output=True,
        text=True,
        timeout=60,
    )


def told(expressions: dict[str, str], endpoint: str, home: Path, **environment: str) -> dict[str, Any]:
    """What expressions amount to, one after the other, in a process of its own."""
    listed = ", ".join(expressions.values())
    answer = run(["-c", f"{PREAMBLE}\nprint(json.dumps([{listed}]))"], endpoint, home, **environment)
    assert answer.returncode == 0, answer.stderr
    return dict(zip(expressions, json.loads(answer.stdout), strict=True))


FAILURES = {
    "unknown repository": (["--policy.path=owner/nothing"], "no such model on the Hub; if it is private, log in"),
    "unknown revision": (["--policy.revision=nope"], "owner/act on the Hub has no revision 'nope'"),
    "gated repository": (["--policy.path=owner/gated"], "owner/gated on the Hub is gated: accept its terms there"),
    "no checkpoint": (
        ["--policy.path=owner/readme"],
        "owner/readme on the Hub has no config.json, so no checkpoint can be loaded from it",
    ),
    "truncated weights": (["--policy.path=owner/truncated"], "model.safetensors is damaged: SafetensorError"),
    "offline": ([], "not in the Hub's cache either, and HF_HUB_OFFLINE forbids downloads"),
    "nobody listens": ([f"--policy.revision={A_COMMIT}"], "cannot be reached: ConnectError: [Errno 111]"),
    "nobody answers": ([], "cannot be reached: ReadTimeout"),
}


@pytest.fixture(scope="module", autouse=True)
def failures(hub: Hub, closed: str, silent: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """All at once and beside the other tests, as each takes seconds to import torch."""
    endpoints = {"nobody listens": closed, "nobody answers": silent}
    environments = {"offline": {"HF_HUB_OFFLINE": "1"}, "nobody answers": {"HF_HUB_ETAG_TIMEOUT": "1"}}

    def fail(name: str) -> subprocess.CompletedProcess[str]:
        flags = FAILURES[name][0]
        path = [] if any("--policy.path" in flag for flag in flags) else [f"--policy.path={ACT}"]
        words = ["-m", "yardarm", "eval", *path, *flags, "--env.type=metaworld", "--env.task=reach-v3"]
        home = tmp_path_factory.mktemp("home")
        return run(words, endpoints.get(name, hub.address), home, **environments.get(name, {}))

    pool = ThreadPoolExecutor(2)
    yield {name: pool.submit(fail, name) for name in FAILURES}
    pool.shutdown(cancel_futures=True)


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The client's cache, that the loading tests share."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def loaded(hub: Hub, home: Path, checkpoint: Path) -> dict[str, Any]:
    sources = {"latest": f"'{ACT}'", "tagged": f"'{ACT}', revision='v1'", "folder": f"'{checkpoint}'"}
    return told({name: f"describe({source})" for name, source in sources.items()}, hub.address, home)


def test_a_policy_from_the_hub_is_the_one_in_the_folder(loaded: dict[str, Any]) -> None:
    assert loaded["latest"]["id"] == loaded["folder"]["id"]
    assert loaded["latest"]["predictions"] == loaded["folder"]["predictions"]


def test_a_policy_from_the_hub_knows_its_commit(loaded: dict[str, Any], hub: Hub) -> None:
    assert loaded["latest"]["commit"] == hub.repositories[ACT].refs["main"]
    assert loaded["folder"]["commit"] is None


def test_a_revision_is_another_policy(loaded: dict[str, Any], hub: Hub, other: Path) -> None:
    assert loaded["tagged"]["id"] == load_policy(other).id != loaded["latest"]["id"]
    assert loaded["tagged"]["commit"] == hub.repositories[ACT].refs["v1"]


def test_what_training_left_in_folders_is_not_downloaded(loaded: dict[str, Any], hub: Hub) -> None:
    assert any("model.safetensors" in question for question in hub.asked)
    assert not any("training_state" in question for question in hub.asked)


def test_a_second_load_offline_is_from_the_cache(loaded: dict[str, Any], hub: Hub, home: Path) -> None:
    answers = told({"again": f"describe('{ACT}')"}, hub.address, home, HF_HUB_OFFLINE="1")
    assert answers["again"] == loaded["latest"]


@pytest.mark.slow
def test_a_tokenizer_is_downloaded_without_the_rest_and_taken_from_the_cache_then(hub: Hub, tmp_path: Path) -> None:
    files = files_of(GOLDEN / "smolvla" / "hub" / "HuggingFaceTB" / "SmolVLM2-500M-Video-Instruct")
    hub.add("owner/model", {**files, "model.safetensors": b"large", "onnx/tokenizer.json": b"other"})
    hub.add("google/paligemma-3b-pt-224", files, gated=True)
    names = ("owner/model", "google/paligemma-3b-pt-224", "owner/other")
    asked = {name: f"answer('', tokens, '{name}')" for name in names}
    online, offline = (told(asked, hub.address, tmp_path, **own) for own in ({}, {"HF_HUB_OFFLINE": "1"}))
    assert online["owner/model"]["files"] == ["tokenizer.json", "tokenizer_config.json"]
    assert offline["owner/model"] == online["owner/model"]
    assert not any("owner/model" in question and question.endswith("model.safetensors") for question in hub.asked)
    assert "is gated" in online[names[1]]
    assert f"accept its licence on https://huggingface.co/{names[1]}, and put its files into DIR" in online[names[1]]
    assert "HF_HUB_OFFLINE forbids downloads; put its files into DIR/owner/other/" in offline["owner/other"]


@pytest.fixture(scope="module")
def unreachable(loaded: dict[str, Any], closed: str, home: Path, checkpoint: Path) -> dict[str, Any]:
    """What can be done after a first load when nobody listens."""
    push = f"yardarm.load_policy('{checkpoint}').push_to_hub"
    calls = {"loaded": f"describe('{ACT}')", "pushed": f"answer('{WRITER}', {push}, 'owner/mine')"}
    return told(calls, closed, home)


def test_a_second_load_without_a_connection_is_from_the_cache(
    loaded: dict[str, Any], unreachable: dict[str, Any]
) -> None:
    assert unreachable["loaded"] == loaded["latest"]


def test_a_push_without_a_connection_is_told_in_one_line(unreachable: dict[str, Any]) -> None:
    message = "owner/mine cannot be pushed to the Hub: ConnectError: [Errno 111] Connection refused"
    assert unreachable["pushed"] == message


@pytest.fixture(scope="module")
def pushed(hub: Hub, checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What is said to a push, with each token; and to a load, once with what was pushed and once with an old token."""
    push = f"yardarm.load_policy('{checkpoint}').push_to_hub"
    calls = {
        "address": f"answer('{WRITER}', {push}, 'owner/new')",
        "back": "describe('owner/new')",
        "nameless": f"answer('{WRITER}', {push}, 'nameless')",
        "no token": f"answer('', {push}, 'owner/mine')",
        "no rights": f"answer('{READER}', {push}, 'owner/mine')",
        "expired": f"answer('{EXPIRED}', {push}, 'owner/mine')",
        "full": f"answer('{WRITER}', {push}, 'owner/full')",
        "no name": f"answer('{WRITER}', {push}, 'a/b/c')",
        "expired, load": f"answer('{EXPIRED}', describe, '{ACT}')",
    }
    return told(calls, hub.address, tmp_path_factory.mktemp("home"))


def test_all_files_of_a_checkpoint_are_pushed(pushed: dict[str, Any], hub: Hub, checkpoint: Path) -> None:
    commits = hub.repositories["owner/new"].commits
    assert list(commits.values()) == [files_of(checkpoint)]
    assert pushed["address"] == f"{hub.address}/owner/new/commit/{next(iter(commits))}"


def test_what_was_pushed_is_loaded_back(pushed: dict[str, Any], hub: Hub, checkpoint: Path) -> None:
    assert pushed["back"]["id"] == load_policy(checkpoint).id
    assert pushed["back"]["commit"] == hub.repositories["owner/new"].refs["main"]


def test_a_name_without_an_owner_is_pushed_to_the_own_account(pushed: dict[str, Any], hub: Hub) -> None:
    assert "config.json" in next(iter(hub.repositories[f"{ACCOUNT}/nameless"].commits.values()))
    assert pushed["nameless"].startswith(f"{hub.address}/{ACCOUNT}/nameless/commit/")


@pytest.mark.parametrize(
    ("case", "message"),
    [
        ("no token", "owner/mine cannot be pushed to the Hub: log in first with `hf auth login`"),
        ("no rights", "You don't have the rights to write under this namespace; log in with a token that may write"),
        ("expired", "Invalid credentials in Authorization header; log in with a token that may write there"),
        ("full", "owner/full cannot be pushed to the Hub: HfHubHTTPError: 403 Forbidden: Storage limit reached"),
        ("no name", "a/b/c cannot be pushed to the Hub: HFValidationError: Repo id must be in the form"),
        ("expired, load", "owner/act cannot be downloaded from the Hub: HfHubHTTPError: Client error '401"),
    ],
)
def test_a_refusal_is_told_in_one_line(case: str, message: str, pushed: dict[str, Any]) -> None:
    assert message in pushed[case]
    assert "\n" not in pushed[case]


@pytest.mark.parametrize("name", ["./nowhere", "../nowhere", "two--dashes/act", "owner/act.git"])
def test_what_cannot_be_a_hub_id_is_not_looked_for_there(name: str) -> None:
    with pytest.raises(UsageError, match="there is no such folder, and it is not a Hub id"):
        load_policy(name)


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_gets_one_clear_line(name: str, failures: dict[str, Future[Any]]) -> None:
    answer = failures[name].result()
    assert answer.returncode == 2
    assert FAILURES[name][1] in answer.stderr
    assert answer.stderr.count("\n") == 1
    assert not answer.stdout
