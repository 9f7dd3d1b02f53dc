"""Several processes train one policy: on a CPU here, as on several GPUs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.training.made import demonstrations
from tests.training.test_command import TINY
from tests.training.test_resume import assert_same, weights


def two_processes(*words: object) -> str:
    launched = [sys.executable, "-m", "torch.distributed.run", "--nproc_per_node=2", "--standalone", "-m", "yardarm"]
    result = subprocess.run([*launched, *map(str, words)], capture_output=True, text=True, timeout=240)
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.mark.slow
def test_two_processes_share_each_batch_and_go_on_exactly(tmp_path: Path) -> None:
    data = demonstrations(tmp_path / "data")
    words = ("train", *TINY, f"--dataset.root={data}", "--steps=6", "--log_freq=2")
    said = two_processes(*words, "--save_freq=0", f"--output_dir={tmp_path / 'whole'}")
    assert "2 × cpu" in said
    assert said.count("Policy:") == 1, "the first process alone tells"
    two_processes(*words, "--save_freq=4", f"--output_dir={tmp_path / 'parts'}")
    two_processes("train", "--resume=true", f"--config_path={tmp_path / 'parts' / 'checkpoints' / '000004'}")
    assert_same(weights(tmp_path / "parts"), weights(tmp_path / "whole"))
