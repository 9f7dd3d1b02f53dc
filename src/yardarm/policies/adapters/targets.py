"""Which layers of a network get an adapter."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping, Sequence

from torch import nn
from torch.nn.modules.linear import NonDynamicallyQuantizableLinear

from yardarm.errors import UsageError
from yardarm.policies.options import PeftOptions

__all__ = ["check_fully_trained", "find_targets"]

ALL_LINEAR = "all-linear"
# An adapter starts on convolutions in these ways only.
ON_CONVOLUTIONS = (None, "gaussian")

Modules = Mapping[str, nn.Module]


def find_targets(modules: Modules, options: PeftOptions, default: Sequence[str]) -> list[str] | str:
    """What PEFT takes to find the layers: ends of names, or a regular expression."""
    found = _wanted_targets(modules, options, default)
    left = [name for name in modules if _is_meant(found, name) and not _is_part_of(options.fully_trained, name)]
    if not left:
        raise UsageError("--peft.full_training_modules leaves no layer that an adapter could be put onto")
    return found


def _wanted_targets(modules: Modules, options: PeftOptions, default: Sequence[str]) -> list[str] | str:
    wanted = options.targets
    if wanted is None:
        return _default(modules, options, default)
    if wanted == ALL_LINEAR:
        return [name for name, module in modules.items() if type(module) is nn.Linear]
    if isinstance(wanted, str) and not any(_is_meant(wanted, name) for name in modules):
        wanted = [wanted]  # PEFT takes a text as a regular expression for whole names; people mean an end of names, too
    for one in [wanted] if isinstance(wanted, str) else [[end] for end in wanted]:
        names = [name for name in modules if _is_meant(one, name)]
        if not names:
            raise _matches_nothing("target_modules", one[0], _adaptable(modules, options))
        for name in names:
            _check_kind(name, modules[name], options)
    return wanted


def check_fully_trained(modules: Modules, options: PeftOptions) -> None:
    """Refuse names that no module has; PEFT would silently skip them."""
    for end in options.fully_trained:
        if not any(name.endswith(end) for name in modules):
            raise _matches_nothing("full_training_modules", end, modules)


def _default(modules: Modules, options: PeftOptions, choice: Sequence[str]) -> list[str] | str:
    """The policy's choice, of which the network may lack some layers, or the method may not adapt them."""
    adaptable = _adaptable(modules, options)
    if isinstance(choice, str) and any(_is_meant(choice, name) for name in adaptable):
        return choice
    ends = () if isinstance(choice, str) else choice
    found = [end for end in ends if any(_is_meant([end], name) for name in adaptable)]
    if not found:
        raise UsageError(f"which layers get an adapter? Give --peft.target_modules: {_closest('', adaptable)}, …")
    return found


def _is_meant(wanted: list[str] | str, name: str) -> bool:
    """As PEFT decides it."""
    if isinstance(wanted, list):
        return any(name == end or name.endswith(f".{end}") for end in wanted)
    try:
        return re.fullmatch(wanted, name) is not None
    except re.error as error:
        raise UsageError(f"--peft.target_modules={wanted} is no regular expression: {error}") from error


def _is_part_of(parts: list[str], name: str) -> bool:
    """Whether PEFT leaves a layer alone because a module around it is trained as a whole."""
    return any(re.match(rf"(^|.*\.){part}($|\..*)", name) for part in parts)


def _adaptable(modules: Modules, options: PeftOptions) -> list[str]:
    return [name for name, module in modules.items() if _adapts(module, options)]


def _adapts(module: nn.Module, options: PeftOptions) -> bool:
    if isinstance(module, nn.Conv1d | nn.Conv2d):
        return options.method.convolutions and options.init_type in ON_CONVOLUTIONS
    if isinstance(module, nn.MultiheadAttention):
        return options.kind == "LORA" and options.init_type in ON_CONVOLUTIONS
    return type(module) is nn.Linear


def _check_kind(name: str, module: nn.Module, options: PeftOptions) -> None:
    if _adapts(module, options):
        return
    if isinstance(module, NonDynamicallyQuantizableLinear):
        attention = name.rpartition(".")[0]
        raise UsageError(
            f"--peft.target_modules: '{name}' is used by its attention without being called, so an adapter on it would "
            f"do nothing; give the attention itself: '{attention.rpartition('.')[2]}'"
        )
    start = f" with --peft.init_type={options.init_type}" if options.init_type else ""
    raise UsageError(
        f"--peft.target_modules: '{name}' is of the kind {type(module).__name__}, "
        f"which {options.kind}{start} cannot adapt"
    )


def _matches_nothing(flag: str, wanted: str, names: Iterable[str]) -> UsageError:
    hint = "; a list is written [a, b]" if "," in wanted else ""
    return UsageError(
        f"--peft.{flag}={wanted} is the end of no module's name; closest are {_closest(wanted, names)}{hint}"
    )


def _closest(wanted: str, names: Iterable[str]) -> str:
    ends = dict.fromkeys(re.sub(r"^.*?([^.\d][^.]*(\.\d+)?)$", r"\1", name) for name in names)
    return ", ".join(f"'{end}'" for end in difflib.get_close_matches(wanted, list(ends), n=4, cutoff=0))
