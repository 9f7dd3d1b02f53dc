"""One rule for code that a configuration names: what the user typed runs; what only a file says needs consent.

A configuration file may come from anywhere: a run's folder, a checkpoint, a colleague. Whatever turns such a file into
something that can run goes through `admit`.
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
    """Refuse code that only a file names, unless the user trusts it; what was typed may lie in the current folder.

    `data` is what stands below `section`, as it was read: the text of a flag is known by its type.
    """
    for code in codes:
        if isinstance(data.get(code.option), FlagText):
            if code.module:
                allow_own_module(code.module)
        elif not trusted:
            raise ConsentNeeded(f"{code.what}, which a file names as {section}.{code.option},")
