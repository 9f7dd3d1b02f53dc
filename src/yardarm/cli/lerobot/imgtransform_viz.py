"""``yardarm imgtransform-viz``: pictures of what image transforms do to a frame of a dataset, with LeRobot's flags."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from yardarm.cli.flags import Flags, describe, listed, read_flags
from yardarm.cli.lerobot.spellings import Absent, refuse_absent
from yardarm.cli.sections import typed
from yardarm.config import decode, deepened, one_of, option, positive
from yardarm.datasets import ImageTransformsConfig
from yardarm.errors import UsageError
from yardarm.tasks import FIRST_SEED

if TYPE_CHECKING:
    from torch import Tensor

__all__ = ["read_options", "run"]

COMMAND = "imgtransform-viz"
ORIGINAL, SHEET = "original_frame.png", "overview.png"
MOST_EXAMPLES = 50
NO_PICTURE = Absent("it does not change what is drawn; omit it")
ABSENT = {
    "depth_output_unit": NO_PICTURE,
    "eval_split": NO_PICTURE,
    "image_transforms.enable": Absent("there would be nothing to see; omit it", ("true",)),
    "repo_type": Absent("only datasets can be read, not buckets; omit it", ("dataset",)),
    "return_uint8": NO_PICTURE,
    "streaming": Absent("a frame of a dataset on the Hub is downloaded with its episode; omit it", ("false",)),
    "use_imagenet_stats": NO_PICTURE,
}


@dataclass
class VizOptions:
    """The flags."""

    repo_id: str = option("", "the dataset: owner/name in $HF_LEROBOT_HOME or on the Hub, or its folder")
    root: Path | None = option(None, "its folder, if it is elsewhere")
    episodes: list[int] | None = option(None, "draw the first frame of the first of these episodes [0]")
    revision: str | None = option(None, "for datasets on the Hub: a branch, a tag or a commit")
    video_backend: str | None = option(None, "pyav or torchcodec [the faster installed one]")
    camera: str = option("", "the camera, such as observation.image [the first]")
    image_transforms: ImageTransformsConfig = field(
        default_factory=ImageTransformsConfig,
        metadata={"help": "as in training: --image_transforms.max_num_transforms=2, --image_transforms.tfs='{…}'"},
    )
    n_examples: int = option(5, "random examples of each transform, and of all together")
    seed: int = option(FIRST_SEED, "the seed of the random examples")
    output_dir: Path = option(Path("outputs/image_transforms"), "the pictures go into a folder in this one")

    def __post_init__(self) -> None:
        positive("--n_examples", self.n_examples)
        if self.n_examples > MOST_EXAMPLES:
            raise UsageError(f"--n_examples must be at most {MOST_EXAMPLES}, got {self.n_examples}")
        if not self.repo_id and self.root is None:
            raise UsageError("which dataset? Give --repo_id=owner/name or --root=FOLDER")


def run(words: Sequence[str]) -> int:
    """Write the pictures, and one overview of them all."""
    plain, flags = read_flags(words)
    if "help" in flags or not words:
        print(_help())
        return 0
    if plain:
        raise UsageError(f"yardarm {COMMAND} takes flags only, not '{plain[0]}'")
    _write(read_options(flags))
    return 0


def read_options(flags: Flags) -> VizOptions:
    """The options, with transforms as in training."""
    own = refuse_absent(flags, ABSENT)
    data = deepened({name: typed(text) for name, text in own.items()})
    options: VizOptions = decode(VizOptions, "", data, COMMAND)
    return options


def _write(options: VizOptions) -> None:
    from yardarm.datasets import LeRobotDataset, transform_examples

    episodes = (options.episodes or [0])[:1]
    dataset = LeRobotDataset(
        options.repo_id,
        options.root,
        episodes=episodes,
        revision=options.revision,
        video_backend=options.video_backend,
    )
    cameras = [name for name, feature in dataset.meta.readable.items() if feature.is_visual and not feature.is_depth]
    if not cameras:
        raise UsageError(f"{dataset.root} has no images to transform")
    camera = options.camera or cameras[0]
    one_of("--camera", camera, cameras)
    frame: Tensor = dataset[0][camera]
    shown = transform_examples(options.image_transforms, frame, options.n_examples, options.seed)
    folder = options.output_dir.expanduser() / Path(options.repo_id or dataset.root).name
    _save(folder / ORIGINAL, _pixels(frame))
    for name, pictures in shown.items():
        for number, picture in pictures.items():
            _save(folder / name / f"{number}.png", _pixels(picture))
    sheet = _overview(_pixels(frame), shown, folder / SHEET)
    print(f"{camera}, frame 0 of episode {episodes[0]}: {len(shown) - 1} transforms, each alone and all together")
    print(f"Pictures: {folder}\nOverview: {sheet}")


def _overview(original: np.ndarray, shown: Mapping[str, Mapping[str, Tensor]], path: Path) -> Path:
    """A row for each transform, after one with the original and all transforms together."""
    from yardarm.report import contact_sheet

    columns = 1 + max(map(len, shown.values()))
    blank = np.full_like(original, 255)
    pictures = []
    for name, examples in shown.items():
        row = [(original, "original"), *((_pixels(own), f"{name}: {number}") for number, own in examples.items())]
        pictures += row + [(blank, "")] * (columns - len(row))
    contact_sheet(pictures, columns).save(path)
    return path


def _pixels(image: Tensor) -> np.ndarray:
    pixels: np.ndarray = (image * 255).round().byte().movedim(0, -1).numpy()
    return pixels if pixels.shape[-1] == 3 else np.repeat(pixels, 3, axis=-1)


def _save(path: Path, pixels: np.ndarray) -> None:
    from PIL import Image

    path.parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(path)


def _help() -> str:
    return (
        "Show what image transforms do to a frame: each alone, at random and at the ends of its range; and all\n"
        "together, as in training with --dataset.image_transforms.enable=true.\n\n"
        f"usage: yardarm {COMMAND} --repo_id=…|--root=… [--flag=value …]\n\n{listed(describe(VizOptions))}\n\n"
        "example:\n"
        f"  yardarm {COMMAND} --root=data/reach --image_transforms.max_num_transforms=2 --output_dir=outputs/look"
    )
