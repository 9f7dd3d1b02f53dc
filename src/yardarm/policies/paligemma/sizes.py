"""How large the parts of such a policy are.

LeRobot's ``config.json`` names variants of Gemma, and their sizes are in LeRobot's code. Here they are data: a
``sizes.json`` beside ``config.json`` may give others, in the same form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.policies.vla.layers import LayerSizes
from yardarm.policies.vla.model_file import ModelSettings
from yardarm.policies.vla.vision import tower_settings

__all__ = ["PUBLISHED", "VARIANTS", "PaliGemmaSizes"]

NORM_EPS = 1e-6
VARIANTS = ("gemma_2b", "gemma_300m")
HEADS = {"num_heads": 8, "num_kv_heads": 1, "head_dim": 256}
PUBLISHED: Mapping[str, Any] = {
    "vocab_size": 257_152,
    "vision": {
        "hidden_size": 1152,
        "num_hidden_layers": 27,
        "num_attention_heads": 16,
        "intermediate_size": 4304,
        "patch_size": 14,
    },
    "gemma_2b": {"width": 2048, "depth": 18, "mlp_dim": 16_384, **HEADS},
    "gemma_300m": {"width": 1024, "depth": 18, "mlp_dim": 4096, **HEADS},
}


@dataclass(frozen=True, slots=True)
class PaliGemmaSizes:
    """What a network is built of: eyes, a language model, and an expert beside it with as many layers."""

    vision: Mapping[str, Any]
    """The vision tower's settings, in the words of transformers."""
    text: LayerSizes
    expert: LayerSizes
    depth: int
    vocabulary: int

    @classmethod
    def of(cls, given: ModelSettings, variant: str, expert_variant: str, image_size: int) -> PaliGemmaSizes:
        """For these variants of the two Gemmas, and square images."""
        text, expert = given.section(variant), given.section(expert_variant)
        for name in ("depth", "num_kv_heads", "head_dim"):  # the expert reads the language model's keys, layer by layer
            expert.require(expert.whole(name) == text.whole(name), name, f"{text.whole(name)}, as in {variant}")
        vision = given.section("vision")
        images = ModelSettings({**vision.values, "image_size": image_size}, given.source, vision.path)
        return cls(
            tower_settings(images),
            _layer_sizes(text),
            _layer_sizes(expert),
            text.whole("depth"),
            given.whole("vocab_size"),
        )


def _layer_sizes(gemma: ModelSettings) -> LayerSizes:
    heads, key_heads, head_size = (gemma.whole(name) for name in ("num_heads", "num_kv_heads", "head_dim"))
    gemma.require(heads % key_heads == 0, "num_kv_heads", f"a divisor of num_heads={heads}")
    gemma.require(head_size % 2 == 0, "head_dim", "even")
    width = gemma.whole("width")
    gemma.require(width % 2 == 0, "width", "even")
    return LayerSizes(width, gemma.whole("mlp_dim"), heads, key_heads, head_size, NORM_EPS)
