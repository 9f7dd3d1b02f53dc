"""The options of SmolVLA."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, ClassVar

from yardarm.config import one_of
from yardarm.errors import UsageError
from yardarm.hub import Repositories
from yardarm.policies.learned.config import require
from yardarm.policies.smolvla.sizes import VlmSizes
from yardarm.policies.vla.config import VlaConfig
from yardarm.policies.vla.model_file import ModelSettings
from yardarm.policies.vla.pretrained import find_model_weights

__all__ = ["SmolVlaConfig"]

VLM_MODEL = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct"
ATTENTION_MODES = ("cross_attn", "self_attn")
PADDINGS = ("longest", "max_length")
CONFIG = "config.json"
# A checkpoint's own copy of the vision-language model's configuration.
VLM_CONFIG = "vlm_config.json"
TOKENIZER = "tokenizer.json"
AROUND_IMAGES = ("<fake_token_around_image>", "<global-img>")
# What the copy has besides.
BRACKETS = "yardarm_image_brackets"


@dataclass
class SmolVlaConfig(VlaConfig):
    """LeRobot's fields and defaults."""

    type: ClassVar[str] = "smolvla"
    step_options: ClassVar[Mapping[str, tuple[str, str]]] = {
        **VlaConfig.step_options,
        "pad_language_to": ("tokenizer_processor", "padding"),
    }
    positive_options: ClassVar[tuple[str, ...]] = (*VlaConfig.positive_options, "expert_width_multiplier")

    resize_imgs_with_padding: tuple[int, int] | None = (512, 512)
    adapt_to_pi_aloha: bool = False
    use_delta_joint_actions_aloha: bool = False
    pad_language_to: str = "longest"
    num_steps: int = 10
    use_cache: bool = True

    freeze_vision_encoder: bool = True
    train_expert_only: bool = True
    train_state_proj: bool = True

    vlm_model_name: str = VLM_MODEL
    load_vlm_weights: bool = False
    add_image_special_tokens: bool = False
    attention_mode: str = "cross_attn"
    prefix_length: int = -1
    num_expert_layers: int = -1
    num_vlm_layers: int = 16
    self_attn_every_n_layers: int = 2
    expert_width_multiplier: float = 0.75

    @property
    def resizes_images(self) -> bool:
        """Whether images may have any size."""
        return self.resize_imgs_with_padding is not None

    @property
    def vlm_layers(self) -> int:
        """How many layers of the language model are used: the first ones, or all if there are no more."""
        wanted, there = self.num_vlm_layers, self.vlm.text_layers
        return min(wanted, there) if wanted > 0 else there

    @property
    def expert_layers(self) -> int:
        """How many layers the expert has."""
        return self.num_expert_layers if self.num_expert_layers > 0 else self.vlm_layers

    @property
    def expert_every(self) -> int:
        """The expert acts at each so-many-th layer of the language model."""
        return self.vlm_layers // self.expert_layers

    def crosses(self, layer: int) -> bool:
        """Whether this layer of the expert reads the language model's keys alone, or attends to itself, too."""
        every = self.self_attn_every_n_layers
        return self.attention_mode == "cross_attn" and not (every > 0 and layer % every == 0)

    def check_changes(self, stored: Mapping[str, Any], folder: Path) -> None:
        """A checkpoint has its weights, and may have its model's configuration: no other model counts."""
        require(
            self.vlm_model_name == stored.get("vlm_model_name", VLM_MODEL) or not (folder / VLM_CONFIG).is_file(),
            f"--policy.vlm_model_name={self.vlm_model_name} has no effect: {folder / VLM_CONFIG} says of which model "
            "the checkpoint is; omit it",
        )
        require(
            not self.load_vlm_weights or bool(stored.get("load_vlm_weights")),
            f"--policy.load_vlm_weights=true is for new policies: {folder} has weights of its own; omit it",
        )

    def complete(self, repositories: Repositories, folder: Path | None) -> None:
        """Find the sizes of the vision-language model: in the checkpoint, or where its name leads."""
        super().complete(repositories, folder)
        if folder is not None and (folder / VLM_CONFIG).is_file():
            path = folder / VLM_CONFIG
        else:
            path = repositories.folder(self.vlm_model_name, CONFIG, (), "vision-language model") / CONFIG
        model = ModelSettings.read(path)
        self._vlm_config = dict(model.values)
        self.vlm = VlmSizes.of(model)
        self._check_expert()
        self._check_image_sizes()
        self.vlm_weights = None
        if folder is None and self.load_vlm_weights:  # a checkpoint has its own
            self.vlm_weights = find_model_weights(repositories, self.vlm_model_name)
        if self.add_image_special_tokens and BRACKETS not in self._vlm_config:
            self._vlm_config[BRACKETS] = self._find_brackets(repositories)
        elif BRACKETS in self._vlm_config:
            known = f"two whole numbers below vocab_size={self.vlm.vocabulary}"
            model.require(self._are_tokens(self._vlm_config[BRACKETS]), BRACKETS, known)

    def _are_tokens(self, numbers: Any) -> bool:
        """Whether these are two tokens that the language model knows."""
        known = range(self.vlm.vocabulary)
        return isinstance(numbers, list) and len(numbers) == 2 and all(type(n) is int and n in known for n in numbers)

    def _find_brackets(self, repositories: Repositories) -> list[int]:
        """The numbers of the tokens around an image, of which the tokenizer's file knows."""
        path = repositories.folder(self.vlm_model_name, TOKENIZER, (), "tokenizer") / TOKENIZER
        try:
            added = json.loads(path.read_text(encoding="utf-8"))["added_tokens"]
            numbers = {token["content"]: token["id"] for token in added}
            brackets = [numbers[text] for text in AROUND_IMAGES]
        except (OSError, ValueError, LookupError, TypeError) as error:
            raise UsageError(f"{path} does not have the tokens {' and '.join(AROUND_IMAGES)}: {error!r}") from error
        require(self._are_tokens(brackets), f"{path}: {' and '.join(AROUND_IMAGES)} have the numbers {brackets}")
        return brackets

    @property
    def image_brackets(self) -> list[int]:
        """With `add_image_special_tokens`: both come before an image, and the first one after it again."""
        return self._vlm_config[BRACKETS]

    def side_files(self) -> dict[str, bytes]:
        """The vision-language model's configuration, so that a checkpoint needs no other files."""
        return {VLM_CONFIG: json.dumps(self._vlm_config, indent=2).encode()}

    def essence(self) -> Mapping[str, bytes]:
        """The model's sizes: its file also says which version of transformers wrote it, and more of that kind."""
        counted = [asdict(self.vlm), self._vlm_config.get(BRACKETS)]
        return {VLM_CONFIG: json.dumps(counted, sort_keys=True).encode()}

    def check(self) -> None:
        """Refuse what cannot work, naming it."""
        super().check()
        sides = self.resize_imgs_with_padding
        require(sides is None or min(sides) > 0, f"resize_imgs_with_padding must be two positive numbers, not {sides}")
        if hasattr(self, "vlm"):
            self._check_image_sizes()
        require(self.num_steps >= 1, f"num_steps must be at least 1, not {self.num_steps}")
        one_of("attention_mode", self.attention_mode, ATTENTION_MODES)
        one_of("pad_language_to", self.pad_language_to, PADDINGS)
        require(not self.use_delta_joint_actions_aloha, "use_delta_joint_actions_aloha is not supported; omit it")
        require(not self.adapt_to_pi_aloha or self.action_size == 14, "adapt_to_pi_aloha is for two arms: 14 values")

    def _check_expert(self) -> None:
        layers, text_layers = self.expert_layers, self.vlm_layers
        require(
            text_layers % layers == 0,
            f"the {text_layers} layers of the language model must be a multiple of num_expert_layers={layers}",
        )
        require(
            layers == text_layers or self.attention_mode != "cross_attn" or self.self_attn_every_n_layers <= 0,
            f"an expert with {layers} layers beside {text_layers} of the language model cannot attend to itself: "
            "give self_attn_every_n_layers=0",
        )
        width = int(self.vlm.text.width * self.expert_width_multiplier)
        require(
            width >= 2 and width % 2 == 0,
            f"expert_width_multiplier={self.expert_width_multiplier} of {self.vlm.text.width} gives the expert the "
            f"width {width}, which must be even",
        )

    def _check_image_sizes(self) -> None:
        """Patches are joined to tokens as if they came from a square image, as LeRobot does it."""
        if (resized := self.resize_imgs_with_padding) is not None:
            sizes = {"resize_imgs_with_padding": tuple(resized)}
        else:
            sizes = {f"'{name}'": self.images[name].shape[:0:-1] for name in self.real_cameras}
            require(
                len(set(sizes.values())) == 1,
                "without resize_imgs_with_padding all cameras must have one size, not "
                + ", ".join(f"{width}×{height}" for width, height in sizes.values()),
            )
        patch, factor = self.vlm.vision["patch_size"], self.vlm.scale_factor
        fitting = 2 * patch * factor
        for name, (width, height) in sizes.items():
            across, down = width // patch, height // patch
            side = math.isqrt(across * down)
            require(
                side**2 == across * down and side >= factor and side % factor == 0,
                f"{name} of {width}×{height} gives {across}×{down} patches of {patch}×{patch}: SmolVLM needs a number "
                f"that makes a square, with a multiple of {factor} on each side; e.g. [{fitting}, {fitting}]",
            )
