"""Every extra works alone, and any two worlds share an environment, in whichever order they are installed.

One environment holds Yardarm and what it always needs; each combination is a thin one on top of that, and `pip` keeps
what it has downloaded.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from yardarm.envs.launching import Launchers
from yardarm.tasks import Home

ROOT = Path(__file__).parent.parent
WORLDS = ("metaworld", "libero", "pusht", "aloha", "gym")
# What `yardarm info` says of a world that works; it draws a frame of each.
WORKS = {"pusht": "ready", "gym": "installed"}
IMPORTS = {
    "figures": "matplotlib.pyplot",
    "notebook": "pandas, ipykernel, matplotlib.pyplot",
    "peft": "peft",
    "ray": "ray",
    "rerun": "rerun",
    "text": "wordllama",
    "vla": "transformers",
    "wandb": "wandb",
}

pytestmark = [pytest.mark.slow, pytest.mark.timeout(3600)]


def run(*words: object) -> subprocess.CompletedProcess[str]:
    outside = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "YARDARM"))}
    home = {"YARDARM_HOME": os.environ["YARDARM_HOME"]}
    return subprocess.run([str(word) for word in words], capture_output=True, text=True, env={**outside, **home})


def site_packages(venv: Path) -> Path:
    (folder,) = (venv / "lib").glob("python*/site-packages")
    return folder


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """An environment with Yardarm's wheel and what it always needs."""
    folder = tmp_path_factory.mktemp("core")
    reached = run(sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", folder, "gym-pusht")
    if reached.returncode:
        pytest.skip(f"pip reaches no index: {reached.stderr.strip().splitlines()[-1]}")
    shutil.copytree(ROOT, folder / "source", ignore=shutil.ignore_patterns(".*", "outputs"))  # a build leaves files
    built = run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, folder / "source")
    assert built.returncode == 0, built.stdout
    (wheel,) = folder.glob("yardarm-*.whl")
    run(sys.executable, "-m", "venv", folder / "venv")
    installed = run(folder / "venv" / "bin" / "pip", "install", wheel)
    assert installed.returncode == 0, installed.stderr
    yield folder / "venv"
    shutil.rmtree(folder)


class Layer:
    """A thin environment on top of the core one."""

    def __init__(self, core: Path, folder: Path) -> None:
        self._pip = core / "bin" / "pip"
        self.python = folder / "bin" / "python"
        assert run(sys.executable, "-m", "venv", "--without-pip", folder).returncode == 0
        (site_packages(folder) / "core.pth").write_text(f"{site_packages(core)}\n")

    def pip(self, *words: str) -> subprocess.CompletedProcess[str]:
        return run(self._pip, "--python", self.python, *words)

    def install(self, extra: str) -> None:
        answer = self.pip("install", f"yardarm[{extra}]")
        assert answer.returncode == 0, answer.stderr
        assert "incompatible" not in answer.stderr, answer.stderr

    def check_versions(self) -> None:
        answer = self.pip("check")
        assert answer.returncode == 0, answer.stdout

    def check_worlds(self, *worlds: str) -> None:
        answer = run(self.python, "-m", "yardarm", "info")
        print(answer.stdout)  # for the record: `pytest -rP`
        assert answer.returncode == 0, answer.stdout
        for world in worlds:
            assert re.search(rf"^{world} +{WORKS.get(world, 'ready, renders with')}", answer.stdout, re.MULTILINE)


@pytest.fixture
def layer(core: Path, tmp_path: Path) -> Iterator[Layer]:
    yield Layer(core, tmp_path / "venv")
    shutil.rmtree(tmp_path / "venv")  # LIBERO alone takes more than a gigabyte


@pytest.mark.parametrize("world", WORLDS)
def test_a_world_alone_works(world: str, layer: Layer) -> None:
    layer.install(world)
    layer.check_versions()
    layer.check_worlds(world)


@pytest.mark.parametrize(("first", "second"), list(itertools.permutations(WORLDS, 2)))
def test_two_worlds_work_together_in_either_order(first: str, second: str, layer: Layer) -> None:
    layer.install(first)
    layer.install(second)
    layer.check_versions()
    layer.check_worlds(first, second)


def test_all_worlds_work_together(layer: Layer) -> None:
    layer.install("worlds")
    layer.check_versions()
    layer.check_worlds(*WORLDS)


@pytest.mark.parametrize("version", ["3.3.0", "3.4.0", "3.8.1", "4.0.0"])
def test_workers_render_with_any_mujoco(version: str, layer: Layer) -> None:
    answer = layer.pip("install", f"mujoco=={version}")
    assert answer.returncode == 0, answer.stderr
    with contextlib.closing(Launchers()) as launchers:
        _, renderer = launchers.find_renderer(Home(("mujoco",), str(layer.python)))
    assert renderer


@pytest.mark.parametrize("extra", IMPORTS)
def test_another_extra_can_be_imported(extra: str, layer: Layer) -> None:
    layer.install(extra)
    layer.check_versions()
    answer = run(layer.python, "-c", f"import yardarm, {IMPORTS[extra]}")
    assert answer.returncode == 0, answer.stderr
