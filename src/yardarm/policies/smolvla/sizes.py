"""The sizes of the vision-language model inside of SmolVLA, as that model's own ``config.json`` gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from yardarm.errors import UsageError
from yardarm.policies.vla.layers import LayerSizes
from yardarm.policies.vla.model_file import ModelSettings
from yardarm.policies.vla.vision import tower_settings

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
    def of(cls, model: ModelSettings) -> VlmSizes:
        """Read a model's configuration."""
        kind = model.values.get("model_type")
        if kind != "smolvlm":
            raise UsageError(f"{model.source} is of a model of type '{kind}'; SmolVLA needs a 'smolvlm'")
        text = model.section("text_config")
        return cls(
            tower_settings(model.section("vision_config")),
            _layer_sizes(text),
            text.whole("num_hidden_layers", 32),
            text.whole("vocab_size"),
            model.whole("scale_factor", 2),
        )


def _layer_sizes(text: ModelSettings) -> LayerSizes:
    """Of a Llama without biases, which is all that the layers can be."""
    text.require(text.values.get("hidden_act", "silu") == "silu", "hidden_act", '"silu"')
    for name in ("attention_bias", "mlp_bias"):
        text.require(text.values.get(name) in (None, False), name, "false")
    width, heads = text.whole("hidden_size"), text.whole("num_attention_heads")
    key_heads = text.whole("num_key_value_heads", heads)
    text.require(heads % key_heads == 0, "num_key_value_heads", f"a divisor of num_attention_heads={heads}")
    head_size = text.whole("head_dim", max(1, width // heads))
    text.require(head_size % 2 == 0, "head_dim", f"even, or hidden_size={width} ÷ num_attention_heads={heads}")
    return LayerSizes(
        width=width,
        hidden=text.whole("intermediate_size"),
        heads=heads,
        key_heads=key_heads,
        head_size=head_size,
        norm_eps=text.number("rms_norm_eps", 1e-6),
        init_std=text.number("initializer_range", 0.02),
    )
