"""What is advised where nothing renders."""

from __future__ import annotations

import pytest

from yardarm.envs import rendering


@pytest.mark.parametrize(
    ("libraries", "mesa_is_missing"),
    [
        ([], True),
        (["EGL"], True),  # the front of it, without a driver behind
        (["EGL", "EGL_mesa"], False),
        (["EGL", "EGL_nvidia"], False),
        (["OSMesa"], False),
    ],
)
def test_mesa_is_advised_only_where_it_is_missing(
    libraries: list[str], mesa_is_missing: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    # This machine has Mesa, else most tests would fail: what the system would answer is all that is made up here.
    monkeypatch.setattr(rendering, "find_library", lambda name: name if name in libraries else None)
    monkeypatch.delenv("MUJOCO_GL", raising=False)
    hint = rendering.missing_renderer_hint()
    assert ("apt-get install libegl1" in hint) == mesa_is_missing
    assert ("yardarm setup BENCHMARK" in hint) != mesa_is_missing
