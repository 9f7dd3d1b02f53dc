from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass
class PolicyFeature:
    type: str
    shape: tuple[int, ...]


@dataclass
class PreTrainedConfig:
    type: str
    input_features: dict[str, PolicyFeature]
    output_features: dict[str, PolicyFeature]
    device: str = "cuda"
    n_obs_steps: int = 1
    chunk_size: int = 4
    n_action_steps: int = 3
    max_action_dim: int = 2
    use_amp: bool = False
    breaks: str = ""
    pretrained_path: Path | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.n_action_steps > self.chunk_size:
            raise ValueError(f"n_action_steps {self.n_action_steps} must not be over chunk_size {self.chunk_size}")

    @classmethod
    def from_pretrained(cls, folder: str | Path) -> PreTrainedConfig:
        data = json.loads((Path(folder) / "config.json").read_text())
        for name in ("input_features", "output_features"):
            data[name] = {key: PolicyFeature(**value) for key, value in data[name].items()}
        return cls(**data)
