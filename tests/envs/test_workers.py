"""Workers: clean processes, without torch, that nothing outlives."""

from __future__ import annotations

import contextlib
import gc
import os
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from tests.helpers import assert_all_gone, launchers, workers
from yardarm.envs import ProcessPool, Worker
from yardarm.envs.launching import Launchers
from yardarm.envs.messages import Alive, Ask, Begin, Finished, Run, Seen
from yardarm.envs.shared_memory import MemoryLayout, SharedMemory
from yardarm.errors import EnvironmentFault, SetupError
from yardarm.machine import shared_kernels
from yardarm.policies import PolicySpec
from yardarm.tasks import EpisodeSpec, Feature, Home, TaskSpec
from yardarm.tasks.metaworld import MetaworldConfig


@pytest.fixture
def pool() -> Iterator[ProcessPool]:
    pool = ProcessPool(2, time_limit_s=60)
    yield pool
    pool.close()


@pytest.fixture
def reach() -> TaskSpec:
    return MetaworldConfig(task="reach-v3", episode_length=5).tasks()[0]


def mapped_files(pid: int) -> str:
    return Path(f"/proc/{pid}/maps").read_text()


def run_episode(pool: ProcessPool, worker: Worker, episode: EpisodeSpec) -> Finished:
    """Have the worker run a whole episode; one that takes long says that it is alive meanwhile."""
    worker.order(Run(episode, PolicySpec("zero")))
    reports = [report for _, report in pool.wait()]
    while all(isinstance(report, Alive) for report in reports):
        reports = [report for _, report in pool.wait()]
    (finished,) = [report for report in reports if not isinstance(report, Alive)]
    assert isinstance(finished, Finished)
    return finished


def test_a_worker_builds_its_simulator_on_first_use_and_loads_no_gl(pool: ProcessPool, reach: TaskSpec) -> None:
    worker = pool.hire(reach, MemoryLayout({}))
    first = run_episode(pool, worker, EpisodeSpec(reach, 0, 1000))
    second = run_episode(pool, worker, EpisodeSpec(reach, 1, 1001))
    assert first.rollout.timing.build_s > 0
    assert second.rollout.timing.build_s == 0, "the simulator is kept for the next episode"
    maps = mapped_files(worker.pid)
    assert "libEGL" not in maps
    assert "libOSMesa" not in maps
    assert "libtorch" not in maps


def test_a_worker_started_from_a_process_with_torch_has_none() -> None:
    code = """
import torch, psutil
from pathlib import Path
from yardarm.api import evaluate
from yardarm.evaluation import EvaluationListener

class Spy(EvaluationListener):
    def finished(self, record):
        for child in psutil.Process().children(recursive=True):
            print("TORCH" if "libtorch" in Path(f"/proc/{child.pid}/maps").read_text() else "clean")

evaluate("zero", "left", benchmark="toy", n_episodes=2, listener=Spy())
"""
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert "clean" in output
    assert "TORCH" not in output


def test_closing_a_pool_leaves_no_process_and_no_descriptor(reach: TaskSpec) -> None:
    gc.collect()  # what other tests left open is not to be closed, and counted, in the middle of this one
    before = psutil.Process().num_fds()
    pool = ProcessPool(3, time_limit_s=60)
    for _ in range(3):
        worker = pool.hire(reach, MemoryLayout({"observation.image": Feature((480, 480, 3), "uint8")}))
        worker.order(Run(EpisodeSpec(reach, 0, 1000), PolicySpec("zero")))
    children = [*launchers(), *workers()]
    assert len(children) == 4
    pool.close()
    del worker  # it has views of its memory, which keep it mapped
    assert_all_gone(children)
    assert psutil.Process().num_fds() == before


def test_a_dismissed_worker_frees_its_place_and_dies(pool: ProcessPool, reach: TaskSpec) -> None:
    for _ in range(5):
        workers = [pool.hire(reach, MemoryLayout({})) for _ in range(2)]
        processes = [psutil.Process(worker.pid) for worker in workers]
        for worker in workers:
            pool.dismiss(worker)
        assert_all_gone(processes)


def test_what_cannot_be_imported_is_said_in_one_line(reach: TaskSpec) -> None:
    broken = replace(reach, env=replace(reach.env, preload=("no_such_simulator",)))
    pool = ProcessPool(1)
    with pytest.raises(SetupError, match="No module named 'no_such_simulator'"):
        pool.hire(broken, MemoryLayout({}))
    pool.close()


