"""Write the vision-language model of recipes/metaworld_language.sh: its sizes, and a tokenizer for Meta-World's words.

python recipes/smolvla_tiny/make.py   (needs yardarm[vla]; its output is in the repository)
"""

import json
from pathlib import Path

from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers

from yardarm.tasks.metaworld_catalogue import INSTRUCTIONS

HERE = Path(__file__).parent
PAD, UNKNOWN = "<pad>", "<unk>"


def main() -> None:
    """Write the three files."""
    tokenizer = make_tokenizer()
    tokenizer.save(str(HERE / "tokenizer.json"))
    names = {"tokenizer_class": "PreTrainedTokenizerFast", "pad_token": PAD, "unk_token": UNKNOWN}
    write("tokenizer_config.json", {**names, "padding_side": "right", "model_max_length": 32})
    write("config.json", make_config(tokenizer.get_vocab_size()))


def make_tokenizer() -> Tokenizer:
    """One token for each word of the 50 instructions; the line break that ends a prompt is a word, too."""
    words = pre_tokenizers.Split(Regex(r"\n|\w+|[^\w\s]"), behavior="removed", invert=True)
    lower = normalizers.Lowercase()
    found = sorted({word for text in INSTRUCTIONS.values() for word, _ in words.pre_tokenize_str(text.lower())})
    numbers = {word: number for number, word in enumerate([PAD, UNKNOWN, "\n", *found])}
    tokenizer = Tokenizer(models.WordLevel(numbers, unk_token=UNKNOWN))
    tokenizer.normalizer, tokenizer.pre_tokenizer = lower, words
    tokenizer.add_special_tokens([PAD, UNKNOWN])
    return tokenizer


def make_config(vocabulary: int) -> dict:
    """SmolVLM's layout. 96 pixels are 8 × 8 patches, and these 4 × 4 tokens."""
    vision = {
        "model_type": "smolvlm_vision",
        "image_size": 96,
        "patch_size": 12,
        "hidden_size": 192,
        "intermediate_size": 768,
        "num_hidden_layers": 3,
        "num_attention_heads": 4,
    }
    text = {
        "model_type": "llama",
        "hidden_size": 192,
        "intermediate_size": 384,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 48,
        "vocab_size": vocabulary,
        "pad_token_id": 0,
    }
    return {
        "model_type": "smolvlm",
        "scale_factor": 2,
        "image_token_id": 1,
        "pad_token_id": 0,
        "vision_config": vision,
        "text_config": text,
    }


def write(name: str, content: dict) -> None:
    """Write one file."""
    (HERE / name).write_text(json.dumps(content, indent=2) + "\n")


if __name__ == "__main__":
    main()
