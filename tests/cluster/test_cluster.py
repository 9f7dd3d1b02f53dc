"""Evaluations on the nodes of a Ray cluster."""

from __future__ import annotations

import contextlib
import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest
from toy_world import MoverPolicy, ToyConfig

import yardarm
from tests.checkpoints import small_act
from tests.cluster.clusters import QUIETLY, SLOW_STEPS, AfterSome, evaluate_on, ray_cluster
from tests.helpers import assert_all_gone, courses, descendants, journal_lines, start_yardarm, wait_until
from tests.helpers import yardarm as yardarm_command
from yardarm.cluster import RayOptions, delegation, open_cluster, pool
from yardarm.cluster.pool import ClusterPool
from yardarm.cluster.setup import Setup
from yardarm.envs import MemoryLayout
from yardarm.envs.messages import Run
from yardarm.errors import SetupError
from yardarm.policies import PolicySpec
from yardarm.results import RunFolder
from yardarm.tasks import EpisodeSpec
from yardarm.tasks.metaworld import MetaworldConfig


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    with ray_cluster(1, 1) as cluster:
        yield cluster


def nodes_in(folder: Path) -> list[dict[str, Any]]:
    return json.loads((folder / "manifest.json").read_text())["sessions"][-1]["runner"]["nodes"]


@pytest.mark.parametrize(
    ("policy", "replicas"),
    [
        pytest.param("toy_world:SlowlyPolicy", 0, id="in workers", marks=pytest.mark.slow),
        pytest.param("toy_world:MoverPolicy", 0, id="with agents"),
        pytest.param("toy_world:MoverPolicy", 1, id="in a replica"),
        pytest.param(MoverPolicy(), 0, id="in the driver", marks=pytest.mark.slow),
    ],
)
def test_episodes_are_those_of_the_local_runner(cluster: Any, tmp_path: Path, policy: Any, replicas: int) -> None:
    local = yardarm.evaluate(policy, ToyConfig(), n_episodes=4, output_dir=tmp_path / "local")
    on_ray = evaluate_on(cluster, policy, ToyConfig(), tmp_path / "ray", n_episodes=4, policy_replicas=replicas)
    assert courses(on_ray) == courses(local)
    assert len(nodes_in(tmp_path / "ray")) == 2


@pytest.mark.slow
def test_two_policies_share_the_nodes(cluster: Any, tmp_path: Path) -> None:
    other = PolicySpec("toy_world:MoverPolicy", {"chunk": 2})
    options = {"against": other, "n_episodes": 3}
    local = yardarm.evaluate("toy_world:MoverPolicy", ToyConfig(), output_dir=tmp_path / "local", **options)
    on_ray = evaluate_on(cluster, "toy_world:MoverPolicy", ToyConfig(), tmp_path / "ray", policy_replicas=1, **options)
    assert courses(on_ray) == courses(local)
    assert on_ray.against is not None
    assert local.against is not None
    assert courses(on_ray.against) == courses(local.against)


def test_a_list_of_policies_shares_the_nodes(cluster: Any, tmp_path: Path) -> None:
    policies = ["toy_world:MoverPolicy", PolicySpec("toy_world:MoverPolicy", {"chunk": 2}), "zero"]
    options = {"n_episodes": 2, "policies_at_once": 2}
    local = yardarm.evaluate_several(policies, ToyConfig(), output_dir=tmp_path / "local", **options)
    ray = RayOptions(address=cluster.address)
    on_ray = yardarm.evaluate_several(
        policies, ToyConfig(), output_dir=tmp_path / "ray", runner="ray", ray=ray, **options
    )
    assert list(on_ray.runs) == list(local.runs) == ["MoverPolicy", "MoverPolicy-2", "zero"]
    for name, run in local.runs.items():
        assert courses(on_ray.runs[name]) == courses(run)


def test_a_node_that_dies_takes_nothing_with_it(cluster: Any, tmp_path: Path) -> None:
    victim = cluster.add_node(num_cpus=1, **QUIETLY)
    kill = AfterSome(4, lambda: cluster.remove_node(victim, allow_graceful=False))
    # No attempt is counted against an episode whose node was lost: there is only one.
    options = {"n_episodes": 12, "max_retries": 0}
    on_ray = evaluate_on(cluster, "toy_world:MoverPolicy", SLOW_STEPS, tmp_path / "ray", listener=kill, **options)
    local = yardarm.evaluate(
        "toy_world:MoverPolicy", SLOW_STEPS, batch_size=8, output_dir=tmp_path / "local", **options
    )
    assert len(nodes_in(tmp_path / "ray")) == 3
    assert on_ray.counts.errors == 0
    assert courses(on_ray) == courses(local)


