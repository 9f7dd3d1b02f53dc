"""An adapter for a policy that is trained already."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from yardarm.errors import UsageError
from yardarm.policies.adapters.adapter import import_peft, inject
from yardarm.policies.adapters.targets import check_fully_trained, find_targets
from yardarm.policies.options import PeftOptions

if TYPE_CHECKING:
    from yardarm.policies.learned.policy import LearnedPolicy

__all__ = ["add_adapter", "merge_adapter"]

# What PEFT calls the way in which an adapter starts.
INIT_FIELDS = {"LORA": "init_lora_weights", "MISS": "init_weights"}


def add_adapter(policy: LearnedPolicy, options: PeftOptions, base: str) -> None:
    """Put a new adapter onto a policy that was loaded from `base`, a folder or a Hub id; only it can be trained then.

    It starts from torch's random numbers. To load the policy's checkpoint afterwards, one needs `base`, too.
    """
    if policy.adapter is not None:
        raise UsageError(
            f"{base} has an adapter already, which is trained further without --peft.…; for another one on top of it, "
            "merge it first: yardarm.policies.adapters.merge_adapter(policy)"
        )
    prefix = policy.architecture.prefix
    modules = {prefix + name: module for name, module in policy.network.named_modules() if name}
    check_fully_trained(modules, options)
    fields: dict[str, Any] = {
        "r": options.r,
        "target_modules": find_targets(modules, options, policy.architecture.adapted),
        "modules_to_save": options.fully_trained or None,
        "base_model_name_or_path": base,
        # The very version of the base, if it is from the Hub.
        "revision": policy.source.commit if policy.source.path == base else None,
    }
    if options.lora_alpha is not None:
        fields["lora_alpha"] = options.lora_alpha
    if options.init_type is not None:
        fields[INIT_FIELDS[options.kind]] = options.init_type
    config = import_peft().PEFT_TYPE_TO_CONFIG_MAPPING[options.kind](**fields)
    policy.adapter = inject(policy.network, prefix, config)
    policy.config.use_peft = True
    policy.config.pretrained_path = base


def merge_adapter(policy: LearnedPolicy) -> None:
    """Make a policy with an adapter one without: its checkpoint has all weights, and needs no base any more."""
    if policy.adapter is None:
        raise UsageError("the policy has no adapter that could be merged")
    policy.adapter.merge()
    policy.adapter = None
    policy.config.use_peft = False
