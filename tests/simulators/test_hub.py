"""Environments that are shared as folders: what `make_env` may return, consent, and identity."""

from __future__ import annotations

import json
import os
from pathlib import Path

import numpy as np
import psutil
import pytest

import yardarm
from tests.helpers import courses, wait_until, yardarm_here
from tests.helpers import yardarm as command
from tests.hub_server import running_hub
from yardarm.envs import find_tasks
from yardarm.errors import UsageError
from yardarm.evaluation import EvaluationListener
from yardarm.results import EpisodeRecord
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


def test_one_that_stops_telling_success_is_an_error_and_no_failure(tmp_path: Path) -> None:
    fickle = (
        SINGLE
        + """
step = Walk.step
Walk.step = lambda self, action: (*step(self, action)[:4], {"is_success": False} if action[0] == 0 else {})
"""
    )
    config = HubConfig(path=str(folder_with(tmp_path / "walk", fickle)))
    run = yardarm.evaluate("random", config, n_episodes=1, max_retries=0, trust_remote_code=True)
    assert (run.counts.episodes, run.counts.errors) == (0, 1)
    assert "info has no 'is_success'" in str(run.episodes[0].error)


def test_suites_of_tasks_and_their_selection(tmp_path: Path) -> None:
    path = str(folder_with(tmp_path / "walk", SUITES))
    tasks = find_tasks(HubConfig(path=path))
    assert [(task.group, task.index) for task in tasks] == [("near", 0), ("near", 4), ("../../far", 0)]
    assert [task.index for task in find_tasks(HubConfig(path=path, task="near", task_ids=[4]))] == [4]
    with pytest.raises(UsageError, match=r"--env.task=nere: env.py has no such suite; did you mean 'near'"):
        find_tasks(HubConfig(path=path, task="nere"))
    with pytest.raises(UsageError, match=r"--env.task_ids=\[7\] selects nothing; the ids are \[0, 4\]"):
        find_tasks(HubConfig(path=path, task_ids=[7]))


def test_names_that_look_alike_are_kept_apart(tmp_path: Path) -> None:
    suites = SUITES.replace('"near"', '"a b"').replace('"../../far"', '"a:b"')
    config = HubConfig(path=str(folder_with(tmp_path / "walk", suites)), task_ids=[0])
    yardarm.evaluate("zero", config, n_episodes=1, output_dir=tmp_path / "run", trust_remote_code=True)
    assert len(list((tmp_path / "run").rglob("*.npz"))) == 2


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
    answer = yardarm_here(*words, "--output_dir=run")
    assert answer.returncode == 2
    assert answer.stderr == (
        f"yardarm: this would run env.py of the folder {folder} on this machine; "
        "if you trust it, add --trust_remote_code=true\n"
    )
    assert not (tmp_path / "was here").exists()
    assert not Path("run").exists()
    assert command(*words, "--output_dir=run", "--trust_remote_code=true").returncode == 0
    assert (tmp_path / "was here").exists()
    # A run's folder may come from elsewhere, too: consent is given for each use, on the command line, from anywhere.
    assert "trust_remote_code" not in (tmp_path / "run" / "config.yaml").read_text()
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    os.chdir(elsewhere)
    refused = yardarm_here("replay", tmp_path / "run")
    assert refused.returncode == 2
    assert "this would run env.py of the folder" in refused.stderr
    assert command("replay", tmp_path / "run", "--trust_remote_code=true").returncode == 0


def test_a_file_cannot_consent_for_its_reader(tmp_path: Path) -> None:
    folder_with(tmp_path / "walk", SINGLE)
    Path("config.yaml").write_text("trust_remote_code: true\nenv: {type: hub, path: walk}\npolicy: {type: zero}\n")
    answer = yardarm_here("eval", "--config_path=config.yaml")
    assert answer.returncode == 2
    assert "a file cannot consent for you" in answer.stderr


COUNTING = """
class Counting(Walk):
    count = 0
    def reset(self, *, seed=None, options=None):
        Counting.count += 1
        self.place = float(Counting.count)
        return self.seen(), {}

def make_env(): return Counting()
"""


def test_what_a_class_remembers_reaches_no_other_episode(tmp_path: Path) -> None:
    config = HubConfig(path=str(folder_with(tmp_path / "walk", COUNTING)))
    runs = [
        courses(
            yardarm.evaluate(
                "zero", config, n_episodes=4, batch_size=size, output_dir=tmp_path / str(size), trust_remote_code=True
            )
        )
        for size in (1, 3)
    ]
    assert runs[0] == runs[1]
    assert len({course["fingerprints"]["0"] for course in runs[0].values()}) == 1


def test_data_is_part_of_an_environment(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)
    (folder / "scene.txt").write_text("near")
    (before,) = find_tasks(HubConfig(path=str(folder)))
    (folder / "scene.txt").write_text("far away")
    (after,) = find_tasks(HubConfig(path=str(folder)))
    assert before.key() != after.key()


