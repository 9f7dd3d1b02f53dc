"""π0.5 as a bundle."""

from __future__ import annotations

from collections.abc import Iterable

from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.paligemma.learning import ADAPTED, PaliGemmaObjective
from yardarm.policies.paligemma.names import EXPERT, UNUSED, names_now
from yardarm.policies.paligemma.processing import relative_actions, tokenize, with_absolute_actions
from yardarm.policies.pi05.config import Pi05Config
from yardarm.policies.pi05.network import Pi05Network
from yardarm.policies.pi05.prompt import StatePrompt
from yardarm.policies.processing import Pipeline, Processing, Statistics, default_processing
from yardarm.policies.vla.policy import VlaPolicy

__all__ = ["PI05"]


def pi05_processing(config: Pi05Config, statistics: Statistics) -> Processing:
    """Instruction and normalised state become one text, and that becomes tokens."""
    made = default_processing(config, statistics)
    rename, to_batch, to_device, normalize = made.preprocessor.steps
    steps = [rename, to_batch, relative_actions(config), normalize, StatePrompt(), tokenize(config), to_device]
    return Processing(Pipeline(made.preprocessor.name, steps), with_absolute_actions(made.postprocessor, config))


def pi05_names(names: Iterable[str]) -> dict[str, str]:
    """Some files call what makes an embedding of time as π0 calls what it has in its place."""
    return names_now(names, {"model.action_time_mlp_": "model.time_mlp_"})


PI05 = Architecture(
    config=Pi05Config,
    network=Pi05Network,
    objective=PaliGemmaObjective,
    policy=VlaPolicy,
    processing=pi05_processing,
    steps=(StatePrompt,),
    # What only π0 has.
    unused=(*UNUSED, "model.state_proj.*", f"{EXPERT}.*norm.weight"),
    names_now=pi05_names,
    fingerprinted=True,
    adapted=ADAPTED,
)
