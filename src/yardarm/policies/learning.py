"""What a trainer needs of policies. It is a door of its own, because it needs torch, which takes a second to import."""

from yardarm.policies.adapters import add_adapter
from yardarm.policies.checkpoint import check_hub
from yardarm.policies.conditioning import make_task_vector
from yardarm.policies.learned.config import ACTION, ACTION_PADDING, FeatureType, PolicyConfig, PolicyFeature
from yardarm.policies.learned.creating import new_config, new_policy
from yardarm.policies.learned.loading import load_policy, load_to_fine_tune
from yardarm.policies.learned.policy import LearnedPolicy, choose_device
from yardarm.policies.processing import TASK_VECTOR, Batch, Statistics, TaskVector, conditioned_features

__all__ = [
    "ACTION",
    "ACTION_PADDING",
    "TASK_VECTOR",
    "Batch",
    "FeatureType",
    "LearnedPolicy",
    "PolicyConfig",
    "PolicyFeature",
    "Statistics",
    "TaskVector",
    "add_adapter",
    "check_hub",
    "choose_device",
    "conditioned_features",
    "load_policy",
    "load_to_fine_tune",
    "make_task_vector",
    "new_config",
    "new_policy",
]
