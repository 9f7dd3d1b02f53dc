"""What a check says about a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

__all__ = ["CHECKS", "NOTE", "PROBLEM", "WARNING", "CheckKind", "CheckReport", "Finding"]

PROBLEM = "problem"
"""Training on it fails, or learns nonsense."""
WARNING = "warning"
"""Probably a mistake of the recording: look at it."""
NOTE = "note"
"""Worth knowing; often as it should be."""
SEVERITIES = (PROBLEM, WARNING, NOTE)


@dataclass(frozen=True, slots=True)
class CheckKind:
    """A check's title, and what to do about its findings."""

    title: str
    advice: str


# In the order in which they are shown.
CHECKS = {
    "files": CheckKind("Damaged files", "Copy or record the dataset again; nothing can be learned from these files."),
    "not_numbers": CheckKind("Missing values", "Delete the episodes, or trim these frames: one NaN ruins a training."),
    "cameras": CheckKind("Frozen or blank cameras", "Look at the video. If the camera hung, delete the episode."),
    "turns": CheckKind(
        "Turns of the robot's loop",
        "Where turns were missed or late, frames that look evenly spaced are not: free the machine, or lower the rate.",
    ),
    "duplicates": CheckKind("Duplicates", "Delete the copies: they count twice, also in a held-out part."),
    "idle": CheckKind("Idle", "Trim the frames in which nothing happens: policies learn to stand still from them."),
    "jumps": CheckKind("Jumps", "Look at the frame. If the robot did not move like that, delete or trim the episode."),
    "timestamps": CheckKind("Timestamps", "Frames are missing or late. Trim the episode at the gap, or delete it."),
    "outliers": CheckKind("Outliers", "Look at the episode. One wrong value squeezes all others when normalised."),
    "lengths": CheckKind("Unusual lengths", "Look at how the episode ends. Delete false starts, trim long waits."),
    "unlike": CheckKind("Unlike the others", "Look whether the episode shows the task that its instruction names."),
    "instructions": CheckKind("Instructions", "Set the instruction: `yardarm dataset relabel`, or on the page."),
    "constant": CheckKind("Constant signals", "Nothing to do, if the robot has them but the task does not use them."),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a check noticed, and where."""

    check: str
    severity: str
    message: str
    episode: int | None = None
    frames: range | None = None
    feature: str | None = None
    keep: range | None = None
    """The frames that a trim should keep, if a trim mends it."""

    def __str__(self) -> str:
        return self.message if self.episode is None else f"episode {self.episode}: {self.message}"

    def to_json(self) -> dict[str, Any]:
        """The finding as plain data; frames are a pair, from the first up to, not including, the last."""
        return {
            "check": self.check,
            "severity": self.severity,
            "message": self.message,
            "episode": self.episode,
            "frames": _pair(self.frames),
            "feature": self.feature,
            "keep": _pair(self.keep),
        }


def _pair(frames: range | None) -> list[int] | None:
    return None if frames is None else [frames.start, frames.stop]


@dataclass(frozen=True, slots=True)
class CheckReport:
    """All findings, and how much was looked at."""

    findings: Sequence[Finding]
    episodes: int
    total_episodes: int
    cameras: Sequence[str] = field(default=())
    """The cameras whose pictures were looked at."""

    @property
    def by_check(self) -> dict[str, list[Finding]]:
        """The findings of each check that has any, worst first."""
        found = {name: [finding for finding in self.findings if finding.check == name] for name in CHECKS}
        return {name: sorted(own, key=_order) for name, own in found.items() if own}

    def count(self, *severities: str) -> int:
        """How many findings have one of these severities."""
        return sum(finding.severity in severities for finding in self.findings)

    def summary(self) -> str:
        """One line: "3 warnings, 1 note in 50 episodes"."""
        counts = {severity: self.count(severity) for severity in SEVERITIES}
        found = [f"{count} {severity}{'s' if count > 1 else ''}" for severity, count in counts.items() if count]
        looked = f"{self.episodes} episode{'' if self.episodes == 1 else 's'}"
        if self.episodes < self.total_episodes:
            looked = f"{self.episodes} of {self.total_episodes} episodes"
        return f"{', '.join(found) or 'nothing suspicious'} in {looked}"

    def to_json(self) -> dict[str, Any]:
        """The report as plain data, with the checks' titles and advice."""
        return {
            "summary": self.summary(),
            "episodes": self.episodes,
            "total_episodes": self.total_episodes,
            "cameras": list(self.cameras),
            "checks": [
                {
                    "name": name,
                    "title": CHECKS[name].title,
                    "advice": CHECKS[name].advice,
                    "findings": [finding.to_json() for finding in own],
                }
                for name, own in self.by_check.items()
            ],
        }


def _order(finding: Finding) -> tuple[int, int]:
    return SEVERITIES.index(finding.severity), -1 if finding.episode is None else finding.episode
