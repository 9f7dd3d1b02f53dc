"""What a user can say of an adapter, as plain data in LeRobot's words."""

from __future__ import annotations

import re
from dataclasses import dataclass

from yardarm.config import fit_fields, option
from yardarm.errors import UsageError, nearest

__all__ = ["METHODS", "Method", "PeftOptions"]


@dataclass(frozen=True, slots=True)
class Method:
    """What one of PEFT's methods can do."""

    init_types: tuple[str, ...] = ()
    convolutions: bool = False
    """Whether it adapts convolutions, too; linear layers it always does."""


# Those that have a rank, can be merged into the weights, and were tried. LoRA's "eva", "corda" and "loftq" need data or
# quantised weights; "pissa_niter_…" changes the base's weights at random, which no file keeps.
METHODS = {
    "LORA": Method(("gaussian", "olora", "orthogonal", "pissa"), convolutions=True),
    "LOHA": Method(convolutions=True),
    "LOKR": Method(convolutions=True),
    "MISS": Method(("bat",)),
    "VERA": Method(),
}


@dataclass(frozen=True)
class PeftOptions:
    """Flags below ``--peft.``."""

    method_type: str = option("LORA", f"the kind of adapter: {', '.join(METHODS)}")
    r: int = option(16, "the adapter's rank: a higher rank can learn more, with more parameters")
    lora_alpha: int | None = option(None, "LORA scales its change of the weights by lora_alpha / r [8]")
    target_modules: list[str] | str | None = option(
        None,
        "the layers to adapt: a name's ending, a list of endings, a regular expression for full names, or all-linear",
    )
    full_training_modules: list[str] | str | None = option(
        None, "name endings of modules to train in full and save with the adapter"
    )
    init_type: str | None = option(None, "initialisation; LORA: gaussian, olora, orthogonal, pissa; MISS: bat")

    def __post_init__(self) -> None:
        fit_fields(self, "--peft.")
        if self.method_type.upper() not in METHODS:
            near = nearest(self.method_type.upper(), METHODS)
            raise UsageError(f"--peft.method_type={self.method_type} is unknown{near} one of {', '.join(METHODS)}")
        if self.r < 1:
            raise UsageError(f"--peft.r must be at least 1, got {self.r}")
        if self.lora_alpha is not None and self.lora_alpha < 1:
            raise UsageError(f"--peft.lora_alpha must be at least 1, got {self.lora_alpha}")
        if self.lora_alpha is not None and self.kind != "LORA":
            raise UsageError(f"--peft.lora_alpha is for LORA, not for {self.kind}")
        self._check_init_type()

    @property
    def kind(self) -> str:
        """The method's name as PEFT spells it."""
        return self.method_type.upper()

    @property
    def method(self) -> Method:
        """What the method can do."""
        return METHODS[self.kind]

    @property
    def targets(self) -> list[str] | str | None:
        """Ends of names, or a text that is one, a regular expression or "all-linear"; None: what the policy says."""
        return _listed(self.target_modules) or None

    @property
    def fully_trained(self) -> list[str]:
        """The ends of names of modules that are trained as a whole."""
        names = _listed(self.full_training_modules) or []
        return [names] if isinstance(names, str) else names

    def _check_init_type(self) -> None:
        known = self.method.init_types
        if self.init_type is None or self.init_type in known:
            return
        if not known:
            raise UsageError(f"--peft.init_type={self.init_type}: {self.kind} starts in one way only; omit it")
        near = nearest(self.init_type, known)
        raise UsageError(
            f"--peft.init_type={self.init_type} is unknown for {self.kind}{near} one of {', '.join(known)}"
        )


def _listed(value: list[str] | str | None) -> list[str] | str | None:
    """A flag's text may be a list, like ``[linear1, linear2]``; with brackets inside it is a regular expression."""
    if not isinstance(value, str) or not re.fullmatch(r"\[[^\[\]]*\]", value):
        return value
    return [name.strip(" \"'") for name in value[1:-1].split(",") if name.strip(" \"'")]
