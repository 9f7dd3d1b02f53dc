"""The built wheel works without a checkout."""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_wheel_runs_an_evaluation_without_a_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
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
