"""Eyes: vision towers of the transformers library, and patches joined to tokens."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from yardarm.errors import SetupError, UsageError, one_line
from yardarm.policies.vla.model_file import ModelSettings

__all__ = ["joined_patches", "look", "siglip_tower", "smolvlm_tower", "tower_settings"]

# The settings that are taken from a file, with the defaults of transformers: another one could name a kernel to fetch.
SIZES = {
    "hidden_size": 1152,
    "intermediate_size": 3072,
    "num_hidden_layers": 12,
    "num_attention_heads": 16,
    "num_channels": 3,
    "image_size": 224,
    "patch_size": 32,
}
NUMBERS = {"layer_norm_eps": 1e-6, "initializer_range": 0.02}
ACTIVATION, DROPOUT = "hidden_act", "attention_dropout"
ACTIVATIONS = ("gelu_pytorch_tanh", "gelu", "gelu_new", "quick_gelu", "relu", "silu")

# On a CPU, what a layer makes of the images should stay in its cache: so many numbers at once.
CACHED_NUMBERS = 4_000_000


def tower_settings(vision: ModelSettings) -> dict[str, Any]:
    """What a ``vision_config`` says of a tower, checked and complete."""
    sizes = {name: vision.whole(name, default) for name, default in SIZES.items()}
    heads, patch = sizes["num_attention_heads"], sizes["patch_size"]
    vision.require(sizes["hidden_size"] % heads == 0, "hidden_size", f"a multiple of num_attention_heads={heads}")
    vision.require(sizes["image_size"] >= patch, "image_size", f"at least patch_size={patch}")
    vision.require(sizes["num_channels"] == 3, "num_channels", "3")
    activation, dropout = vision.values.get(ACTIVATION, ACTIVATIONS[0]), vision.values.get(DROPOUT, 0.0)
    vision.require(activation in ACTIVATIONS, ACTIVATION, f"one of {', '.join(ACTIVATIONS)}")
    vision.require(type(dropout) in (int, float) and 0 <= dropout < 1, DROPOUT, "a number from 0 to below 1")
    numbers = {name: vision.number(name, default) for name, default in NUMBERS.items()}
    return {**sizes, **numbers, ACTIVATION: activation, DROPOUT: dropout}


def smolvlm_tower(settings: Mapping[str, Any]) -> nn.Module:
    """SmolVLM's tower, a SigLIP; `settings` are those of `tower_settings`."""

    def make() -> nn.Module:
        from transformers.models.smolvlm.configuration_smolvlm import SmolVLMVisionConfig
        from transformers.models.smolvlm.modeling_smolvlm import SmolVLMVisionTransformer

        return SmolVLMVisionTransformer(SmolVLMVisionConfig(**settings, attn_implementation="sdpa"))

    return _made(make)


def siglip_tower(settings: Mapping[str, Any]) -> nn.Module:
    """The SigLIP of PaliGemma, for square images of one size; without the head that would make one vector of them."""

    def make() -> nn.Module:
        from transformers import SiglipVisionConfig, SiglipVisionModel

        tower = SiglipVisionModel(SiglipVisionConfig(**settings, vision_use_head=False, attn_implementation="sdpa"))
        return getattr(tower, "vision_model", tower)  # older versions wrap it once more

    return _made(make)


def _made(make: Callable[[], nn.Module]) -> nn.Module:
    """A tower of transformers, or what is wrong with its settings."""
    try:
        return make()
    except ImportError as error:
        raise SetupError("vision-language-action policies need a package: pip install 'yardarm[vla]'") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"this 'vision_config' makes no vision tower: {one_line(error)}") from error


def look(tower: Any, images: Tensor) -> Tensor:
    """The features of patches (image, patch, width); on a CPU a few images at a time, which is cheaper."""
    if images.device.type != "cpu":
        return tower(images).last_hidden_state
    settings = tower.config
    patches = (images.shape[-2] // settings.patch_size) * (images.shape[-1] // settings.patch_size)
    group = max(1, CACHED_NUMBERS // (patches * settings.intermediate_size))
    return torch.cat([tower(some).last_hidden_state for some in images.split(group)])


def joined_patches(patches: Tensor, factor: int) -> Tensor:
    """Squares of `factor` × `factor` patches (batch, patch, width) become tokens (batch, token, factor² · width)."""
    side = int(patches.shape[1] ** 0.5)
    squares = patches.unflatten(1, (side // factor, factor, side // factor, factor))
    return squares.transpose(2, 3).flatten(3).flatten(1, 2)
