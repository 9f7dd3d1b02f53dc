"""What tensors are called in files of other layouts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["EXPERT", "UNUSED", "names_now"]

PREFIX = "model."
PALIGEMMA = "model.paligemma_with_expert.paligemma"
LANGUAGE = f"{PALIGEMMA}.model.language_model"
EXPERT = "model.paligemma_with_expert.gemma_expert"
HEAD = f"{PALIGEMMA}.lm_head.weight"
EMBEDDING = f"{LANGUAGE}.embed_tokens.weight"
# Beginnings of names in files that lack the prefix.
PARTS = ("paligemma_with_expert.", "state_proj.", "action_", "time_mlp_")

# Nothing is read off the language model but keys and values of its layers; the last one's answer goes nowhere.
UNUSED = (
    HEAD,
    f"{EXPERT}.lm_head.weight",
    f"{LANGUAGE}.norm.weight",
    f"{LANGUAGE}.layers.*.mlp.*",
    f"{LANGUAGE}.layers.*.post_attention_layernorm.weight",
    f"{LANGUAGE}.layers.*.self_attn.[oq]_proj.weight",
)


def names_now(names: Iterable[str], renamed: Mapping[str, str]) -> dict[str, str]:
    """For each tensor that a file has, by its name now, the name in the file; `renamed` are beginnings of names.

    The embedding of words and the language model's head were one tensor in training, of which a file may have one name.
    """
    now: dict[str, str] = {}
    for name in names:
        whole = f"{PREFIX}{name}" if name.startswith(PARTS) else name
        for old, new in renamed.items():
            whole = new + whole.removeprefix(old) if whole.startswith(old) else whole
        now[whole] = name
    if EMBEDDING not in now and HEAD in now:
        now[EMBEDDING] = now[HEAD]
    return now
