"""Environments that are shared as folders: what `make_env` may return, consent, and identity."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import yardarm
from tests.helpers import courses
from tests.helpers import yardarm as command
from tests.policies.hub_server import running_hub
from yardarm.envs import find_tasks
from yardarm.errors import UsageError
from yardarm.tasks.hub import HubConfig, Source

CODE = """
import gymnasium as gym
import numpy as np
from helper import LENGTH

class Walk(gym.Env):
    metadata = {"render_modes": ["rgb_array"], "render_fps": 10}
    observation_space = gym.spaces.Dict({"agent_pos": gym.spaces.Box(-np.inf, np.inf, (1,))})
    action_space = gym.spaces.Box(-1, 1, (1,))
    render_mode = "rgb_array"
    task_description = "Walk to the end"
    _max_episode_steps = LENGTH

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.place = self.np_random.normal()
        return self.seen(), {}

    def step(self, action):
        self.place += float(action[0])
        return self.seen(), self.place, False, False, {"is_success": self.place > 0}

    def seen(self):
        return {"agent_pos": np.array([self.place], np.float32)}

    def render(self):
        return np.full((16, 16, 3), int(abs(self.place)) % 256, np.uint8)
"""
SINGLE = "def make_env(): return Walk()"
VECTOR = "def make_env(n_envs, use_async_envs): return gym.vector.SyncVectorEnv([Walk] * n_envs)"
SUITES = """
def make_env(n_envs=1, use_async_envs=False, **options):
    def vector(): return gym.vector.SyncVectorEnv([Walk] * n_envs)
    return {"near": {0: vector(), 4: vector()}, "../../far": {0: vector()}}
