"""Writes SmolVLA checkpoints of any size with random weights, as LeRobot would, and what stands for their hub.

python benchmarks/vla_checkpoint.py FOLDER --size=true      (2 GB)
"""

from __future__ import annotations

import argparse
import json
import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor

HUB = Path(__file__).parents[1] / "tests" / "golden" / "smolvla" / "hub"
VLM = "HuggingFaceTB/SmolVLM2-500M-Video-Instruct"
NETWORK, EXPERT, MODEL = "model.", "model.vlm_with_expert.lm_expert.", "model.vlm_with_expert.vlm.model."
Shapes = Iterator[tuple[str, tuple[int, ...]]]


@dataclass(frozen=True)
class Sizes:
    """All that the shapes of a SmolVLA's tensors follow from, and what its policy is asked."""

    vision_width: int
    vision_layers: int
    vision_heads: int
    vision_hidden: int
    patch: int
    side: int
    width: int
    layers: int
    used_layers: int
    heads: int
    key_heads: int
    head: int
    hidden: int
    vocabulary: int
    chunk: int
    room: int
    """`max_state_dim` and `max_action_dim`."""
    steps: int = 10
    scale: int = 4

    @property
    def expert_width(self) -> int:
        return int(self.width * 0.75)

    @property
    def expert_hidden(self) -> int:
        return 256 * -(-4 * int(2 * self.expert_width / 3) // 256)

    @property
    def image_tokens(self) -> int:
        return (self.side // self.patch // self.scale) ** 2


SIZES = {
    # SmolVLM2-500M, and SmolVLA's defaults.
    "true": Sizes(768, 12, 12, 3072, 16, 512, 960, 32, 16, 15, 5, 64, 2560, 49280, chunk=50, room=32),
    # The tiny recorded one.
    "tiny": Sizes(32, 2, 2, 48, 8, 64, 64, 4, 4, 4, 2, 16, 96, 220, chunk=8, room=8),
}


@dataclass(frozen=True)
class Inputs:
    """What a policy reads, and the size of its actions."""

    cameras: Sequence[str]
    side: int
    state: int
    action: int

    @property
    def features(self) -> dict[str, dict[str, Any]]:
        images = {name: {"type": "VISUAL", "shape": [3, self.side, self.side]} for name in self.cameras}
        return {**images, "observation.state": {"type": "STATE", "shape": [self.state]}}


def write_checkpoint(folder: Path, sizes: Sizes, inputs: Inputs, played: int | None = None, seed: int = 0) -> Path:
    """Write a checkpoint and its hub; `played` actions of each chunk are played, by default all."""
    folder.mkdir(parents=True)
    hub = folder / "hub" / VLM
    shutil.copytree(HUB / VLM, hub)
    _write(hub / "config.json", vlm_config(sizes))
    config = policy_config(sizes, inputs, str(hub.absolute()), played or sizes.chunk)
    _write(folder / "config.json", config)
    _write_pipelines(folder, config)
    generator = torch.Generator().manual_seed(seed)
    weights = {name: random_weight(name, shape, generator) for name, shape in shapes(sizes)}
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})
    return folder


def vlm_config(sizes: Sizes) -> dict[str, Any]:
    """The vision-language model's ``config.json``; in float32, so that all answers can be compared."""
    config: dict[str, Any] = json.loads((HUB / VLM / "config.json").read_text())
    config["scale_factor"] = sizes.scale
    config["text_config"] |= {
        "head_dim": sizes.head,
        "hidden_size": sizes.width,
        "intermediate_size": sizes.hidden,
        "max_position_embeddings": 8192,
        "num_attention_heads": sizes.heads,
        "num_hidden_layers": sizes.layers,
        "num_key_value_heads": sizes.key_heads,
        "vocab_size": sizes.vocabulary,
    }
    config["vision_config"] |= {
        "hidden_size": sizes.vision_width,
        "image_size": sizes.side,
        "intermediate_size": sizes.vision_hidden,
        "num_attention_heads": sizes.vision_heads,
        "num_hidden_layers": sizes.vision_layers,
        "patch_size": sizes.patch,
    }
    return config


def policy_config(sizes: Sizes, inputs: Inputs, vlm: str, played: int) -> dict[str, Any]:
    """The policy's ``config.json``, with LeRobot's defaults where nothing is said."""
    return {
        "type": "smolvla",
        "n_obs_steps": 1,
        "input_features": inputs.features,
        "output_features": {"action": {"type": "ACTION", "shape": [inputs.action]}},
        "device": "cpu",
        "chunk_size": sizes.chunk,
        "n_action_steps": played,
        "normalization_mapping": {"VISUAL": "IDENTITY", "STATE": "MEAN_STD", "ACTION": "MEAN_STD"},
        "max_state_dim": sizes.room,
        "max_action_dim": sizes.room,
        "resize_imgs_with_padding": [sizes.side, sizes.side],
        "num_steps": sizes.steps,
        "vlm_model_name": vlm,
        "load_vlm_weights": False,
        "num_vlm_layers": sizes.used_layers,
    }


