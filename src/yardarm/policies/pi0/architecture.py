"""π0 as a bundle."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from yardarm.policies.learned.architecture import Architecture
from yardarm.policies.paligemma.learning import ADAPTED, PaliGemmaObjective
from yardarm.policies.paligemma.names import UNUSED, names_now
from yardarm.policies.paligemma.processing import relative_actions, tokenize, with_absolute_actions
from yardarm.policies.pi0.config import Pi0Config
from yardarm.policies.pi0.network import Pi0Network
from yardarm.policies.processing import NewLine, Pipeline, Processing, Statistics, default_processing
from yardarm.policies.vla.policy import VlaPolicy

__all__ = ["PI0"]


@dataclass(frozen=True)
class Pi0NewLine(NewLine):
    """The same step by another name."""

    name: ClassVar[str] = "pi0_new_line_processor"


def pi0_processing(config: Pi0Config, statistics: Statistics) -> Processing:
    """The instruction becomes tokens, in the words of PaliGemma."""
    made = default_processing(config, statistics)
    rename, to_batch, to_device, normalize = made.preprocessor.steps
    text = [Pi0NewLine(), tokenize(config)]
    steps = [rename, to_batch, *text, to_device, relative_actions(config), normalize]
    return Processing(Pipeline(made.preprocessor.name, steps), with_absolute_actions(made.postprocessor, config))


def pi0_names(names: Iterable[str]) -> dict[str, str]:
    """Some files call the fusion of actions and time as π0.5 calls what it has in its place."""
    return names_now(names, {"model.time_mlp_": "model.action_time_mlp_"})


PI0 = Architecture(
    config=Pi0Config,
    network=Pi0Network,
    objective=PaliGemmaObjective,
    policy=VlaPolicy,
    processing=pi0_processing,
    steps=(Pi0NewLine,),
    unused=UNUSED,
    names_now=pi0_names,
    fingerprinted=True,
    adapted=ADAPTED,
)
