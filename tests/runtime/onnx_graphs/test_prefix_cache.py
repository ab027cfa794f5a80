"""Keys and values of what prompts begin with: found by tokens, bounded, and of the right place."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer import OnnxGenerator
from keras_transformer.runtime.onnx_graphs.prefix_cache import BLOCK, PrefixCache
from tools.covering import some

BEGINNING = "the red dog and a small house stands by the river we see three birds "
PROMPTS = [BEGINNING + end for end in ("hello", "", "and the dog", "hello", "by the red house")]
ROWS = st.lists(st.integers(0, 1), max_size=4 * BLOCK)


def caches(tokens: np.ndarray) -> list[np.ndarray]:
    """Caches whose values are the tokens, so that what comes back can be told."""
    return [np.repeat(tokens[None, :, None], 2, axis=0).astype(np.float32)]


@given(st.lists(ROWS, max_size=5), st.integers(0, 6 * BLOCK))
def test_what_comes_back_is_what_the_row_begins_with(rows: list[list[int]], most: int) -> None:
    known, seen = PrefixCache(most), set[bytes]()
    for row in rows:
        tokens = np.array(row, np.int32)
        found = [np.full((2, len(row), 1), 9, np.float32)]
        count = known.restore(tokens, found)
        assert count % BLOCK == 0
        assert not count or tokens[:count].tobytes() in seen
        np.testing.assert_array_equal(found[0][:, :count], caches(tokens)[0][:, :count])
        assert (found[0][:, count:] == 9).all()
        known.keep(tokens, caches(tokens))
        assert known.tokens <= most
        seen |= {tokens[:end].tobytes() for end in range(BLOCK, len(row) + 1, BLOCK)}


def test_what_was_used_longest_ago_goes_first_from_its_end() -> None:
    known = PrefixCache(4 * BLOCK)
    first, second, third = (np.full(2 * BLOCK, token, np.int32) for token in (1, 2, 3))
    for row in (first, second):
        known.keep(row, caches(row))
    assert known.restore(first, caches(first)) == 2 * BLOCK
    known.keep(third[:BLOCK], caches(third[:BLOCK]))
    counts = [known.restore(row, caches(row)) for row in (first, second, third)]
    assert counts == [2 * BLOCK, BLOCK, BLOCK]


@pytest.mark.parametrize("target", some(["native", "portable"], "native"))
@pytest.mark.parametrize("options", [{}, {"beam_size": 3}], ids=["greedy", "beams"])
def test_continuations_are_those_without(
    target: str, options: dict[str, Any], export_small: Callable[..., Any]
) -> None:
    path = export_small("decoder", target).path
    with (
        OnnxGenerator(path, threads=1) as plain,
        OnnxGenerator(path, threads=1, prefix_cache_tokens=3 * BLOCK) as keeping,
    ):
        expected = plain.generate(PROMPTS, max_length=8, **options)
        one_by_one = [keeping.generate([one], max_length=8, **options)[0] for one in PROMPTS]
        assert one_by_one == expected
        assert keeping.engine.prefixes.tokens >= BLOCK
        assert keeping.engine.counts["reused_prefix_tokens"] >= BLOCK
        assert keeping.generate(PROMPTS, max_length=8, **options) == expected
        streams = ["".join(one.stream(PROMPTS[0], max_length=8)) for one in (plain, keeping)]
        assert streams[0] == streams[1]


def test_a_negative_size_is_refused() -> None:
    with pytest.raises(ValueError, match="prefix_cache_tokens must be at least 0, got -1"):
        PrefixCache(-1)
