"""Pictures of a twin are drawn in a process of their own."""

from __future__ import annotations

import io

import pytest
from PIL import Image, ImageChops

from yardarm.errors import SetupError
from yardarm.robots.twins import Painter, Twin, Viewpoint


@pytest.mark.slow
def test_a_picture_shows_the_arm_as_it_is_now() -> None:
    with Twin("koch_leader", real_time=False) as twin:
        painter = Painter(twin)
        try:
            before, again = (Image.open(io.BytesIO(painter.paint(Viewpoint(width=160, height=120)))) for _ in range(2))
            twin.place({"shoulder_lift": 60.0, "elbow_flex": -40.0})
            after = Image.open(io.BytesIO(painter.paint(Viewpoint(width=160, height=120))))
        finally:
            painter.close()
    assert before.size == (160, 120)
    assert ImageChops.difference(before, again).getbbox() is None
    assert ImageChops.difference(before, after).getbbox() is not None


def test_a_machine_that_cannot_draw_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    with Twin("koch_leader", real_time=False) as twin:
        monkeypatch.setenv("MUJOCO_GL", "nonsense")
        painter = Painter(twin)
        for _ in range(2):
            with pytest.raises(SetupError, match=r"pictures cannot be drawn: .*MUJOCO_GL"):
                painter.paint()
        painter.close()


def test_a_camera_stays_where_something_can_be_seen() -> None:
    camera = Viewpoint.from_values(azimuth=-30.0, elevation=80.0, distance=9.0, width=5000)
    assert camera == Viewpoint(330.0, 5.0, 2.0, 1280, 960)
