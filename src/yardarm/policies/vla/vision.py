"""Eyes: vision towers of the transformers library, and patches joined to tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn

from yardarm.errors import SetupError, UsageError, one_line

__all__ = ["joined_patches", "smolvlm_tower"]


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


def joined_patches(patches: Tensor, factor: int) -> Tensor:
    """Squares of `factor` × `factor` patches (batch, patch, width) become tokens (batch, token, factor² · width)."""
    side = int(patches.shape[1] ** 0.5)
    squares = patches.unflatten(1, (side // factor, factor, side // factor, factor))
    return squares.transpose(2, 3).flatten(3).flatten(1, 2)
