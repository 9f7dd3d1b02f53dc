"""Flags that LeRobot spells differently, and flags that have no counterpart here: none is ignored in silence.

docs/from-lerobot.md lists them all.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from yardarm.cli.flags import Flags
from yardarm.errors import UsageError

__all__ = ["ABSENT", "RENAMED", "Absent", "find_answer", "own_spellings", "refuse_absent", "rename"]


@dataclass(frozen=True, slots=True)
class Absent:
    """A flag that has no counterpart: why, and what to do instead."""

    answer: str
    natural: tuple[str, ...] = ()
    """Values that ask for what happens here anyway: they are accepted."""


# A name that ends with a dot stands for everything below it.
Answers = Mapping[str, Absent]

NO_WINDOW = Absent("recording opens no window; `yardarm dataset view DIR` shows the dataset afterwards", ("false",))
ENCODING = Absent("there is nothing to tune about when videos are encoded; --workers=N limits what runs at once")
IMAGE_WRITERS = Absent("the workers write the images; --workers=N sets how many there are")
OTHER_ENCODER_OPTIONS = Absent(
    "yardarm record takes --dataset.vcodec, --dataset.crf and --dataset.g; `yardarm dataset reencode` takes more"
)
IN_BACKGROUND = Absent(
    "another process encodes while episodes are recorded, and what it cannot keep up with waits on disk; omit it"
)
NOT_RECORDED = Absent("evaluations of a training are not recorded; `yardarm eval` records")
WEIGHTING = Absent("samples cannot be weighted here; all of them count the same")
SCHEDULE = Absent("that schedule is VQ-BeT's, which cannot be trained here")
OTHER_OPTIMIZER = Absent("adam and adamw take lr, betas, eps and weight_decay; sgd takes lr, momentum and weight_decay")
OWN_FEATURES = Absent("the world itself says what it offers; --rename_map renames its inputs for a policy")

BY_ENTRY_POINT = Absent("a package's robots register themselves by an entry point: docs/adding-a-robot.md")
FOR_ROBOTS: Answers = {
    "robot.discover_packages_path": BY_ENTRY_POINT,
    "teleop.discover_packages_path": BY_ENTRY_POINT,
}
ON_THE_PAGE = Absent("--view shows cameras and joints in the browser; --view_port=N chooses its port")
FOR_CONTROL: Answers = {
    **FOR_ROBOTS,
    "display_compressed_images": Absent("pictures are compressed for the page anyway; omit it", ("true",)),
    "display_ip": ON_THE_PAGE,
    "display_mode": ON_THE_PAGE,
    "display_port": ON_THE_PAGE,
}
FOR_ALL: Answers = {
    "env.features.": OWN_FEATURES,
    "env.features_map.": OWN_FEATURES,
    "env.discover_packages_path": Absent(
        "a package's benchmarks register themselves by an entry point: docs/adding-a-benchmark.md"
    ),
    "policy.discover_packages_path": Absent("name the class itself: --policy.type=package.module:Name"),
}

ABSENT: Mapping[str, Answers] = {
    "eval": FOR_ALL,
    **dict.fromkeys(("calibrate", "setup-motors", "find-joint-limits", "robot info"), FOR_ROBOTS),
    "replay": {
        **FOR_ROBOTS,
        "dataset.fps": Absent("an episode is played at its dataset's own rate; omit it"),
        "play_sounds": Absent("replaying makes no sounds; omit it", ("false",)),
    },
    "teleoperate": FOR_CONTROL,
    "train": {
        **FOR_ALL,
        "dataset.repo_type": Absent("only datasets can be read, not buckets; omit it", ("dataset",)),
        "dataset.return_uint8": Absent("images are read as bytes wherever that is faster; omit it"),
        "dataset.depth_output_unit": Absent("no policy here reads depth maps; omit it"),
        "dataloader_multiprocessing_context": Absent("the loader chooses how its processes start; omit it"),
        "eval.recording": Absent(NOT_RECORDED.answer, ("false",)),
        "eval.recording_private": NOT_RECORDED,
        "eval.recording_repo_id": NOT_RECORDED,
        "job.": Absent("training runs on this machine; `accelerate launch` uses several GPUs: docs/training.md"),
        "job.target": Absent("training runs on this machine; omit --job.target", ("local", "null")),
        "optimizer.dampening": OTHER_OPTIMIZER,
        "optimizer.nesterov": OTHER_OPTIMIZER,
        "optimizer.optimizer_groups": OTHER_OPTIMIZER,
        "optimizer.soft_prompt_lr_scale": OTHER_OPTIMIZER,
        "optimizer.soft_prompt_warmup_lr_scale": OTHER_OPTIMIZER,
        "persistent_workers": Absent("processes that load data always stay; omit it", ("true",)),
        "rabc_epsilon": WEIGHTING,
        "rabc_head_mode": WEIGHTING,
        "rabc_kappa": WEIGHTING,
        "rabc_progress_path": WEIGHTING,
        "reward_model.": Absent("reward models cannot be trained here"),
        "sample_weighting.": WEIGHTING,
        "save_checkpoint_to_hub": Absent(
            "only the final policy is uploaded, with --policy.repo_id=owner/name", ("false",)
        ),
        "scheduler.num_cycles": SCHEDULE,
        "scheduler.num_vqvae_training_steps": SCHEDULE,
        "use_rabc": Absent(WEIGHTING.answer, ("false",)),
    },
    "record": {
        **FOR_ALL,
        "dataset.depth_encoder.": Absent("no world here has a depth camera; omit it"),
        "dataset.encoder_queue_maxsize": ENCODING,
        "dataset.encoder_threads": ENCODING,
        "dataset.episode_time_s": Absent("episodes are limited in steps: --env.episode_length=N"),
        "dataset.fps": Absent("the world sets the rate, such as 80 frames per second for Meta-World; omit it"),
        "dataset.no_stamp": Absent("the time is never added to a dataset's name; omit it", ("true",)),
        "dataset.num_image_writer_processes": IMAGE_WRITERS,
        "dataset.num_image_writer_threads_per_camera": IMAGE_WRITERS,
        "dataset.reset_time_s": Absent("a simulated world resets at once; omit it"),
        "dataset.rgb_encoder.": OTHER_ENCODER_OPTIONS,
        "dataset.single_task": Absent(
            "the tasks of --env.task bring their instructions; `yardarm dataset rename-task` rewords one afterwards"
        ),
        "dataset.streaming_encoding": ENCODING,
        "dataset.video_encoding_batch_size": ENCODING,
        "display_compressed_images": NO_WINDOW,
        "display_data": NO_WINDOW,
        "display_ip": NO_WINDOW,
        "display_mode": NO_WINDOW,
        "display_port": NO_WINDOW,
        "play_sounds": Absent("recording makes no sounds; omit it", ("false",)),
        "resume": Absent(
            "the same command resumes a recording by itself, and a larger --n_episodes adds episodes; omit it"
        ),
    },
    "record on a robot": {
        **FOR_CONTROL,
        **dict.fromkeys(("dataset.encoder_queue_maxsize", "dataset.encoder_threads"), IN_BACKGROUND),
        "dataset.depth_encoder.": Absent("depth maps are stored exactly, as 16-bit pictures; omit it"),
        "dataset.num_image_writer_processes": IN_BACKGROUND,
        "dataset.num_image_writer_threads_per_camera": IN_BACKGROUND,
        "dataset.rgb_encoder.": Absent(
            "yardarm record takes --dataset.vcodec, crf, g, preset and pix_fmt; `yardarm dataset reencode` takes more"
        ),
        "dataset.streaming_encoding": Absent(IN_BACKGROUND.answer, ("true",)),
        "dataset.video_encoding_batch_size": Absent(IN_BACKGROUND.answer, ("1",)),
        "env.": Absent("a recording is on a robot or in simulation; omit --env.… or --robot.… and --teleop.…"),
        "play_sounds": Absent("recording makes no sounds; omit it", ("false",)),
        "policy.": Absent("a policy on a robot cannot be recorded yet; --teleop.type=… names who moves it"),
    },
}

CHECKPOINT = {"policy.pretrained_path": "policy.path", "policy.pretrained_revision": "policy.revision"}
RENAMED: Mapping[str, Mapping[str, str]] = {
    "eval": CHECKPOINT,
    "replay": {"dataset.episode": "episode"},
    "teleoperate": {"display_data": "view"},
    "record on a robot": {
        "display_data": "view",
        **{f"dataset.rgb_encoder.{name}": f"dataset.{name}" for name in ("vcodec", "crf", "g", "preset", "pix_fmt")},
    },
    "train": CHECKPOINT,
    "record": {
        **CHECKPOINT,
        "dataset.num_episodes": "n_episodes",
        "dataset.rename_map": "rename_map",
        "dataset.rgb_encoder.crf": "dataset.crf",
        "dataset.rgb_encoder.g": "dataset.g",
        "dataset.rgb_encoder.vcodec": "dataset.vcodec",
    },
}


def own_spellings(command: str, flags: Flags) -> Flags:
    """A command's flags as Yardarm spells them; raise for one of LeRobot's that has no counterpart."""
    return refuse_absent(rename(flags, RENAMED.get(command, {})), ABSENT.get(command, {}))


def rename(flags: Flags, renamed: Mapping[str, str]) -> Flags:
    """The flags under Yardarm's names; raise if one is given under both."""
    own: Flags = {}
    for name, value in flags.items():
        new = renamed.get(name, name)
        if new != name and new in flags:
            raise UsageError(f"--{name} and --{new} are two names of one option; give one of them")
        own[new] = value
    return own


def refuse_absent(flags: Flags, absent: Answers) -> Flags:
    """The flags without those that ask for what happens anyway; raise for one that asks for anything else."""
    own: Flags = {}
    for name, value in flags.items():
        found = find_answer(name, absent)
        if found is None:
            own[name] = value
        elif value.lower() not in found.natural:
            raise UsageError(f"--{name}={value}: {found.answer}")
    return own


def find_answer(name: str, absent: Answers) -> Absent | None:
    """What is said of a flag that has no counterpart, if it has none."""
    if name in absent:
        return absent[name]
    return next((found for key, found in absent.items() if key.endswith(".") and f"{name}.".startswith(key)), None)
