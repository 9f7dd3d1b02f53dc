"""One rule for code that a configuration names: it runs if the user typed it; if only a file names it, they must agree.

A configuration file may come from anywhere: a run's folder, a checkpoint, a colleague. All code that turns such a file
into something that runs calls `admit`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from yardarm.config.flag_text import FlagText
from yardarm.config.options import NamedCode
from yardarm.errors import ConsentNeeded
from yardarm.own_modules import allow_own_module

__all__ = ["admit"]


def admit(section: str, codes: Iterable[NamedCode], data: Mapping[str, Any], trusted: bool) -> None:
    """Reject code that only a file names, unless the user trusts it; typed modules may be in the current folder.

    `data` is the undecoded content of `section`: values that the user typed have the type `FlagText`.
    """
    for code in codes:
        if isinstance(data.get(code.option), FlagText):
            if code.module:
                allow_own_module(code.module)
        elif not trusted:
            raise ConsentNeeded(f"{code.what}, which a file names as {section}.{code.option},")
