"""The built wheel works without a checkout."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, because a build leaves files in the folder that it builds."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in ("pyproject.toml", "README.md", "LICENSE", "src", "serve"):
        source, copy = ROOT / name, folder / "source" / name
        if source.is_dir():
            shutil.copytree(source, copy, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        else:
            copy.parent.mkdir(exist_ok=True)
            shutil.copy(source, copy)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder / "dist"]
    subprocess.run([*build, folder / "source"], check=True, capture_output=True)
    (wheel,) = (folder / "dist").glob("*.whl")
    return wheel


def test_the_wheel_has_every_file_of_the_package(wheel: Path) -> None:
    packed = set(zipfile.ZipFile(wheel).namelist())
    for folder in (ROOT / "src", ROOT / "serve" / "src"):
        files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}
        own = {path for path in files if "__pycache__" not in path and ".egg-info" not in path}
        assert own <= packed


def test_the_wheel_runs_a_command_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    run = "import sys; from yardarm.cli import main; sys.exit(main(['tasks', 'metaworld']))"
    answer = subprocess.run(
        [sys.executable, "-c", run],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(tmp_path / "site")},
    )
    assert answer.returncode == 0, answer.stderr
    assert "assembly-v3" in answer.stdout


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_runs_an_evaluation_without_a_checkout(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    bin_folder = tmp_path / "venv" / "bin"
    subprocess.run([bin_folder / "pip", "install", "--quiet", f"{wheel}[metaworld]"], check=True)
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    flags = "--policy.type=expert --env.type=metaworld --env.task=reach-v3 --eval.n_episodes=2 --eval.videos=1"
    answer = subprocess.run(
        [bin_folder / "yardarm", "eval", *flags.split(), "--output_dir=run"],
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env=environment,
    )
    assert answer.returncode == 0, answer.stderr
    served = subprocess.run(
        [bin_folder / "yardarm-serve", "--version"], capture_output=True, text=True, env=environment
    )
    assert served.stdout.startswith("yardarm-serve ")
    assert (tmp_path / "run" / "eval_info.json").exists()
    assert "yardarm/charts" in (tmp_path / "run" / "report.html").read_text()  # the browser's code is in the wheel
    assert list((tmp_path / "run" / "videos").rglob("*.mp4"))
