"""The configuration of a training: LeRobot's flags, with the same names and meanings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from yardarm.config import fit_fields, one_of, option, positive
from yardarm.datasets import ImageTransformsConfig
from yardarm.errors import UsageError, nearest
from yardarm.evaluation import EvalOptions
from yardarm.policies import ARCHITECTURES, PeftOptions
from yardarm.tasks import FIRST_SEED, BenchmarkConfig
from yardarm.tracking import WandbOptions

__all__ = ["TrainConfig", "TrainDatasetOptions", "TrainEvalOptions", "TrainOptions"]

PRECISIONS = ("", "no", "bf16", "fp16")
TASK_VECTORS = ("", "mt10", "mt50", "tasks", "text")
LONGEST_NAME = 100
MOST_WORKERS = 128
EVAL_FREQ = SAVE_FREQ = 20_000


@dataclass
class TrainDatasetOptions:
    """Flags below ``--dataset.``."""

    repo_id: str = option("", "owner/name on the Hub, or in $HF_LEROBOT_HOME")
    root: Path | None = option(None, "the dataset's folder, if it is elsewhere on this machine")
    episodes: list[int] | None = option(None, "train only on these episodes, like [0,1,2]")
    revision: str | None = option(None, "for datasets on the Hub: a branch, a tag or a commit")
    image_transforms: ImageTransformsConfig = field(
        default_factory=ImageTransformsConfig,
        metadata={"help": "augmentation: --dataset.image_transforms.enable=true, .max_num_transforms, …"},
    )
    use_imagenet_stats: bool = option(
        True, "normalise images with ImageNet's statistics, as pretrained backbones expect"
    )
    video_backend: str | None = option(None, "pyav or torchcodec [the faster installed one]")
    streaming: bool = option(
        False, "stream episodes, for datasets that do not fit on this machine; resuming is then not exact"
    )
    eval_split: float = option(0.0, "the fraction of each task's episodes to hold out, for --eval_steps")
    check: bool = option(True, "look for idle, jumping, duplicate and broken episodes first, and say so; takes seconds")

    def __post_init__(self) -> None:
        fit_fields(self, "--dataset.")
        if not self.repo_id and self.root is None:
            raise UsageError("which dataset? Give --dataset.repo_id=owner/name or --dataset.root=FOLDER")
        if not 0 <= self.eval_split < 1:
            raise UsageError(f"--dataset.eval_split must be at least 0 and below 1, got {self.eval_split}")
        if self.episodes is not None and len(set(self.episodes)) < len(self.episodes):
            raise UsageError(f"--dataset.episodes names an episode twice: {self.episodes}")
        if self.streaming and self.eval_split:
            raise UsageError("--dataset.eval_split is for datasets that are not streamed")


@dataclass
class TrainEvalOptions(EvalOptions):
    """Flags below ``--eval.``: those of ``yardarm eval``, and how it runs beside the training."""

    background: bool | None = option(
        None, "evaluate while training continues [true, if there is more than one core or device]"
    )
    cores: int = option(0, "cores reserved for evaluations in the background; 0: a quarter, at least one")
    device: str = option("", "device for evaluations [a GPU other than the training's, if there is one]")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.cores < 0:
            raise UsageError(f"--eval.cores must not be negative, got {self.cores}")


@dataclass
class TrainOptions:
    """Flags that stand by themselves."""

    steps: int = option(100_000, "the number of training steps (weight updates)")
    batch_size: int = option(8, "samples per step and device")
    gradient_accumulation_steps: int = option(1, "batches to accumulate gradients over, per step")
    num_workers: int | None = option(None, "processes that load data [0 for states, up to 4 for images]")
    prefetch_factor: int = option(4, "batches that each process prepares ahead")
    seed: int = option(FIRST_SEED, "seed of weights, shuffling, augmentation and noise, and of the evaluated episodes")
    log_freq: int = option(200, "steps between points of the learning curve")
    save_freq: int | None = option(
        None, "steps between checkpoints, with one after the last step; 0: only that [20,000, or a fifth of --steps]"
    )
    save_checkpoint: bool = option(True, "write checkpoints; false: none, not even the last")
    eval_freq: int = option(
        EVAL_FREQ, "with --env.type: steps between evaluations, with one after the last step; 0: none"
    )
    eval_steps: int = option(0, "steps between measurements of the held-out loss; needs --dataset.eval_split; 0: none")
    max_eval_samples: int = option(0, "the most held-out samples to use; 0: all")
    ema_decay: float = option(0.0, "save and evaluate a moving average of the weights, with this decay; 0: none")
    gradient_checkpointing: bool = option(
        False, "compute parts of the network twice, which saves memory: for larger networks and batches"
    )
    mixed_precision: str = option("", "no, bf16 or fp16 [set by --policy.use_amp]")
    cudnn_deterministic: bool = option(False, "on a GPU: use only deterministic kernels, which are slower")
    threads: int = option(
        0, "threads of torch; repeating a run bit for bit needs the same number; 0: all cores but --eval.cores"
    )
    use_policy_training_preset: bool = option(True, "false: --optimizer.* and --scheduler.* start from plain defaults")
    task_vector: str = option(
        "", "add the task to the policy's input: mt10, mt50 or tasks (one-hot), or text (an embedding)"
    )
    tolerance_s: float = option(1e-4, "how far a frame's time may be from the requested time, in seconds")
    output_dir: Path | None = option(None, "the training's folder [outputs/train/DATE/TIME_NAME]")
    job_name: str | None = option(None, "a name for the training [ENV_POLICY]")
    rename_map: dict[str, str] | None = option(
        None, 'with --policy.path: {"dataset\'s input name": "policy\'s input name", …}'
    )
    allow_mixed_versions: bool = option(
        False, "with --resume: also resume evaluations started with other versions; marks their results permanently"
    )
    resume: bool = option(
        False, "resume the training of --config_path (a file or the training's folder) or of --output_dir"
    )

    def __post_init__(self) -> None:
        fit_fields(self, "--")
        for name in (
            "steps",
            "batch_size",
            "gradient_accumulation_steps",
            "prefetch_factor",
            "log_freq",
            "tolerance_s",
        ):
            positive(f"--{name}", getattr(self, name))
        for name in ("eval_steps", "max_eval_samples", "threads", "seed", "num_workers"):
            if (getattr(self, name) or 0) < 0:
                raise UsageError(f"--{name} must not be negative, got {getattr(self, name)}")
        if self.seed >= 2**63:
            raise UsageError(f"--seed must be a number below 2^63, got {self.seed}")
        if (self.num_workers or 0) > MOST_WORKERS:
            raise UsageError(f"--num_workers must be at most {MOST_WORKERS}, got {self.num_workers}")
        if self.save_freq is None:
            self.save_freq = min(SAVE_FREQ, max(1, self.steps // 5))
        if not 0 <= self.ema_decay < 1:
            raise UsageError(f"--ema_decay must be at least 0 and below 1, got {self.ema_decay}")
        one_of("--mixed_precision", self.mixed_precision, PRECISIONS)
        one_of("--task_vector", self.task_vector, TASK_VECTORS)
        if self.job_name and ("/" in self.job_name or len(self.job_name) > LONGEST_NAME):
            raise UsageError(f"--job_name must be short and without '/', got '{self.job_name[:LONGEST_NAME]}'")


@dataclass
class TrainConfig:
    """One training: a dataset, a policy, and how to make the one into the other."""

    dataset: TrainDatasetOptions
    policy: Mapping[str, Any]
    """`type` of a new policy, or `path` of one to fine-tune; and fields of its configuration."""
    options: TrainOptions = field(default_factory=TrainOptions)
    env: BenchmarkConfig | None = None
    eval: TrainEvalOptions = field(default_factory=TrainEvalOptions)
    optimizer: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the policy's own preset."""
    scheduler: Mapping[str, Any] = field(default_factory=dict)
    wandb: WandbOptions = field(default_factory=WandbOptions)
    peft: PeftOptions | None = None
    trust_remote_code: bool = option(
        False, "allow evaluations in environments whose code comes from elsewhere, or is named in a file"
    )

    def __post_init__(self) -> None:
        kind, path, known = self.policy.get("type"), self.policy.get("path"), ARCHITECTURES.names()
        if not kind and not path:
            raise UsageError(f"which policy? Give --policy.type={'|'.join(known)}, or --policy.path=…")
        if kind and kind not in known and ":" not in str(kind):
            raise UsageError(
                f"--policy.type={kind} cannot be trained{nearest(str(kind), known)} one of {', '.join(known)}, or "
                "MODULE:NAME of your own"
            )
        options = self.options
        if options.eval_steps and not self.dataset.eval_split:
            raise UsageError(f"--eval_steps={options.eval_steps} needs held-out episodes: add --dataset.eval_split=0.1")
        if self.dataset.eval_split and not options.eval_steps:
            raise UsageError("--dataset.eval_split holds episodes out to measure them: say how often by --eval_steps=…")
        if options.max_eval_samples and not options.eval_steps:
            raise UsageError("--max_eval_samples is for held-out episodes: add --dataset.eval_split and --eval_steps")
        if self.env is None and options.eval_freq > 0 and options.eval_freq != EVAL_FREQ:
            raise UsageError(f"--eval_freq={options.eval_freq} needs to know where to evaluate: add --env.type")
        if self.policy.get("revision") and not path:
            raise UsageError("--policy.revision is of a policy on the Hub: give --policy.path")
        if options.rename_map and not path:
            raise UsageError("--rename_map is for --policy.path: a new policy takes the dataset's own names")
        if options.task_vector and path:
            raise UsageError("--task_vector is for a new policy: that of --policy.path has its inputs already")
        if self.peft is not None and not path:
            raise UsageError("--peft.… adapts a policy that is trained already: give --policy.path")
        if self.pushes and not self.policy.get("repo_id"):
            raise UsageError("--policy.push_to_hub=true needs to know where: add --policy.repo_id=owner/name")
        if (hub_dir := self.policy.get("hub_dir")) not in (None, ""):  # its file must work from anywhere
            self.policy = {**self.policy, "hub_dir": str(Path(str(hub_dir)).expanduser().absolute())}

    @property
    def pushes(self) -> bool:
        """Whether the trained policy is uploaded to the Hub: if a flag says so, or says where."""
        return bool(self.policy.get("push_to_hub", bool(self.policy.get("repo_id"))))

    @property
    def loading(self) -> dict[str, Any]:
        """How its policies are loaded, whatever they are."""
        return {name: self.policy[name] for name in ("hub_dir", "self_test") if name in self.policy}

    @property
    def evaluates(self) -> bool:
        """Whether there are evaluations on the way."""
        return self.env is not None and self.options.eval_freq > 0

    @property
    def name(self) -> str:
        """What the training is called."""
        kind = str(self.policy.get("type") or "policy").rpartition(":")[2]
        return self.options.job_name or (f"{self.env.name}_{kind}" if self.env else kind)

    @property
    def code_flags(self) -> list[str]:
        """What a command that uses its policy must say again, since no file may name code."""
        kind = str(self.policy.get("type") or "")
        return [f"--policy.type={kind}"] if ":" in kind else []
