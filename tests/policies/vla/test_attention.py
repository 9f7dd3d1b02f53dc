"""Who sees whom, and what attention finds."""

from __future__ import annotations

import torch
from hypothesis import given
from hypothesis import strategies as st

from yardarm.policies.vla.attention import Rotation, attend, positions, visible
from yardarm.policies.vla.prefix import Prefix, PrefixPart


def part(tokens: int, valid: list[list[bool]] | None = None, block: str = "joins") -> PrefixPart:
    rows = 1 if valid is None else len(valid)
    mask = torch.ones(rows, tokens, dtype=torch.bool) if valid is None else torch.tensor(valid)
    return PrefixPart(torch.zeros(rows, tokens, 4), mask, block)  # type: ignore[arg-type]


def test_a_block_sees_itself_and_what_is_before_it() -> None:
    prefix = Prefix.of([part(2), part(1), part(1, block="starts"), part(2, block="each")])
    assert prefix.blocks.tolist() == [0, 0, 0, 1, 2, 3]
    seen = visible(prefix.blocks, prefix.blocks, prefix.valid)[0].int().tolist()
    assert seen == [
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 0, 0, 0],
        [1, 1, 1, 1, 0, 0],
        [1, 1, 1, 1, 1, 0],
        [1, 1, 1, 1, 1, 1],
    ]


def test_padding_is_not_seen_and_takes_no_place() -> None:
    prefix = Prefix.of([part(3, [[True, True, False], [True, False, False]]), part(1, [[True], [True]])], length=6)
    assert prefix.tokens.shape == (2, 6, 4)
    assert prefix.valid.int().tolist() == [[1, 1, 0, 1, 0, 0], [1, 0, 0, 1, 0, 0]]
    assert positions(prefix.valid)[:, 3].tolist() == [2, 1]
    seen = visible(prefix.blocks, prefix.blocks, prefix.valid)
    assert (seen == prefix.valid[:, None, :]).all()


@given(
    shared=st.integers(1, 3),
    group=st.integers(1, 3),
    tokens=st.integers(1, 4),
    others=st.integers(1, 5),
    seed=st.integers(0, 9),
)
def test_attention_equals_its_definition(shared: int, group: int, tokens: int, others: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    queries = torch.randn(2, tokens, shared * group, 8, generator=generator)
    keys, values = torch.randn(2, 2, others, shared, 8, generator=generator)
    seen = torch.rand(2, tokens, others, generator=generator) < 0.7
    seen[..., 0] = True
    found = attend(queries, keys, values, seen)
    for head in range(shared * group):
        scores = queries[:, :, head] @ keys[:, :, head // group].transpose(1, 2) / 8**0.5
        expected = scores.masked_fill(~seen, -torch.inf).softmax(-1) @ values[:, :, head // group]
        torch.testing.assert_close(found[..., head * 8 : head * 8 + 8], expected, atol=1e-5, rtol=1e-5)


def test_a_rotation_tells_how_far_apart_tokens_are_and_nothing_else() -> None:
    heads = torch.randn(1, 2, 1, 8, generator=torch.Generator().manual_seed(0))
    products = []
    for start in (0, 5):
        turned = Rotation.at(torch.tensor([[start, start + 3]]), 8)(heads)[0, :, 0]
        products.append(turned[0] @ turned[1])
        torch.testing.assert_close(turned.norm(dim=-1), heads[0, :, 0].norm(dim=-1))
    torch.testing.assert_close(products[0], products[1])
