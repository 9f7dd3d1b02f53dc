"""What the configurations of all commands share: options and checks, flags, decoding, files, and consent.

Modules that need YAML or draccus are imported on first use: workers have neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from yardarm.config.fitting import fit_fields, fitted
from yardarm.config.options import NamedCode, one_of, option, positive
from yardarm.late import late_names

if TYPE_CHECKING:
    from yardarm.config.consent import admit
    from yardarm.config.decoding import check_names, decode, decode_value
    from yardarm.config.files import read_config_file, write_config_file
    from yardarm.config.flag_text import FlagText, plain_value

__all__ = [
    "FlagText",
    "NamedCode",
    "admit",
    "check_names",
    "decode",
    "decode_value",
    "fit_fields",
    "fitted",
    "one_of",
    "option",
    "plain_value",
    "positive",
    "read_config_file",
    "write_config_file",
]

__getattr__ = late_names(
    __name__,
    {
        "FlagText": "flag_text",
        "admit": "consent",
        "check_names": "decoding",
        "decode": "decoding",
        "decode_value": "decoding",
        "plain_value": "flag_text",
        "read_config_file": "files",
        "write_config_file": "files",
    },
)