def _write_pipelines(folder: Path, config: dict[str, Any]) -> None:
    features = {**config["input_features"], **config["output_features"]}
    modes = config["normalization_mapping"]
    tokenizer = {
        "max_length": 48,
        "task_key": "task",
        "padding_side": "right",
        "padding": "longest",
        "truncation": True,
        "tokenizer_name": config["vlm_model_name"],
    }
    before = {
        "rename_observations_processor": {"rename_map": {}},
        "to_batch_processor": {},
        "smolvla_new_line_processor": {},
        "tokenizer_processor": tokenizer,
        "device_processor": {"device": "cpu", "float_dtype": None},
        "normalizer_processor": {"eps": 1e-8, "features": features, "norm_map": modes},
    }
    after = {
        "unnormalizer_processor": {"eps": 1e-8, "features": config["output_features"], "norm_map": modes},
        "device_processor": {"device": "cpu", "float_dtype": None},
    }
    known = {name: feature["shape"] for name, feature in features.items() if feature["type"] != "VISUAL"}
    statistics = {f"{name}.mean": torch.zeros(shape) for name, shape in known.items()}
    statistics |= {f"{name}.std": torch.ones(shape) for name, shape in known.items()}
    for name, steps in (("policy_preprocessor", before), ("policy_postprocessor", after)):
        listed: list[dict[str, Any]] = []
        for place, (step, options) in enumerate(steps.items()):
            listed.append({"registry_name": step, "config": options})
            if "norm_map" in options:
                listed[-1]["state_file"] = f"{name}_step_{place}_{step}.safetensors"
                save_file(statistics, folder / listed[-1]["state_file"])
        _write(folder / f"{name}.json", {"name": name, "steps": listed})


def shapes(sizes: Sizes) -> Shapes:
    """The names and shapes of all tensors in LeRobot's file, those that nobody reads included."""
    width, keys, expert = sizes.width, sizes.key_heads * sizes.head, sizes.expert_width
    for name, (outputs, inputs) in {
        "state_proj": (width, sizes.room),
        "action_in_proj": (expert, sizes.room),
        "action_out_proj": (sizes.room, expert),
        "action_time_mlp_in": (expert, 2 * expert),
        "action_time_mlp_out": (expert, expert),
    }.items():
        yield from _linear(NETWORK + name, outputs, inputs)
    for place in range(sizes.used_layers):
        layer = f"layers.{place}."
        yield from _decoder_layer(f"{MODEL}text_model.{layer}", sizes, width, sizes.hidden, width)
        yield from _decoder_layer(EXPERT + layer, sizes, expert, sizes.expert_hidden, keys if place % 2 else expert)
    yield f"{MODEL}text_model.embed_tokens.weight", (sizes.vocabulary, width)
    yield f"{MODEL}text_model.norm.weight", (width,)
    yield f"{EXPERT}norm.weight", (expert,)
    yield "model.vlm_with_expert.vlm.lm_head.weight", (sizes.vocabulary, width)
    yield f"{MODEL}connector.modality_projection.proj.weight", (width, sizes.vision_width * sizes.scale**2)
    yield from _tower(f"{MODEL}vision_model.", sizes)


def _tower(name: str, sizes: Sizes) -> Shapes:
    width, hidden = sizes.vision_width, sizes.vision_hidden
    yield f"{name}embeddings.patch_embedding.weight", (width, 3, sizes.patch, sizes.patch)
    yield f"{name}embeddings.patch_embedding.bias", (width,)
    yield f"{name}embeddings.position_embedding.weight", ((sizes.side // sizes.patch) ** 2, width)
    yield from _norm(f"{name}post_layernorm", width)
    for place in range(sizes.vision_layers):
        layer = f"{name}encoder.layers.{place}."
        for part in ("layer_norm1", "layer_norm2"):
            yield from _norm(layer + part, width)
        for part in ("q_proj", "k_proj", "v_proj", "out_proj"):
            yield from _linear(f"{layer}self_attn.{part}", width, width)
        yield from _linear(f"{layer}mlp.fc1", hidden, width)
        yield from _linear(f"{layer}mlp.fc2", width, hidden)


def _decoder_layer(name: str, sizes: Sizes, width: int, hidden: int, key_input: int) -> Shapes:
    queries, keys = sizes.heads * sizes.head, sizes.key_heads * sizes.head
    yield f"{name}input_layernorm.weight", (width,)
    yield f"{name}post_attention_layernorm.weight", (width,)
    yield f"{name}self_attn.q_proj.weight", (queries, width)
    yield f"{name}self_attn.k_proj.weight", (keys, key_input)
    yield f"{name}self_attn.v_proj.weight", (keys, key_input)
    yield f"{name}self_attn.o_proj.weight", (width, queries)
    yield f"{name}mlp.gate_proj.weight", (hidden, width)
    yield f"{name}mlp.up_proj.weight", (hidden, width)
    yield f"{name}mlp.down_proj.weight", (width, hidden)


def _linear(name: str, outputs: int, inputs: int) -> Shapes:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _norm(name: str, width: int) -> Shapes:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def random_weight(name: str, shape: tuple[int, ...], generator: torch.Generator) -> Tensor:
    """Weights that keep values in their range from layer to layer."""
    noise = torch.randn(shape, generator=generator)
    if len(shape) > 1:
        return noise / torch.tensor(shape[1:]).prod().sqrt()
    return 0.02 * noise + (1.0 if name.endswith("weight") else 0.0)


def _write(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--size", choices=SIZES, default="tiny")
    arguments = parser.parse_args()
    sizes = SIZES[arguments.size]
    cameras = [f"observation.images.camera{place}" for place in (1, 2, 3)]
    write_checkpoint(arguments.folder, sizes, Inputs(cameras, sizes.side, 6, 6))


if __name__ == "__main__":
    main()