"""


def folder_with(path: Path, make_env: str, length: int = 4) -> Path:
    path.mkdir()
    (path / "env.py").write_text(CODE + make_env)
    (path / "helper.py").write_text(f"LENGTH = {length}")
    return path


@pytest.mark.parametrize("make_env", [SINGLE, VECTOR], ids=["single", "vector"])
def test_an_environment_alone_or_in_a_vector(make_env: str, tmp_path: Path) -> None:
    config = HubConfig(path=str(folder_with(tmp_path / "walk", make_env)))
    run = yardarm.evaluate("random", config, n_episodes=6, output_dir=tmp_path / "run", trust_remote_code=True)
    (task,) = [result.task for result in run.tasks]
    assert (task.name, task.group, task.instruction) == ("walk", "walk", "Walk to the end")
    assert (task.max_steps, task.fps) == (4, 10)
    assert {record.steps for record in run.episodes} == {4}
    assert 0 < run.counts.successes < 6
    again = yardarm.evaluate(
        "random", config, n_episodes=6, output_dir=tmp_path / "again", batch_size=1, trust_remote_code=True
    )
    assert courses(run) == courses(again)


def test_suites_of_tasks_and_their_selection(tmp_path: Path) -> None:
    path = str(folder_with(tmp_path / "walk", SUITES))
    tasks = find_tasks(HubConfig(path=path))
    assert [(task.group, task.index) for task in tasks] == [("near", 0), ("near", 4), ("../../far", 0)]
    assert [task.index for task in find_tasks(HubConfig(path=path, task="near", task_ids=[4]))] == [4]
    with pytest.raises(UsageError, match=r"--env.task=nere: env.py has no such suite; did you mean 'near'"):
        find_tasks(HubConfig(path=path, task="nere"))
    with pytest.raises(UsageError, match=r"--env.task_ids=\[7\] selects nothing; there are \[0, 4\]"):
        find_tasks(HubConfig(path=path, task_ids=[7]))


def test_a_bad_name_leads_nowhere(tmp_path: Path) -> None:
    config = HubConfig(path=str(folder_with(tmp_path / "walk", SUITES)))
    yardarm.evaluate("zero", config, n_episodes=1, output_dir=tmp_path / "a" / "b" / "run", trust_remote_code=True)
    files = list(tmp_path.rglob("*.npz"))
    assert len(files) == 3
    assert all(path.is_relative_to(tmp_path / "a" / "b" / "run" / "actions" / "hub") for path in files)


def test_code_from_elsewhere_runs_with_consent_only(tmp_path: Path) -> None:
    folder = tmp_path / "walk"
    folder_with(folder, f"open({str(tmp_path / 'was here')!r}, 'w')\n" + SINGLE)
    words = ["eval", "--env.type=hub", "--env.path=walk", "--policy.type=random", "--eval.n_episodes=1"]
    answer = command(*words, "--output_dir=run")
    assert answer.returncode == 2
    assert answer.stderr == (
        f"yardarm: this would run env.py of the folder {folder} on this machine; "
        "if you trust it, add --trust_remote_code=true\n"
    )
    assert not (tmp_path / "was here").exists()
    assert not Path("run").exists()
    assert command(*words, "--output_dir=run", "--trust_remote_code=true").returncode == 0
    assert (tmp_path / "was here").exists()
    # What the run was trusted with, it may be replayed with, from anywhere.
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    assert command("replay", tmp_path / "run").returncode == 0


def test_other_code_is_another_environment(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)
    (before,) = find_tasks(HubConfig(path=str(folder)))
    (folder / "helper.py").write_text("LENGTH = 5")
    (after,) = find_tasks(HubConfig(path=str(folder)))
    assert before.key() != after.key()
    assert after.max_steps == 5


def test_an_environment_comes_from_the_hub_by_its_revision(tmp_path: Path) -> None:
    files = {"env.py": (CODE + SINGLE).encode(), "helper.py": b"LENGTH = 3", "other/env.py": (CODE + SINGLE).encode()}
    with running_hub() as hub:
        repository = hub.add("owner/walk", files)
        commit = repository.refs["main"]
        repository.commit({"helper.py": b"LENGTH = 7"})
        settings = {"HF_ENDPOINT": hub.address, "HF_HOME": str(tmp_path / "home"), "NO_PROXY": "127.0.0.1"}
        settings |= {"HF_HUB_DISABLE_XET": "1", "HF_HUB_DISABLE_TELEMETRY": "1"}
        words = ["eval", "--env.type=hub", "--policy.type=random", "--eval.n_episodes=1"]
        asked = len(hub.asked)
        refused = command(*words, f"--env.path=owner/walk@{commit}", **settings)
        assert f"would run env.py of owner/walk at {commit} from the Hub" in refused.stderr
        assert len(hub.asked) == asked
        for path, length in ((f"owner/walk@{commit}", 3), ("owner/walk", 7)):
            answer = command(
                *words, f"--env.path={path}", "--trust_remote_code=true", f"--output_dir={length}", **settings
            )
            assert answer.returncode == 0, answer.stderr
            assert json.loads(Path(str(length), "episodes.jsonl").read_text())["steps"] == length
        plan = json.loads(Path("3/manifest.json").read_text())["plan"]
        assert plan["env"][0]["commit"] == commit
        missing = command(*words, "--env.path=owner/walk:nowhere.py", "--trust_remote_code=true", **settings)
        assert "owner/walk on the Hub has no nowhere.py, so it is no environment; it has env.py" in missing.stderr


def test_paths_are_read_as_lerobot_writes_them(tmp_path: Path) -> None:
    assert Source.of("user/repo") == Source("user/repo", "env.py")
    assert Source.of("user/repo@v1:envs/a.py") == Source("user/repo", "envs/a.py", "v1")
    folder_with(tmp_path / "here", SINGLE)
    assert Source.of("here:other.py") == Source(str(tmp_path / "here"), "other.py")
    assert Source.of("here/env.py") == Source(str(tmp_path / "here"), "env.py")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("", r"env.py of .* has no function make_env"),
        ("import nowhere", r"env.py of .* needs 'nowhere', which is not installed for the workers"),
        ("1 / 0", r"env.py of .* cannot be imported: ZeroDivisionError: division by zero"),
        ("def make_env(): return 3", "int is no Gymnasium environment"),
        (SINGLE.replace("Walk()", "gym.vector.SyncVectorEnv([Walk] * 2)"), "returned a vector of 2 environments"),
    ],
)
def test_mistakes_get_one_clear_line(code: str, message: str, tmp_path: Path) -> None:
    path = str(folder_with(tmp_path / "walk", code))
    with pytest.raises(UsageError, match=message):
        find_tasks(HubConfig(path=path))


def test_a_folder_without_the_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"has no env.py; name another file with --env.path="):
        find_tasks(HubConfig(path=str(tmp_path)))
    with pytest.raises(UsageError, match="there is no such folder, and it is no Hub id"):
        HubConfig(path="/nowhere/at/all")