def below(node: Any) -> list[psutil.Process]:
    """The processes of a node of the test cluster."""
    return descendants(node.all_processes["raylet"][0].process.pid)


def workers_below(node: Any) -> list[psutil.Process]:
    """The worker processes of a node of the test cluster."""
    return [process for process in below(node) if "yardarm.envs.launcher" in " ".join(process.cmdline())]


@pytest.mark.slow
def test_a_node_that_joins_gets_work(cluster: Any, tmp_path: Path) -> None:
    seen = threading.Event()
    nodes: list[Any] = []

    def watch() -> None:
        wait_until(lambda: len(workers_below(nodes[0])) > 1)  # the launcher, and what it has forked
        seen.set()

    def add() -> None:
        nodes.append(cluster.add_node(num_cpus=1, **QUIETLY))
        threading.Thread(target=watch, daemon=True).start()

    joins = AfterSome(4, add)
    result = evaluate_on(cluster, "toy_world:MoverPolicy", SLOW_STEPS, tmp_path / "ray", listener=joins, n_episodes=80)
    cluster.remove_node(nodes[0])
    assert seen.is_set()
    assert result.counts.episodes == 80


def kill_the_replica(cluster: Any) -> None:
    everything = [process for node in cluster.list_all_nodes() for process in below(node)]
    (replica,) = [process for process in everything if "ray::Replica" in " ".join(process.cmdline())]
    replica.kill()


@pytest.mark.slow
def test_a_replica_that_is_killed_costs_no_episode(cluster: Any, tmp_path: Path) -> None:
    kill = AfterSome(4, lambda: kill_the_replica(cluster))
    options = {"n_episodes": 16, "max_retries": 0}
    on_ray = evaluate_on(
        cluster, "toy_world:MoverPolicy", SLOW_STEPS, tmp_path / "ray", listener=kill, policy_replicas=1, **options
    )
    local = yardarm.evaluate(
        "toy_world:MoverPolicy", SLOW_STEPS, batch_size=8, output_dir=tmp_path / "local", **options
    )
    assert courses(on_ray) == courses(local)


