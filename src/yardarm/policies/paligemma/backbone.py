"""PaliGemma: images and text as one row of tokens, and what its layers leave of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor, nn

from yardarm.policies.paligemma.gemma import GEMMA, narrow_but_norms
from yardarm.policies.paligemma.sizes import PaliGemmaSizes
from yardarm.policies.vla.layers import LanguageLayers
from yardarm.policies.vla.prefix import PrefixPart
from yardarm.policies.vla.vision import look, siglip_tower

__all__ = ["PaliGemma"]


class PaliGemma(nn.Module):
    """Its parameters have the names that checkpoints give them. All scales are here: libraries have moved them."""

    def __init__(self, sizes: PaliGemmaSizes) -> None:
        super().__init__()
        self.text_scale = sizes.text.width**0.5
        projector = nn.Linear(sizes.vision["hidden_size"], sizes.text.width)
        self.model = nn.ModuleDict(
            {
                "vision_tower": nn.ModuleDict({"vision_model": siglip_tower(sizes.vision)}),
                "multi_modal_projector": nn.ModuleDict({"linear": projector}),
                "language_model": LanguageLayers(sizes.text, sizes.depth, sizes.vocabulary, GEMMA),
            }
        )

    @property
    def language(self) -> Any:
        """The language model."""
        return self.model["language_model"]

    @property
    def vision_tower(self) -> Any:
        """The eyes."""
        return self.model["vision_tower"]["vision_model"]  # type: ignore[index]

    @property
    def dtype(self) -> torch.dtype:
        """What its layers compute in."""
        return self.language.embed_tokens.weight.dtype

    def narrow(self, dtype: torch.dtype) -> None:
        """Compute with shorter numbers, but for eyes and norms, as LeRobot does."""
        narrow_but_norms(self.language, dtype)

    def images(self, images: Sequence[Tensor]) -> list[PrefixPart]:
        """A part for each camera, of images -1…1; their features are taken as they are."""
        features = look(self.vision_tower, torch.cat(list(images)).float())
        tokens = self.model["multi_modal_projector"]["linear"](features).to(self.dtype)  # type: ignore[index]
        valid = torch.ones(len(images[0]), tokens.shape[1], dtype=torch.bool, device=tokens.device)
        return [PrefixPart(image, valid) for image in tokens.chunk(len(images))]

    def text(self, tokens: Tensor, valid: Tensor) -> PrefixPart:
        """Text in the same block, its embeddings scaled."""
        return PrefixPart(self.language.embed_tokens(tokens) * self.text_scale, valid)
