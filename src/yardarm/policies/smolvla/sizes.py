"""The sizes of the vision-language model inside of SmolVLA, as that model's own ``config.json`` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.errors import UsageError
from yardarm.policies.vla.layers import LayerSizes

__all__ = ["VlmSizes"]


@dataclass(frozen=True, slots=True)
class VlmSizes:
    """What the network needs to know of a SmolVLM."""

    vision: Mapping[str, Any]
    """The vision tower's settings, in the words of transformers."""
    text: LayerSizes
    text_layers: int
    """How many the model has; SmolVLA takes the first of them."""
    vocabulary: int
    scale_factor: int
    """So many patches in each direction become one token."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any], source: str) -> VlmSizes:
        """Read a model's configuration."""
        if data.get("model_type") != "smolvlm":
            raise UsageError(f"{source} is of a model of type '{data.get('model_type')}'; SmolVLA needs a 'smolvlm'")
        try:
            text = data["text_config"]
            heads, width = text["num_attention_heads"], text["hidden_size"]
            sizes = LayerSizes(
                width=width,
                hidden=text["intermediate_size"],
                heads=heads,
                key_heads=text.get("num_key_value_heads") or heads,
                head_size=text.get("head_dim") or width // heads,
                norm_eps=text.get("rms_norm_eps", 1e-5),
                init_std=text.get("initializer_range", 0.02),
            )
            return cls(
                data["vision_config"],
                sizes,
                text.get("num_hidden_layers", 32),
                text["vocab_size"],
                data.get("scale_factor", 2),
            )
        except (KeyError, TypeError, ZeroDivisionError) as error:
            raise UsageError(f"{source} is no configuration of a SmolVLM: {error!r}") from error
