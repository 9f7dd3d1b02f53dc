"""What is sent, and what is played: names, pictures, rotations, actions."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

from yardarm.policies.remote.mapping import ActionMapping, ObservationMapping
from yardarm.policies.remote.presets import PRESETS
from yardarm.tasks import BENCHMARKS

PICTURE = np.random.default_rng(0).integers(0, 256, (6, 8, 3), np.uint8)


def picture(**options: object) -> np.ndarray:
    mapping = ObservationMapping({"x": {"from": "observation.image", **options}})
    return mapping.apply({"observation.image": PICTURE}, "")["x"]


def test_names_may_be_nested_and_text_is_the_instruction() -> None:
    mapping = ObservationMapping(
        {"images": {"front": "observation.image"}, "a/b": "observation.state", "say": "instruction"}
    )
    sent = mapping.apply({"observation.image": PICTURE, "observation.state": np.arange(3.0)}, "Push it")
    assert mapping.inputs == ("observation.image", "observation.state")
    assert sent.keys() == {"images", "a/b", "say"}
    assert (sent["images"]["front"] == PICTURE).all()
    assert sent["say"] == "Push it"


def test_pictures_are_turned_and_their_channels_moved() -> None:
    assert (picture(rotate=180) == PICTURE[::-1, ::-1]).all()
    assert picture(rotate=90).shape == (8, 6, 3)
    assert (picture(channels_first=True) == PICTURE.transpose(2, 0, 1)).all()
    assert picture(rotate=180).flags.c_contiguous


@given(st.integers(1, 30), st.integers(1, 30))
def test_a_padded_picture_keeps_its_proportions_and_stays_in_the_middle(height: int, width: int) -> None:
    white = np.full((6, 8, 3), 255, np.uint8)
    mapping = ObservationMapping({"x": {"from": "i", "resize": [height, width]}})
    if min(height / 6, width / 8) * 6 < 1:
        return  # nothing is left of it
    grey = mapping.apply({"i": white}, "")["x"][..., 0]
    assert grey.shape == (height, width)
    rows, columns = np.flatnonzero(grey.any(axis=1)), np.flatnonzero(grey.any(axis=0))
    assert len(rows) == height or len(columns) == width
    assert abs(rows[0] - (height - 1 - rows[-1])) <= 1
    assert abs(columns[0] - (width - 1 - columns[-1])) <= 1


def test_a_picture_may_be_stretched_instead() -> None:
    assert (picture(resize=[3, 3], pad=False)[0] > 0).any()
    assert not picture(resize=[8, 8])[0].any()


def test_a_state_is_taken_apart_and_its_rotation_rewritten() -> None:
    rotation = Rotation.from_euler("xyz", [0.1, -0.4, 2.0])
    state = np.concatenate([[1, 2, 3], rotation.as_rotvec(), [0.5, -0.5]])

    def sent(form: str) -> np.ndarray:
        parts = ["s[0:3]", f"s[3:6] as {form}", "s[6:]"]
        return ObservationMapping({"x": {"from": parts, "dtype": "float32"}}).apply({"s": state}, "")["x"]

    assert sent("quat_xyzw").dtype == np.float32
    np.testing.assert_allclose(sent("quat_xyzw")[3:7], rotation.as_quat(canonical=True), atol=1e-6)
    np.testing.assert_allclose(sent("quat_wxyz")[4:7], sent("quat_xyzw")[3:6])
    np.testing.assert_allclose(sent("euler_xyz")[3:6], [0.1, -0.4, 2.0], atol=1e-6)
    np.testing.assert_allclose(sent("rot6d")[3:9].reshape(2, 3).T, rotation.as_matrix()[:, :2], atol=1e-6)
    np.testing.assert_allclose(sent("quat_xyzw")[-2:], [0.5, -0.5])


@given(st.lists(st.floats(-9, 9), min_size=3, max_size=3))
def test_an_axis_angle_of_more_than_half_a_turn_becomes_the_same_turn_the_short_way(vector: list[float]) -> None:
    mapping = ObservationMapping({"x": "s as axis_angle"})
    short = mapping.apply({"s": np.array(vector)}, "")["x"]
    assert np.linalg.norm(short) <= np.pi + 1e-9
    np.testing.assert_allclose(
        Rotation.from_rotvec(short).as_matrix(), Rotation.from_rotvec(vector).as_matrix(), atol=1e-6
    )


def test_actions_are_taken_scaled_shifted_and_made_binary() -> None:
    mapping = ActionMapping.parse({"take": "1:4", "scale": {"2": 2}, "offset": {2: -1}, "binary": [2]})
    actions = np.array([[9, 1, 2, 0.0], [9, 1, 2, 0.5], [9, 1, 2, 1.0]], np.float32)
    assert mapping.apply(actions).tolist() == [[1, 2, -1], [1, 2, 1], [1, 2, 1]]
    assert actions[0, 3] == 0, "the server's own array is left alone"


@pytest.mark.parametrize(("protocol", "benchmark"), PRESETS)
def test_presets_read_what_their_benchmark_offers(protocol: str, benchmark: str) -> None:
    mapping = ObservationMapping(PRESETS[protocol, benchmark].observations)
    features = BENCHMARKS.load(benchmark).catalogue()[0].env.features
    assert set(mapping.inputs) <= set(features)
    sent = mapping.apply({name: np.zeros(feature.shape, feature.dtype) for name, feature in features.items()}, "Go")
    if protocol == "openpi":
        assert sent["observation/image"].shape == (224, 224, 3)
        assert sent["observation/state"].dtype == np.float64
        assert sent["prompt"] == "Go"
    else:
        assert sent["task_description"] == "Go"
        assert all(image.ndim == 3 for image in sent["images"].values())
