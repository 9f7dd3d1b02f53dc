"""LeRobot reads what is recorded on a robot here."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.datasets.test_lerobot import LEROBOT_PYTHON, READING
from tests.recording.robot.ticks import job_for, ticks
from yardarm.datasets import LeRobotDataset, VideoEncoding
from yardarm.recording.robot import EncoderProcess

CAMERAS = {"front": (32, 48, 3), "wrist": (64, 64, 3)}


@pytest.mark.slow
@pytest.mark.skipif(not LEROBOT_PYTHON, reason="LEROBOT_PYTHON names no interpreter that has LeRobot")
def test_lerobot_reads_what_was_recorded_removed_and_resumed(tmp_path: Path) -> None:
    root = tmp_path / "cube"
    for resume in (False, True):
        with EncoderProcess(job_for(root, CAMERAS, resume=resume, encoding=VideoEncoding())) as encoder:
            for episode, length in enumerate((6, 4, 3)):
                for tick in ticks(episode, length, CAMERAS):
                    encoder.add(tick)
                encoder.save_episode()
            encoder.remove_last()
            encoder.finish()
    done = subprocess.run(
        [str(LEROBOT_PYTHON), "-c", READING, str(root)],
        env={**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(tmp_path / "hf")},
        **{"capture_output": True, "text": True, "timeout": 400},
    )
    assert done.returncode == 0, done.stderr
    items: list[dict[str, Any]] = json.loads(done.stdout.splitlines()[-1])
    assert len(items) == 20
    for found, item in zip(items, LeRobotDataset(root=root), strict=True):
        assert found.keys() == item.keys()
        for name, value in item.items():
            if isinstance(value, str):
                assert found[name] == value
            else:
                assert np.allclose(found[name], value.numpy(), atol=1e-6)