def test_code_that_changes_while_a_run_goes_on_is_noticed(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)

    class Editor(EvaluationListener):
        def finished(self, record: EpisodeRecord) -> None:
            (folder / "helper.py").write_text("LENGTH = 4  # changed")

    run = yardarm.evaluate(
        "zero", HubConfig(path=str(folder)), n_episodes=4, batch_size=1, max_retries=0,
        listener=Editor(), output_dir=tmp_path / "run", trust_remote_code=True,
    )  # fmt: skip
    failed = [record.status == "error" for record in run.episodes]
    assert not failed[0]
    assert failed == sorted(failed), "when the first is told of, the second may have begun"
    assert "was changed during the run" in str(run.episodes[-1].error)


def test_two_folders_in_one_process_keep_their_modules_apart(tmp_path: Path) -> None:
    lengths = []
    for length in (3, 6):
        path = str(folder_with(tmp_path / f"walk{length}", SINGLE, length))
        env = yardarm.make_env(path, trust_remote_code=True)[f"walk{length}"][0]
        env.reset()
        lengths.append(env.call("_simulator")[0]._env.env._max_episode_steps)
        env.close()
    assert lengths == [3, 6]


def test_gymnasiums_face_leaves_the_users_generators_alone(tmp_path: Path) -> None:
    env = yardarm.make_env(str(folder_with(tmp_path / "walk", SINGLE)), trust_remote_code=True)["walk"][0]
    np.random.seed(7)
    expected = np.random.rand(2)
    np.random.seed(7)
    env.reset(seed=[5])
    first = np.random.rand()
    env.step(np.zeros((1, 1), np.float32))
    env.close()
    np.testing.assert_array_equal([first, np.random.rand()], expected)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("'False'", "as 'False', which is neither yes nor no"),
        ("float('nan')", "as nan, which is neither"),
        ("3.2", "as 3.2, which is neither"),
    ],
)
def test_what_is_neither_yes_nor_no_is_no_success(told: str, message: str, tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)
    (folder / "env.py").write_text((CODE + SINGLE).replace("self.place > 0", told))
    with pytest.raises(UsageError, match=message):
        find_tasks(HubConfig(path=str(folder)))


def test_an_environment_that_exits_costs_its_episode_only(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)
    leaving = "if self.place < -0.5: raise SystemExit(0)"
    (folder / "env.py").write_text((CODE + SINGLE).replace("self.place += float(action[0])", leaving))
    words = ["eval", "--env.type=hub", "--env.path=walk", "--policy.type=zero", "--trust_remote_code=true"]
    for flag in ("true", "false"):
        options = ["--eval.n_episodes=8", "--eval.max_retries=0", f"--eval.use_async_envs={flag}"]
        answer = command(*words, *options, f"--output_dir={flag}")
        assert answer.returncode == 1
        assert "the first error: SystemExit: 0" in answer.stderr
    assert courses(Path("true")).keys() == courses(Path("false")).keys()


def test_what_an_environment_prints_is_kept_and_what_it_starts_is_ended(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)
    starting = "import subprocess\nprint('hello from the environment')\nsubprocess.Popen(['sleep', '4321.5'])\n"
    (folder / "env.py").write_text(starting + CODE + SINGLE)
    words = ["eval", "--env.type=hub", "--env.path=walk", "--policy.type=zero", "--trust_remote_code=true"]
    assert command(*words, "--eval.n_episodes=2", "--output_dir=run", PYTHONUNBUFFERED="").returncode == 0
    assert "hello from the environment" in Path("run/workers.log").read_text()
    wait_until(lambda: not [p for p in psutil.process_iter(["cmdline"]) if "4321.5" in (p.info["cmdline"] or [])])


def test_an_environment_that_ignores_its_seed_is_not_said_to_be_replayable(tmp_path: Path) -> None:
    folder = folder_with(tmp_path / "walk", SINGLE)
    careless = (CODE + SINGLE).replace("self.np_random.normal()", "np.random.default_rng().normal()")
    (folder / "env.py").write_text(careless)
    assert not find_tasks(HubConfig(path=str(folder)))[0].env.replayable


def test_arguments_come_by_flag(tmp_path: Path) -> None:
    folder_with(tmp_path / "walk", "def make_env(far=0): return [Walk, None][far]()")
    words = ["eval", "--env.type=hub", "--env.path=walk", "--policy.type=zero", "--trust_remote_code=true"]
    assert command(*words, '--env.kwargs={"far": 0}', "--eval.n_episodes=1").returncode == 0
    assert "'NoneType' object is not callable" in command(*words, '--env.kwargs={"far": 1}').stderr


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
        expected = "owner/walk on the Hub has no nowhere.py, so no environment can be loaded from it; it has env.py"
        assert expected in missing.stderr


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
        ("def make_env(): return 3", "int is not a Gymnasium environment"),
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
    with pytest.raises(UsageError, match="there is no such folder, and it is not a Hub id"):
        HubConfig(path="/nowhere/at/all")