@pytest.mark.slow
def test_a_policy_that_kills_its_replicas_ends_in_errors_and_quietly(
    cluster: Any, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    options = {"n_episodes": 1, "max_retries": 0, "policy_replicas": 1}
    result = evaluate_on(cluster, "toy_world:DeadlyPolicy", ToyConfig(task="left"), tmp_path / "ray", **options)
    assert result.counts.errors == 1
    assert "raylet" not in "".join(capfd.readouterr())


@pytest.mark.slow
def test_a_network_answers_on_nodes_as_at_home(cluster: Any, tmp_path: Path) -> None:
    small_act(n_action_steps=5).save_pretrained(tmp_path / "act")
    env = MetaworldConfig(task="reach-v3,push-v3", observation_height=32, observation_width=32, episode_length=20)
    at_home = yardarm.evaluate(str(tmp_path / "act"), env, n_episodes=3, output_dir=tmp_path / "local")
    on_ray = evaluate_on(cluster, str(tmp_path / "act"), env, tmp_path / "ray", n_episodes=3)
    assert courses(on_ray) == courses(at_home)
    stored = [RunFolder(tmp_path / name).read_manifest().newest.batching for name in ("local", "ray")]
    assert stored[0] == stored[1]


@pytest.mark.slow
def test_a_driver_that_is_killed_leaves_nothing_and_its_run_goes_on_at_home(cluster: Any, tmp_path: Path) -> None:
    words = ["eval", "--policy.type=toy_world:SlowlyPolicy", "--env.type=toy", "--env.task=far", "--env.step_s=0.03"]
    words += ["--eval.n_episodes=30", f"--output_dir={tmp_path / 'run'}"]
    driver = start_yardarm(*words, "--runner=ray", f"--ray.address={cluster.address}")
    wait_until(lambda: journal_lines(tmp_path / "run") >= 4)
    nodes = cluster.list_all_nodes()
    played_there = [process for node in nodes for process in workers_below(node)]
    assert len(played_there) >= 2 * len(nodes)  # a launcher and a worker on each
    driver.kill()
    driver.communicate()
    assert_all_gone(played_there)
    finished = courses(tmp_path / "run")
    on = start_yardarm(*words, "--runner=local")
    assert on.wait(120) == 0, on.communicate()[1]
    everything = courses(tmp_path / "run")
    assert len(everything) == 30
    assert finished.items() <= everything.items()


@pytest.mark.slow
def test_nodes_find_a_typed_module_in_the_current_folder_and_nothing_else(cluster: Any, tmp_path: Path) -> None:
    Path("own.py").write_text("import toy_world\n\nclass Own(toy_world.MoverPolicy):\n    pass\n")
    Path("numpy.py").write_text("open('ran.txt', 'w')\nraise SystemExit('the wrong numpy')\n")
    words = ["eval", "--policy.type=own:Own", "--env.type=toy", "--eval.n_episodes=2", "--output_dir=run"]
    answer = yardarm_command(*words, "--runner=ray", f"--ray.address={cluster.address}")
    assert answer.returncode == 0, answer.stderr
    assert not Path("ran.txt").exists()


def actors_on(cluster: Any) -> list[str]:
    """Ours that live, by the names that Ray gives their processes."""
    names = []
    for process in [process for node in cluster.list_all_nodes() for process in below(node)]:
        with contextlib.suppress(psutil.Error):  # it has just ended
            names.append(" ".join(process.cmdline()))
    return [name for name in names if name.startswith(("ray::Replica", "ray::NodeAgent"))]


def test_a_policy_that_never_answers_is_not_waited_for(
    cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delegation, "TRIAL_LIMIT_S", 0.0)
    with open_cluster(RayOptions(address=cluster.address)):  # somebody's own, which goes on
        with pytest.raises(SetupError, match="`ray status` shows"):
            evaluate_on(
                cluster, "toy_world:MoverPolicy", ToyConfig(), tmp_path / "ray", n_episodes=1, policy_replicas=1
            )
        wait_until(lambda: not actors_on(cluster))


def test_nodes_with_other_versions_are_refused(cluster: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yardarm, "__version__", "99.0")
    with pytest.raises(SetupError, match=r"no node of the cluster can be used; .*: yardarm 0.1.0, not 99.0"):
        evaluate_on(cluster, "toy_world:SlowlyPolicy", ToyConfig(), tmp_path / "ray", n_episodes=1)


@pytest.mark.slow
@pytest.mark.parametrize(("signal_sent", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_cluster_of_this_machine_ends_with_its_run(tmp_path: Path, signal_sent: int, code: int) -> None:
    words = ["eval", "--policy.type=toy_world:SlowlyPolicy", "--env.type=toy", "--env.task=far", "--env.step_s=0.03"]
    driver = start_yardarm(*words, "--runner=ray", f"--output_dir={tmp_path / 'run'}")
    wait_until(lambda: journal_lines(tmp_path / "run") >= 2)
    started = descendants(driver.pid)
    assert any("raylet" in process.name() for process in started)
    driver.send_signal(signal_sent)
    _, complaints = driver.communicate(timeout=60)
    assert driver.returncode == code
    assert "Traceback" not in complaints
    assert_all_gone(started)


@pytest.mark.slow
def test_a_worker_whose_node_went_with_its_last_report_is_not_waited_for(cluster: Any) -> None:
    """The scheduler may give a worker the next episode, or hire one, before it knows that the node has gone."""
    (task,) = ToyConfig(task="left").tasks()
    with open_cluster(RayOptions(address=cluster.address)) as joined:
        own = ClusterPool(joined, Setup((task,), timeout_s=30.0, renders=False), None, {}, most_workers=1)
        with contextlib.closing(own):
            own.open(0)
            worker = own.hire(task, MemoryLayout({}))
            (agent,) = own._agents
            own._agents.lose(agent, RuntimeError("the node has gone"))
            for left in (worker, own.hire(task, MemoryLayout({}))):
                left.order(Run(EpisodeSpec(task, 0, 1000), PolicySpec("toy_world:SlowlyPolicy")))
            heard = own.wait()
            assert [report for _, report in heard] == [pool.NO_NODE] * 2
            assert own.size == 1, "another agent has come"
