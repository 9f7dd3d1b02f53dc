"""SmolVLA as a bundle."""

from __future__ import annotations

import logging

from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.processing import NewLine, Pipeline, Processing, Statistics, Tokenize, default_processing
from yardarm.policies.smolvla.config import SmolVlaConfig
from yardarm.policies.smolvla.network import SmolVlaNetwork
from yardarm.policies.vla.objective import FlowObjective
from yardarm.policies.vla.policy import VlaPolicy
from yardarm.policies.vla.pretrained import fill_from_model

__all__ = ["SMOLVLA"]

logger = logging.getLogger(__name__)

TEXT = "model.vlm_with_expert.vlm.model.text_model"

PROJECTIONS = "state_proj|action_in_proj|action_out_proj|action_time_mlp_in|action_time_mlp_out"


def smolvla_processing(config: SmolVlaConfig, statistics: Statistics) -> Processing:
    """The instruction becomes tokens, in the words of the language model."""
    made = default_processing(config, statistics)
    tokenize = Tokenize(config.vlm_model_name, config.tokenizer_max_length, padding=config.pad_language_to)
    rename, to_batch, *others = made.preprocessor.steps
    steps = [rename, to_batch, NewLine(), tokenize, *others]
    return Processing(Pipeline(made.preprocessor.name, steps), made.postprocessor)


def load_language_model(config: SmolVlaConfig, network: SmolVlaNetwork) -> None:
    """Start from a vision-language model that has seen the world."""
    if config.vlm_weights is not None:
        fill_from_model(network.vlm_with_expert["vlm"], config.vlm_weights)
    elif config.train_expert_only:
        logger.warning(
            "the vision-language model has random weights, and is frozen: --policy.load_vlm_weights=true starts from "
            "those of %s, --policy.train_expert_only=false trains it",
            config.vlm_model_name,
        )


SMOLVLA = Architecture(
    config=SmolVlaConfig,
    network=SmolVlaNetwork,
    objective=FlowObjective,
    policy=VlaPolicy,
    processing=smolvla_processing,
    initial_weights=load_language_model,
    # Nothing is read off the language model but keys and values of its layers; the last one's answer goes nowhere.
    unused=(
        f"{TEXT}.norm.weight",
        f"{TEXT}.layers.*.mlp.*",
        f"{TEXT}.layers.*.post_attention_layernorm.weight",
        f"{TEXT}.layers.*.self_attn.[oq]_proj.weight",
        "model.vlm_with_expert.vlm.lm_head.weight",
    ),
    fingerprinted=True,
    # The expert's queries and values, and what leads into it and out of it.
    adapted=rf"model\.(vlm_with_expert\.lm_expert\..*\.(q|v)_proj|{PROJECTIONS})",
)
