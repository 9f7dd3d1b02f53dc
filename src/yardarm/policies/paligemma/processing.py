"""The steps that the pipelines of π0 and π0.5 share."""

from __future__ import annotations

from yardarm.policies.paligemma.config import TOKENIZER, PaliGemmaConfig
from yardarm.policies.processing import AbsoluteActions, Pipeline, RelativeActions, Tokenize

__all__ = ["relative_actions", "tokenize", "with_absolute_actions"]


def tokenize(config: PaliGemmaConfig) -> Tokenize:
    """PaliGemma's tokenizer; texts have one length."""
    return Tokenize(TOKENIZER, config.tokenizer_max_length)


def relative_actions(config: PaliGemmaConfig) -> RelativeActions:
    """As the configuration says."""
    names = config.action_feature_names
    joints = tuple(config.relative_exclude_joints)
    return RelativeActions(config.use_relative_actions, joints, None if names is None else tuple(names))


def with_absolute_actions(postprocessor: Pipeline, config: PaliGemmaConfig) -> Pipeline:
    """The way back, after actions have the robot's units again."""
    unnormalize, *rest = postprocessor.steps
    return Pipeline(postprocessor.name, [unnormalize, AbsoluteActions(config.use_relative_actions), *rest])
