"""Pictures of image transforms: LeRobot's files, and an overview."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from tests.datasets.made import PLAIN, WITH_VIDEO, make_dataset
from tests.helpers import yardarm_here


@pytest.fixture(scope="module")
def film(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_dataset(tmp_path_factory.mktemp("data") / "film", [3, 4], WITH_VIDEO)


def pixels(path: Path) -> np.ndarray:
    return np.asarray(Image.open(path)).astype(int)


def test_each_transform_is_drawn_alone_at_its_ends_and_with_the_others(film: Path, tmp_path: Path) -> None:
    words = ["imgtransform-viz", f"--repo_id={film}", "--image_transforms.enable=True", f"--output_dir={tmp_path}"]
    answer = yardarm_here(*words, "--n_examples=2", "--episodes=[1]")
    assert answer.returncode == 0, answer.stderr
    assert "observation.images.top, frame 0 of episode 1: 6 transforms" in answer.stdout
    folder = tmp_path / "film"
    assert {path.name for path in (folder / "brightness").iterdir()} == {
        f"{name}.png" for name in ("min", "mean", "max", 1, 2)
    }
    assert {path.name for path in (folder / "all").iterdir()} == {"1.png", "2.png"}
    original = pixels(folder / "original_frame.png")
    assert np.abs(pixels(folder / "brightness" / "mean.png") - original).max() <= 1
    dark, bright = pixels(folder / "brightness" / "min.png").mean(), pixels(folder / "brightness" / "max.png").mean()
    assert dark < original.mean() < bright
    width, height = Image.open(folder / "overview.png").size
    assert width > 5 * 192
    assert height > 6 * 192


def test_the_same_seed_draws_the_same_pictures(film: Path, tmp_path: Path) -> None:
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        answer = yardarm_here("imgtransform-viz", f"--root={film}", f"--seed={seed}", f"--output_dir={tmp_path / name}")
        assert answer.returncode == 0, answer.stderr
    first, again, other = (pixels(tmp_path / name / "film" / "brightness" / "1.png") for name in "abc")
    assert (first == again).all()
    assert (first != other).any()


def test_transforms_of_ones_own_are_drawn_where_they_have_ends(film: Path, tmp_path: Path) -> None:
    own = "{blur: {type: MotionBlur, kwargs: {kernel_size: [4, 9]}}, b: {type: ColorJitter, kwargs: {brightness: 0.3}}}"
    words = ["imgtransform-viz", f"--root={film}", f"--image_transforms.tfs={own}", "--n_examples=1"]
    answer = yardarm_here(*words, f"--output_dir={tmp_path}")
    assert answer.returncode == 0, answer.stderr
    assert {path.name for path in (tmp_path / "film" / "blur").iterdir()} == {"1.png", "max.png"}  # 4 and 6 are even
    assert {path.name for path in (tmp_path / "film" / "b").iterdir()} == {"1.png"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--n_examples=2"], "which dataset? Give --repo_id=owner/name or --root=FOLDER"),
        (["--root=FILM", "--image_transforms.enable=false"], "there would be nothing to see"),
        (["--root=FILM", "--image_transforms.tfs={a: {type: Blurr}}"], "image transform 'a': unknown type 'Blurr'"),
        (["--root=FILM", "--camera=top"], "--camera 'top' is unknown"),
        (["--root=FILM", "--n_examples=0"], "--n_examples must be positive, got 0"),
        (["--root=FILM", "--n_example=2"], "unknown option '--n_example'; did you mean 'n_examples'?"),
        (["--root=FILM", "--episodes=[7]"], "7: the dataset has 2 episodes"),
        (["--root=FILM", "--streaming=true"], "--streaming=true: a frame of a dataset on the Hub is downloaded"),
    ],
)
def test_a_mistake_gets_one_line(film: Path, tmp_path: Path, words: list[str], message: str) -> None:
    answer = yardarm_here(
        "imgtransform-viz", f"--output_dir={tmp_path / 'out'}", *[word.replace("FILM", str(film)) for word in words]
    )
    assert answer.returncode == 2
    assert message in answer.stderr
    assert not (tmp_path / "out").exists()


def test_a_dataset_without_images_is_refused(tmp_path: Path) -> None:
    plain = make_dataset(tmp_path / "plain", [3], PLAIN)
    assert "has no images to transform" in yardarm_here("imgtransform-viz", f"--root={plain}").stderr
