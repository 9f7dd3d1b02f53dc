"""The names of keys, from the bytes that terminals send for them."""

from __future__ import annotations

import codecs
import re
import sys

__all__ = ["NAMED", "KeyDecoder"]

ESCAPE = "\x1b"
ARROWS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end", "Z": "shift+tab"}
FUNCTIONS = {"P": "f1", "Q": "f2", "R": "f3", "S": "f4"}
LINUX_FUNCTIONS = {"A": "f1", "B": "f2", "C": "f3", "D": "f4", "E": "f5"}
NUMBERED = {
    **{1: "home", 2: "insert", 3: "delete", 4: "end", 5: "page_up", 6: "page_down", 7: "home", 8: "end"},
    **{11: "f1", 12: "f2", 13: "f3", 14: "f4", 15: "f5", 17: "f6", 18: "f7", 19: "f8", 20: "f9", 21: "f10"},
    **{23: "f11", 24: "f12"},
}
PLAIN = {" ": "space", "\t": "tab", "\n": "enter", "\r": "enter", "\x7f": "backspace", "\x08": "backspace"}
NAMED = frozenset([*ARROWS.values(), *FUNCTIONS.values(), *NUMBERED.values(), *PLAIN.values(), "esc"])
"""The names of more than one letter."""
MODIFIERS = ((4, "ctrl"), (2, "alt"), (1, "shift"))
# CSI: parameters, then a letter; the Linux console has a second bracket before the letter. SS3: one letter.
CSI = re.compile(r"\x1b\[(?P<numbers>[0-?]*)[ -/]*(?P<letter>[@-Z\\-~])")
LINUX = re.compile(r"\x1b\[\[(?P<letter>.)", re.DOTALL)
SS3 = re.compile(r"\x1bO(?P<letter>[A-Za-z])")
UNFINISHED = re.compile(r"\x1b(\[\[?[0-?]*[ -/]*|O)?\Z")


class KeyDecoder:
    """Turns bytes into names, a piece at a time: a sequence may arrive in two."""

    def __init__(self) -> None:
        self._characters = codecs.getincrementaldecoder("utf-8")(errors="ignore")
        self._rest = ""

    @property
    def is_waiting(self) -> bool:
        """Whether the last bytes may be the start of a sequence, or the Esc key."""
        return bool(self._rest)

    def feed(self, content: bytes) -> list[str]:
        """The keys that are complete now."""
        self._rest += self._characters.decode(content)
        return self._taken(is_final=False)

    def finish(self) -> list[str]:
        """The keys in what has waited long enough: nothing more belongs to it."""
        return self._taken(is_final=True)

    def _taken(self, is_final: bool) -> list[str]:
        names = []
        while self._rest and (is_final or not UNFINISHED.match(self._rest)):
            found = LINUX.match(self._rest) or CSI.match(self._rest) or SS3.match(self._rest)
            if found:
                name = _sequence(found)
                self._rest = self._rest[found.end() :]
            else:  # a letter right after Esc is a letter: to miss an Esc is worse than to miss an Alt
                name = "esc" if self._rest[0] == ESCAPE else _character(self._rest[0])
                self._rest = self._rest[1:]
            if name:
                names.append(name)
        return names


def _sequence(found: re.Match[str]) -> str | None:
    """The name of an escape sequence; None for those of no key, such as a mouse's."""
    letter = found["letter"]
    if found.re is LINUX:
        return LINUX_FUNCTIONS.get(letter)
    if found.re is SS3:
        return ARROWS.get(letter) or FUNCTIONS.get(letter) or _rxvt("ctrl", letter)
    try:
        numbers = [int(word) for word in found["numbers"].split(";") if word]
    except ValueError:
        return None
    modifier = numbers[1] - 1 if len(numbers) > 1 else 0
    if letter == "~":
        if numbers[:1] == [27] and len(numbers) == 3:  # xterm's modifyOtherKeys
            return _coded(numbers[2], modifier)
        return _modified(NUMBERED.get(numbers[0] if numbers else 0), modifier)
    if letter == "u" and numbers:
        return _coded(numbers[0], modifier)
    return _modified(ARROWS.get(letter) or FUNCTIONS.get(letter), modifier) or _rxvt("shift", letter)


def _rxvt(modifier: str, letter: str) -> str | None:
    """What rxvt sends for arrows beside a modifier."""
    return f"{modifier}+{ARROWS[letter.upper()]}" if letter in "abcd" else None


def _coded(code: int, modifier: int) -> str | None:
    """A key that is sent as its character's number."""
    if code == ord(ESCAPE):
        return _modified("esc", modifier)
    return _modified(_character(chr(code)), modifier) if 0 < code <= sys.maxunicode else None


def _modified(name: str | None, modifier: int) -> str | None:
    return name and "+".join([*(word for bit, word in MODIFIERS if modifier & bit), name])


def _character(character: str) -> str | None:
    """Letters are small ones, so that Caps Lock disables nothing."""
    if character in PLAIN:
        return PLAIN[character]
    if character < " ":
        return "ctrl+" + (chr(ord(character) + 0x60) if "\x01" <= character <= "\x1a" else "space")
    return character.lower() if character.isprintable() else None