def test_a_renderer_that_does_not_work_is_refused_before_anything_runs(
    reach: TaskSpec, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MUJOCO_GL", "glfw")
    monkeypatch.delenv("DISPLAY", raising=False)
    pool = ProcessPool(1, time_limit_s=60)
    with pytest.raises(SetupError, match=r"nothing here can render \(glfw: .*MUJOCO_GL is set to 'glfw': unset it"):
        pool.choose_renderer([reach])
    pool.close()


@pytest.mark.parametrize("backend", ["egl", pytest.param("osmesa", marks=pytest.mark.slow)])
def test_pictures_do_not_depend_on_the_renderer(backend: str, reach: TaskSpec, monkeypatch: pytest.MonkeyPatch) -> None:
    pictures = {}
    for name in ("egl", backend):
        monkeypatch.setenv("MUJOCO_GL", name)
        pool = ProcessPool(1, time_limit_s=60)
        assert (pool.choose_renderer([reach]) or "").startswith(name)
        worker = pool.hire(reach, MemoryLayout({"observation.image": reach.env.features["observation.image"]}))
        worker.order(Begin(EpisodeSpec(reach, 0, 1000), ("observation.image",)))
        ((_, report),) = pool.wait()
        assert isinstance(report, Seen)
        pictures[name] = worker.looks[0]["observation.image"].copy()
        pool.close()
    np.testing.assert_array_equal(pictures["egl"], pictures[backend])


@given(
    features=st.dictionaries(
        st.text(min_size=1, max_size=5),
        st.builds(
            Feature,
            st.lists(st.integers(1, 5), max_size=3).map(tuple),
            st.sampled_from(["uint8", "float32", "float64", "int64"]),
        ),
        max_size=4,
    ),
    looks=st.integers(1, 3),
    data=st.data(),
)
def test_what_is_written_into_shared_memory_is_read_on_the_other_side(
    features: dict[str, Feature], looks: int, data: st.DataObject
) -> None:
    layout = MemoryLayout(features, looks, frame=(3, 4))
    ours = SharedMemory.create(layout)
    theirs = SharedMemory(layout, os.dup(ours.descriptor))
    written = []
    for look in theirs.looks:
        values = {name: data.draw(hnp.arrays(feature.dtype, feature.shape)) for name, feature in features.items()}
        for name, value in values.items():
            look[name][...] = value
        written.append(values)
    theirs.frame[...] = 7
    for look, values in zip(ours.looks, written, strict=True):
        for name, value in values.items():
            np.testing.assert_array_equal(look[name], value)
    assert (ours.frame == 7).all()
    ours.close()
    theirs.close()


def test_a_simulator_that_crashes_on_import_is_said_in_one_line(
    reach: TaskSpec, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "crashing_simulator.py").write_text("import os; os.abort()")
    monkeypatch.syspath_prepend(tmp_path)
    broken = replace(reach, env=replace(reach.env, preload=("crashing_simulator",)))
    pool = ProcessPool(1)
    with pytest.raises(SetupError, match=r"cannot import crashing_simulator in a worker: .* crashed"):
        pool.hire(broken, MemoryLayout({}))
    pool.close()


def slow_import(folder: Path) -> TaskSpec:
    (folder / "slow_simulator.py").write_text("import time\ntime.sleep(3)\n")
    reach = MetaworldConfig(task="reach-v3").tasks()[0]
    return replace(reach, env=replace(reach.env, preload=("slow_simulator",)))


@pytest.mark.parametrize("kills", [1, 3])
def test_a_launcher_that_is_killed_while_it_imports_is_started_again(
    kills: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    task = slow_import(tmp_path)
    killed: list[int] = []

    def kill_each_once() -> None:
        while len(killed) < kills:
            for launcher in launchers():
                if launcher.pid not in killed:
                    time.sleep(0.3)
                    launcher.kill()
                    killed.append(launcher.pid)

    thread = threading.Thread(target=kill_each_once)
    thread.start()
    with contextlib.closing(ProcessPool(1, time_limit_s=60)) as pool:
        if kills < 3:
            pool.prepare([task])
            assert launchers()
        else:
            with pytest.raises(EnvironmentFault, match=r"imports slow_simulator was killed 3 times \(SIGKILL\)"):
                pool.prepare([task])
    thread.join()
    assert len(killed) == kills


def test_a_module_that_writes_to_all_descriptors_when_it_is_imported_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "loud_simulator.py").write_text("from toy_world import write_everywhere\nwrite_everywhere()\n")
    monkeypatch.syspath_prepend(tmp_path)
    reach = MetaworldConfig(task="reach-v3").tasks()[0]
    loud = replace(reach, env=replace(reach.env, preload=("loud_simulator",)))
    with (
        contextlib.closing(ProcessPool(1)) as pool,
        pytest.raises(SetupError, match="something in it wrote into its connection"),
    ):
        pool.prepare([loud])


@pytest.mark.skipif(not shared_kernels(), reason="this processor has kernels of its own")
def test_workers_compute_with_the_same_kernels_on_every_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    with contextlib.closing(Launchers()) as launchers:
        assert launchers.ask(Home(), Ask("os:getenv", {"key": "OPENBLAS_CORETYPE"})) == "Haswell"
