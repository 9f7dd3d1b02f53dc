"""What a trainer, and a new architecture, needs of policies. It is a door of its own, because it needs torch."""

from yardarm.hub import Repositories
from yardarm.policies.adapters import add_adapter
from yardarm.policies.checkpoint import check_hub
from yardarm.policies.conditioning import make_task_vector
from yardarm.policies.learned.architecture import Architecture, find_architecture
from yardarm.policies.learned.config import (
    ACTION,
    ACTION_PADDING,
    ENVIRONMENT_STATE,
    STATE,
    FeatureType,
    NormalizationMode,
    PolicyConfig,
    PolicyFeature,
    require,
)
from yardarm.policies.learned.creating import new_config, new_policy
from yardarm.policies.learned.loading import load_policy, load_to_fine_tune
from yardarm.policies.learned.placement import choose_device
from yardarm.policies.learned.policy import LearnedPolicy
from yardarm.policies.learned.state import EpisodeState
from yardarm.policies.learned.tuning import example_observations
from yardarm.policies.networks.recomputing import recomputed
from yardarm.policies.processing import (
    TASK_VECTOR,
    TOKEN_MASK,
    TOKENS,
    Batch,
    NewLine,
    Pipeline,
    Processing,
    ProcessorStep,
    Statistics,
    TaskVector,
    Tensors,
    Tokenize,
    conditioned_features,
    default_processing,
    tensors_of,
)
from yardarm.policies.protocol import TASK

__all__ = [
    "ACTION",
    "ACTION_PADDING",
    "ENVIRONMENT_STATE",
    "STATE",
    "TASK",
    "TASK_VECTOR",
    "TOKENS",
    "TOKEN_MASK",
    "Architecture",
    "Batch",
    "EpisodeState",
    "FeatureType",
    "LearnedPolicy",
    "NewLine",
    "NormalizationMode",
    "Pipeline",
    "PolicyConfig",
    "PolicyFeature",
    "Processing",
    "ProcessorStep",
    "Repositories",
    "Statistics",
    "TaskVector",
    "Tensors",
    "Tokenize",
    "add_adapter",
    "check_hub",
    "choose_device",
    "conditioned_features",
    "default_processing",
    "example_observations",
    "find_architecture",
    "load_policy",
    "load_to_fine_tune",
    "make_task_vector",
    "new_config",
    "new_policy",
    "recomputed",
    "require",
    "tensors_of",
]
