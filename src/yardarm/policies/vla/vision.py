"""Eyes: vision towers of the transformers library, and patches joined to tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from yardarm.errors import SetupError, UsageError, one_line

__all__ = ["joined_patches", "look", "smolvlm_tower"]

# On a CPU, what a layer makes of the images should stay in its cache: so many numbers at once.
CACHED_NUMBERS = 4_000_000


def smolvlm_tower(settings: Mapping[str, Any]) -> nn.Module:
    """SmolVLM's tower, a SigLIP; `settings` are the ``vision_config`` of a model."""
    try:
        from transformers.models.smolvlm.configuration_smolvlm import SmolVLMVisionConfig
        from transformers.models.smolvlm.modeling_smolvlm import SmolVLMVisionTransformer
    except ImportError as error:
        raise SetupError("vision-language-action policies need a package: pip install 'yardarm[vla]'") from error
    try:
        return SmolVLMVisionTransformer(SmolVLMVisionConfig(**settings))
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
