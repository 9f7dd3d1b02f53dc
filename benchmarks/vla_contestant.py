"""Answers for a SmolVLA: natively, or by LeRobot's own class in LeRobot's own interpreter, one line of JSON a call.

PYTHON benchmarks/vla_contestant.py native|lerobot FOLDER      (reads from its input how many rows to ask for)
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

Observations = dict[str, Any]
INSTRUCTION = "push the red button"


def main() -> None:
    kind, folder = sys.argv[1], Path(sys.argv[2])
    torch.set_num_threads(1)
    ask = {"native": native, "lerobot": lerobot}[kind](folder)
    say(loaded_mb=peak_mb())
    for line in sys.stdin:
        seen = observations(folder, int(line))
        wall, cpu = time.perf_counter(), time.process_time()
        answer = ask(seen)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        say(wall_s=wall, cpu_s=cpu, peak_mb=peak_mb(), answer=answer.tolist())


def native(folder: Path) -> Callable[[Observations], np.ndarray]:
    import transformers.models.smolvlm.modeling_smolvlm  # noqa: F401

    from yardarm import load_policy

    say(imported_mb=peak_mb())
    return load_policy(folder).predict


def lerobot(folder: Path) -> Callable[[Observations], np.ndarray]:
    os.environ["HF_HUB_OFFLINE"] = "1"
    from lerobot.policies.factory import make_pre_post_processors
    from lerobot.policies.smolvla.modeling_smolvla import SmolVLAPolicy

    say(imported_mb=peak_mb())
    policy = SmolVLAPolicy.from_pretrained(folder).eval()
    before, after = make_pre_post_processors(policy.config, pretrained_path=str(folder))

    def ask(seen: Observations) -> np.ndarray:
        batch = {name: value for name, value in seen.items() if name != "noise"}
        for name in batch:
            if "images" in name:
                batch[name] = torch.from_numpy(batch[name]).permute(0, 3, 1, 2).float() / 255
            elif name != "task":
                batch[name] = torch.from_numpy(batch[name])
        with torch.inference_mode():
            return after(policy.predict_action_chunk(before(batch), noise=torch.from_numpy(seen["noise"]))).numpy()

    return ask


def observations(folder: Path, rows: int) -> Observations:
    """The same for every contestant, with the noise to start from."""
    config = json.loads((folder / "config.json").read_text())
    generator = np.random.default_rng(0)
    seen: Observations = {"task": [INSTRUCTION] * rows}
    for name, feature in config["input_features"].items():
        if feature["type"] == "VISUAL":
            channels, *sides = feature["shape"]
            seen[name] = generator.integers(0, 256, (rows, *sides, channels), np.uint8)
        else:
            seen[name] = generator.standard_normal((rows, *feature["shape"]), np.float32)
    shape = (rows, config["chunk_size"], config["max_action_dim"])
    return {**seen, "noise": generator.standard_normal(shape, np.float32)}


def peak_mb() -> float:
    # `getrusage` would count what the process that started this one had taken by then.
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    main()
