"""What the configurations of all commands share: options and checks, flags, decoding, files, and consent.

Modules that need YAML or draccus are imported on first use: workers have neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.config.options import NamedCode, one_of, option, positive
from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.config.consent import admit
    from yardarm.config.decoding import check_names, decode, decode_value, misfit_text, refuse_boolean, require_value
    from yardarm.config.files import read_config_file, write_config_file
    from yardarm.config.flag_text import BareFlag, FlagText, plain_value

__all__ = [
    "BareFlag",
    "FlagText",
    "NamedCode",
    "admit",
    "check_names",
    "decode",
    "decode_value",
    "misfit_text",
    "one_of",
    "option",
    "plain_value",
    "positive",
    "read_config_file",
    "refuse_boolean",
    "require_value",
    "write_config_file",
]

__getattr__ = late_names(
    __name__,
    {
        "BareFlag": "flag_text",
        "FlagText": "flag_text",
        "admit": "consent",
        "check_names": "decoding",
        "decode": "decoding",
        "decode_value": "decoding",
        "misfit_text": "decoding",
        "plain_value": "flag_text",
        "read_config_file": "files",
        "refuse_boolean": "decoding",
        "require_value": "decoding",
        "write_config_file": "files",
    },
)
