"""Pipelines: read in their order, applied to whole batches, written as they were read."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from yardarm.errors import UsageError
from yardarm.policies.learned.config import FeatureType, NormalizationMode, PolicyFeature
from yardarm.policies.processing import Normalize, Pipeline, Rename, StoredPipeline, ToBatch, ToDevice, Unnormalize


class Files:
    """A checkpoint's folder, in memory."""

    def __init__(self, stored: StoredPipeline) -> None:
        self._stored = stored

    def read_tensors(self, name: str) -> Mapping[str, torch.Tensor]:
        return self._stored.tensors[name]

    def read_bytes(self, name: str) -> bytes:
        return self._stored.files[name]


STATE = {"observation.state": PolicyFeature(FeatureType.STATE, (3,))}
MODES = [mode for mode in NormalizationMode if mode is not NormalizationMode.IDENTITY]
FINITE = st.floats(-100, 100, width=32)


def statistics(low: list[float], width: list[float]) -> dict[str, dict[str, torch.Tensor]]:
    first, second = torch.tensor(low), torch.tensor(low) + torch.tensor(width)
    names = {"min": first, "max": second, "q01": first, "q99": second, "q10": first, "q90": second}
    return {"observation.state": {**names, "mean": first, "std": torch.tensor(width)}}


@pytest.mark.parametrize("mode", MODES)
@given(
    low=st.lists(FINITE, min_size=3, max_size=3),
    width=st.lists(st.floats(0.125, 100, width=32), min_size=3, max_size=3),
    place=st.lists(st.floats(-2, 2, width=32), min_size=3, max_size=3),
)
def test_the_way_back_undoes_the_way_there(
    mode: NormalizationMode, low: list[float], width: list[float], place: list[float]
) -> None:
    known, modes = statistics(low, width), {FeatureType.STATE: mode}
    value = torch.tensor(low) + torch.tensor(place) * torch.tensor(width)
    there = Normalize(STATE, modes, known)({"observation.state": value[None]})
    back = Unnormalize(STATE, modes, known)(there)["observation.state"][0]
    torch.testing.assert_close(back, value, atol=1e-3, rtol=1e-4)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode is not NormalizationMode.MEAN_STD])
def test_a_range_becomes_minus_one_to_one_and_a_constant_minus_one(mode: NormalizationMode) -> None:
    normalize = Normalize(STATE, {FeatureType.STATE: mode}, statistics([2.0, -1.0, 5.0], [4.0, 0.5, 0.0]))
    low, high = torch.tensor([[2.0, -1.0, 5.0]]), torch.tensor([[6.0, -0.5, 5.0]])
    assert normalize({"observation.state": low})["observation.state"].tolist() == [[-1.0, -1.0, -1.0]]
    assert normalize({"observation.state": high})["observation.state"].tolist() == [[1.0, 1.0, -1.0]]


def test_what_has_no_statistics_or_is_not_named_passes_as_it_is() -> None:
    value = {"observation.state": torch.rand(2, 3)}
    modes = {FeatureType.STATE: NormalizationMode.MEAN_STD}
    known = statistics([1.0] * 3, [2.0] * 3)
    for normalize in (
        Normalize(STATE, modes, {}),
        Normalize(STATE, {}, known),
        Normalize(STATE, {FeatureType.STATE: NormalizationMode.IDENTITY}, known),
        Normalize(STATE, modes, known, only=("observation.image",)),
    ):
        assert torch.equal(normalize(value)["observation.state"], value["observation.state"])


def test_actions_are_treated_even_if_a_file_does_not_list_them() -> None:
    known = {"action": {"mean": torch.full((2,), 100.0), "std": torch.ones(2)}}
    unnormalize = Unnormalize({}, {FeatureType.ACTION: NormalizationMode.MEAN_STD}, known)
    assert unnormalize({"action": torch.zeros(1, 2)})["action"].tolist() == [[100.0, 100.0]]


def test_statistics_that_a_mode_needs_must_be_there_and_fit() -> None:
    modes = {FeatureType.STATE: NormalizationMode.QUANTILES}
    with pytest.raises(UsageError, match=r"the statistics of 'observation.state' lack 'q01'; they have mean, std"):
        Normalize(STATE, modes, {"observation.state": {"mean": torch.zeros(3), "std": torch.ones(3)}})
    with pytest.raises(UsageError, match=r"'q01' of 'observation.state' has values that are not finite"):
        Normalize(STATE, modes, statistics([float("nan")] * 3, [1.0] * 3))
    with pytest.raises(UsageError, match=r"has the shape \(2,\), which does not fit \(3,\)"):
        Normalize(STATE, modes, statistics([1.0] * 2, [1.0] * 2))


def test_steps_act_in_the_order_that_the_file_gives() -> None:
    """Renaming before or after normalising makes a difference."""
    rename = Rename({"state": "observation.state"})
    normalize = Normalize(STATE, {FeatureType.STATE: NormalizationMode.MEAN_STD}, statistics([1.0] * 3, [2.0] * 3))
    seen = {"state": torch.ones(1, 3)}
    for steps, expected in (((rename, normalize), 0.0), ((normalize, rename), 1.0)):
        stored = Pipeline("p", steps).stored()
        pipeline = Pipeline.from_json(stored.data, Files(stored))
        assert pipeline(seen)["observation.state"].tolist() == [[expected] * 3]


def test_a_pipeline_is_read_as_it_was_written() -> None:
    normalize = Normalize(
        STATE, {FeatureType.STATE: NormalizationMode.MIN_MAX}, statistics([1.0] * 3, [2.0] * 3), eps=1e-6, only=()
    )
    written = Pipeline("p", [Rename({"a": "b"}), ToBatch(), ToDevice("cpu", "float32"), normalize]).stored()
    again = Pipeline.from_json(written.data, Files(written)).stored()
    assert again.data == written.data
    assert [*again.tensors] == ["p_step_3_normalizer_processor.safetensors"]
    for file, tensors in written.tensors.items():
        assert all(torch.equal(again.tensors[file][key], value) for key, value in tensors.items())


def test_a_device_step_changes_floats_only() -> None:
    moved = ToDevice("cpu", "bfloat16")({"x": torch.ones(1), "n": torch.ones(1, dtype=torch.int64)})
    assert (moved["x"].dtype, moved["n"].dtype) == (torch.bfloat16, torch.int64)
    with pytest.raises(UsageError, match="float_dtype 'float3' is no type of torch"):
        ToDevice("cpu", "float3")
