"""Attention of one token a row agrees with the paper's equation in float64, whatever the widths."""

from collections.abc import Callable
from typing import Any

import keras
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from keras_transformer.config import RotaryConfig
from keras_transformer.export.onnx.layers.attention.kinds import MASKED
from keras_transformer.layers.variants.rotary import rates

Run = Callable[..., list[np.ndarray]]
WIDTHS = st.sampled_from([1, 5, 8, 20, 32, 64, 104])


def attend(
    query: np.ndarray,
    keys: np.ndarray,
    values: np.ndarray,
    cap: float = 0,
    biases: np.ndarray | float = 0,
) -> np.ndarray:
    """Equation 1 for a scaled query, float64, with scores that are capped, then biased."""
    scores = keys.astype(np.float64) @ query.astype(np.float64)
    scores = (cap * np.tanh(scores / cap) if cap else scores) + biases
    weights = np.exp(scores - scores.max())
    return weights / weights.sum() @ values.astype(np.float64)


def draw(seed: int, *shape: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def of_distances(biases: np.ndarray, head: int, ahead: np.ndarray) -> np.ndarray:
    """A head's biases of keys so many places behind a query, or before it if negative."""
    most = biases.shape[1] // 2
    return biases[head, np.clip(ahead, -most, most) + most]


class SelfCase:
    """Packed projections, caches, a step, a table of beams, and biases if there is a farthest
    distance that has its own.

    Each of the heads of keys and values is shared by a group of heads of queries.
    """

    def __init__(
        self,
        seed: int,
        batch: int,
        beams: int,
        heads: int,
        width: int,
        step: int,
        group: int = 1,
        window: int = 0,
        cap: float = 0,
        most: int = 0,
    ) -> None:
        self.heads, self.width, self.step, self.beams = heads, width, step, beams
        self.group, self.window, self.cap = group, window, cap
        self.biases = draw(seed + 3, heads * group, 2 * most + 1) if most else None
        rows, capacity = batch * beams, step + 1 + seed % 3
        self.packed = draw(seed, rows, (group + 2) * heads * width)
        self.caches = [draw(seed + n, rows, heads, capacity, width) for n in (1, 2)]
        random = np.random.default_rng(seed)
        self.table = random.integers(0, beams, (batch, beams, capacity)).astype(np.int32)

    def inputs(self, with_table: bool = True) -> list[np.ndarray]:
        step = np.array([self.step], np.int32)
        found = [self.packed, *self.caches, step, *([self.table] if with_table else [])]
        return found if self.biases is None else [*found, self.biases]

    def expected(self) -> tuple[np.ndarray, list[np.ndarray]]:
        ends = np.array([self.group, self.group + 1]) * self.heads * self.width
        parts = np.split(self.packed, ends, axis=1)
        query, *new = (part.reshape(len(part), -1, self.width) for part in parts)
        written = [cache.copy() for cache in self.caches]
        for cache, values in zip(written, new, strict=True):
            cache[:, :, self.step] = values
        found = np.zeros(query.shape)
        for row, head in np.ndindex(*found.shape[:2]):
            sentence, beam = divmod(row, self.beams)
            rows = sentence * self.beams + self.table[sentence, beam, : self.step]
            places = [*zip(rows, range(self.step), strict=True), (row, self.step)][-self.window :]
            keys, values = (
                np.stack([c[r, head // self.group, t] for r, t in places]) for c in written
            )
            ahead = np.array([t - self.step for _, t in places])
            more = 0 if self.biases is None else of_distances(self.biases, head, ahead)
            found[row, head] = attend(query[row, head], keys, values, self.cap, more)
        return found.reshape(len(query), -1), written


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    beams=st.integers(1, 4),
    heads=st.integers(1, 5),
    width=WIDTHS,
    step=st.integers(0, 40),
    group=st.integers(1, 3),
    window=st.sampled_from([0, 1, 4, 19, 60]),
    cap=st.sampled_from([0.0, 2.0, 50.0]),
    most=st.sampled_from([0, 1, 12, 70]),
)
# More than one thread's work.
@example(seed=0, batch=40, beams=4, heads=8, width=64, step=30, group=1, window=0, cap=0, most=0)
@example(seed=0, batch=40, beams=4, heads=2, width=64, step=30, group=4, window=9, cap=5, most=7)
def test_self_attention_follows_the_table_of_beams(run: Run, **sizes: Any) -> None:
    case = SelfCase(**sizes)
    flags = {"stored": [5] if sizes["most"] else (), "soft_cap": float(case.cap)}
    found, *caches = run("SelfAttention", case.inputs(), outputs=3, window=case.window, **flags)
    expected, written = case.expected()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    for ours, theirs in zip(caches, written, strict=True):
        np.testing.assert_array_equal(ours, theirs)


@given(seed=st.integers(0, 2**31), heads=st.integers(1, 4), width=WIDTHS, step=st.integers(0, 20))
def test_without_a_table_each_row_sees_its_own_tokens(run: Run, **sizes: int) -> None:
    case = SelfCase(batch=3, beams=1, **sizes)
    with_table = run("SelfAttention", case.inputs(), outputs=3)
    without = run("SelfAttention", case.inputs(with_table=False), outputs=3)
    for one, other in zip(with_table, without, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5, atol=1e-6)


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 6),
    heads=st.integers(1, 4),
    width=st.sampled_from([2, 6, 8, 32, 40]),
    place=st.integers(0, 600),
)
@example(seed=0, rows=200, heads=16, width=64, place=3)  # More than one thread's work.
def test_rotary_turns_the_pairs_of_queries_and_keys(
    run: Run, seed: int, rows: int, heads: int, width: int, place: int
) -> None:
    packed = draw(seed, rows, 3 * heads * width)
    of_pairs = rates(RotaryConfig(base=100.0), width)
    inputs = [packed, np.arange(place, place + rows, dtype=np.int32), np.repeat(of_pairs, 2)]
    [found] = run("Rotary", inputs, stored=[2], heads=2 * heads)
    turned = 2 * heads * width
    halves = packed[:, :turned].reshape(rows, 2 * heads, 2, -1).astype(np.float64)
    angles = inputs[1][:, None, None].astype(np.float64) * of_pairs
    pairs = (halves[:, :, 0] + 1j * halves[:, :, 1]) * np.exp(1j * angles)
    expected = np.stack([pairs.real, pairs.imag], axis=2).reshape(rows, turned)
    np.testing.assert_allclose(found[:, :turned], expected, rtol=0, atol=2e-4)
    np.testing.assert_array_equal(found[:, turned:], packed[:, turned:])
    [at_one] = run("Rotary", [packed, inputs[1][:1], inputs[2]], stored=[2], heads=2 * heads)
    np.testing.assert_array_equal(at_one[0], found[0])


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 5),
    heads=st.integers(1, 4),
    shared=st.integers(1, 3),
    width=WIDTHS,
    has_mean=st.booleans(),
)
@example(seed=0, rows=300, heads=9, shared=3, width=64, has_mean=False)  # Of several threads.
def test_norms_of_heads_are_keras_s_of_each_queries_and_keys(
    run: Run, seed: int, rows: int, heads: int, shared: int, width: int, has_mean: bool
) -> None:
    # Of keys the norms are as wide as two heads.
    sizes, widths = [heads, shared], [width, 2 * width]
    ends = np.cumsum(np.multiply(sizes, widths))
    packed = draw(seed, rows, ends[1] + 3)
    kind = keras.layers.LayerNormalization if has_mean else keras.layers.RMSNormalization
    layers = [kind(epsilon=1e-3) for _ in sizes]
    for number, (layer, wide) in enumerate(zip(layers, widths, strict=True)):
        layer.build((rows, wide))
        layer.set_weights([draw(seed + number, wide) for _ in layer.weights])
    *parts, rest = np.split(packed, ends, axis=1)
    expected = [
        np.asarray(layer(part.reshape(rows, size, wide))).reshape(rows, -1)
        for layer, part, size, wide in zip(layers, parts, sizes, widths, strict=True)
    ]
    weights = [one for layer in layers for one in layer.get_weights()]
    inputs, stored = [packed, *weights], range(1, 1 + len(weights))
    name, flags = "NormHeads" if has_mean else "RmsNormHeads", {"heads": heads, "shared": shared}
    [found] = run(name, inputs, stored=stored, epsilon=1e-3, **flags)
    np.testing.assert_allclose(
        found, np.concatenate([*expected, rest], axis=1), rtol=1e-3, atol=1e-4
    )
    np.testing.assert_array_equal(found[:, ends[1] :], rest)


@pytest.mark.parametrize(
    ("columns", "width", "flags", "message"),
    [
        (39, 8, {"heads": 3, "shared": 2}, "packed must hold 24 and 16 numbers .*, got 39"),
        (40, 8, {"heads": 2**31 - 1, "shared": 2}, "the width of all heads must be from 1"),
        (40, 0, {"heads": 3, "shared": 2}, "gamma must be stored in the graph"),
        (40, 8, {"heads": 3, "shared": 0}, "shared must be from 1"),
    ],
)
def test_norms_of_heads_that_are_not_there_are_refused(
    run: Run, columns: int, width: int, flags: dict[str, int], message: str
) -> None:
    inputs = [draw(0, 2, columns), *[np.ones(width, np.float32)] * 2]
    with pytest.raises(Exception, match=message):
        run("RmsNormHeads", inputs, stored=(1, 2), epsilon=1e-6, **flags)


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    beams=st.integers(1, 4),
    heads=st.integers(1, 5),
    width=WIDTHS,
    length=st.integers(1, 40),
    group=st.integers(1, 3),
    cap=st.sampled_from([0.0, 3.0]),
)
def test_cross_attention_sees_what_the_mask_keeps(
    run: Run,
    seed: int,
    batch: int,
    beams: int,
    heads: int,
    width: int,
    length: int,
    group: int,
    cap: float,
) -> None:
    queries = draw(seed, batch * beams, group * heads * width)
    keys, values = (draw(seed + n, batch, heads, length, width) for n in (1, 2))
    mask = np.random.default_rng(seed).integers(0, 2, (batch, length)).astype(np.int32)
    mask[:, 0] = 1
    [found] = run("CrossAttention", [queries, keys, values, mask], soft_cap=cap)
    for row, head in np.ndindex(batch * beams, group * heads):
        sentence, there = row // beams, slice(head * width, (head + 1) * width)
        seen = sentence, head // group, mask[sentence] == 1
        expected = attend(queries[row, there], keys[seen], values[seen], cap)
        np.testing.assert_allclose(found[row, there], expected, rtol=1e-4, atol=1e-5)


@given(
    seed=st.integers(0, 2**31),
    batch=st.integers(1, 3),
    heads=st.integers(1, 5),
    width=WIDTHS,
    length=st.integers(1, 40),
)
@example(seed=0, batch=6, heads=4, width=64, length=70)  # More than one thread's work.
def test_sequence_attention_sees_what_the_mask_keeps(
    run: Run, seed: int, batch: int, heads: int, width: int, length: int
) -> None:
    packed = draw(seed, batch * length, 3 * heads * width)
    mask = np.random.default_rng(seed).integers(0, 2, (batch, length)).astype(np.int32)
    mask[:, 0] = 1
    [found] = run("SequenceAttention", [packed, mask], heads=heads)
    split = packed.reshape(batch, length, 3, heads, width)
    for sentence, place, head in np.ndindex(batch, length, heads):
        keys, values = split[sentence, mask[sentence] == 1, 1:, head].transpose(1, 0, 2)
        expected = attend(split[sentence, place, 0, head], keys, values)
        there = slice(head * width, (head + 1) * width)
        row = found[sentence * length + place, there]
        # Queries are not scaled here: scores of 30 and more round away more than a model's.
        np.testing.assert_allclose(row, expected, rtol=1e-4, atol=3e-5)


@given(
    seed=st.integers(0, 2**31),
    width=WIDTHS,
    length=st.integers(1, 90),
    window=st.sampled_from([0, 1, 5, 17, 40]),
    tokens_alone=st.booleans(),
    shared=st.sampled_from([1, 2, 4]),
    cap=st.sampled_from([0.0, 2.0, 50.0]),
    most=st.sampled_from([0, 1, 12, 100]),
)
@example(
    seed=0, width=64, length=300, window=33, tokens_alone=True, shared=2, cap=0.0, most=0
)  # More than one thread's work.
@example(seed=0, width=64, length=300, window=0, tokens_alone=True, shared=4, cap=5.0, most=128)
def test_sequence_attention_changes_scores_by_places(
    run: Run,
    seed: int,
    width: int,
    length: int,
    window: int,
    tokens_alone: bool,
    shared: int,
    cap: float,
    most: int,
) -> None:
    mask = np.random.default_rng(seed).integers(0, 2, (2, length)).astype(np.int32)
    keep = np.ones_like(mask, bool) if not tokens_alone else mask == 1
    packed = draw(seed, 2 * length, (4 + 2 * shared) * width)
    biases = draw(seed + 1, 4, 2 * most + 1)
    inputs = [packed[keep.ravel()], mask, *([biases] if most else [])]
    flags = {"heads": 4, "shared": shared, "window": window, "soft_cap": cap}
    [found] = run("SequenceAttention", inputs, stored=[2] if most else (), **flags)
    whole = np.zeros((2 * length, 4 * width), np.float32)
    whole[keep.ravel()] = found
    split = packed.reshape(2, length, 4 + 2 * shared, width)
    for sentence, head in np.ndindex(2, 4):
        key = 4 + head // (4 // shared)
        for place in np.flatnonzero(mask[sentence]):
            ahead = np.arange(length) - place
            seen = ((np.abs(ahead) < window) | (window == 0)) & (mask[sentence] == 1)
            keys, values = (split[sentence, seen, one] for one in (key, key + shared))
            more = of_distances(biases, head, ahead[seen]) if most else 0
            expected = attend(split[sentence, place, head], keys, values, cap, more)
            row = whole[sentence * length + place, head * width : (head + 1) * width]
            np.testing.assert_allclose(row, expected, rtol=1e-4, atol=3e-5)


class PromptCase:
    """Packed projections of prompts, caches that hold some tokens before them, and biases."""

    def __init__(
        self, seed: int, rows: int, shared: int, group: int, width: int, before: int, length: int
    ) -> None:
        self.shared, self.width, self.before, self.length = shared, width, before, length
        self.heads = shared * group
        self.packed = draw(seed, rows * length, (group + 2) * shared * width)
        capacity = before + length + seed % 3
        self.caches = [draw(seed + n, rows, shared, capacity, width) for n in (1, 2)]
        self.step = np.array([before], np.int32)

    def filled(self) -> list[np.ndarray]:
        """The caches with the prompts' keys and values."""
        ends = np.array([self.heads, self.heads + self.shared]) * self.width
        _, *new = np.split(self.packed, ends, axis=1)
        filled = [cache.copy() for cache in self.caches]
        for cache, values in zip(filled, new, strict=True):
            apart = values.reshape(len(cache), self.length, self.shared, self.width)
            cache[:, :, self.before : self.before + self.length] = apart.swapaxes(1, 2)
        return filled

    def expected(self, window: int, cap: float, biases: np.ndarray | None) -> np.ndarray:
        keys, values = self.filled()
        queries = self.packed[:, : self.heads * self.width]
        queries = queries.reshape(len(keys), self.length, self.heads, self.width)
        found = np.zeros(queries.shape)
        for row, number, head in np.ndindex(*found.shape[:3]):
            place = self.before + number
            first = max(0, place - window + 1) if window else 0
            seen = row, head // (self.heads // self.shared), slice(first, place + 1)
            ahead = np.arange(first, place + 1) - place
            more = 0 if biases is None else of_distances(biases, head, ahead)
            found[row, number, head] = attend(
                queries[row, number, head], keys[seen], values[seen], cap, more
            )
        return found.reshape(len(self.packed), -1)


@given(
    seed=st.integers(0, 2**31),
    rows=st.integers(1, 3),
    shared=st.integers(1, 3),
    group=st.integers(1, 3),
    width=WIDTHS,
    before=st.integers(0, 40),
    length=st.integers(1, 40),
    window=st.sampled_from([0, 1, 5, 30]),
    cap=st.sampled_from([0.0, 3.0]),
    most=st.sampled_from([0, 9]),
)
@example(
    seed=0, rows=3, shared=2, group=3, width=64, before=9, length=150, window=40, cap=0.0, most=50
)  # More than one thread's work.
def test_a_prompt_fills_caches_and_sees_what_is_before_it(
    run: Run, window: int, cap: float, most: int, **sizes: int
) -> None:
    case = PromptCase(**sizes)
    given = [case.packed, *case.caches, case.step]
    filled = run("FillCache", given, outputs=2)
    for found, expected in zip(filled, case.filled(), strict=True):
        np.testing.assert_array_equal(found, expected)
    biases = draw(sizes["seed"] + 3, case.heads, 2 * most + 1) if most else None
    inputs = [case.packed, *filled, case.step, *([] if biases is None else [biases])]
    flags = {"window": window, "soft_cap": cap, "stored": [4] if most else ()}
    [found] = run("PromptAttention", inputs, **flags)
    expected = case.expected(window, cap, biases)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=3e-5)


def test_a_prompt_without_a_first_place_begins_the_caches(run: Run) -> None:
    case = PromptCase(seed=0, rows=2, shared=2, group=2, width=8, before=0, length=5)
    filled = run("FillCache", [case.packed, *case.caches], outputs=2)
    np.testing.assert_array_equal(filled[1], case.filled()[1])
    [found] = run("PromptAttention", [case.packed, *filled])
    np.testing.assert_allclose(found, case.expected(0, 0, None), rtol=1e-4, atol=3e-5)


@given(
    seed=st.integers(0, 2**31),
    group=st.integers(1, 3),
    width=WIDTHS,
    length=st.integers(1, 60),
    window=st.sampled_from([0, 4, 20]),
)
def test_texts_that_look_back_are_prompts(
    run: Run, seed: int, group: int, width: int, length: int, window: int
) -> None:
    case = PromptCase(seed, 2, 2, group, width, 0, length)
    flags = {"heads": case.heads, "shared": 2, "window": window}
    mask = np.ones((2, length), np.int32)
    [found] = run("SequenceAttention", [case.packed, mask], looks_back=1, **flags)
    expected = case.expected(window, 0, None)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=3e-5)


def test_no_prompts_are_filled_in_nowhere(run: Run) -> None:
    caches = [np.zeros((0, 2, 5, 8), np.float32)] * 2
    given = [np.zeros((0, 48), np.float32), *caches, np.array([1], np.int32)]
    assert [one.shape for one in run("FillCache", given, outputs=2)] == [(0, 2, 5, 8)] * 2
    assert run("PromptAttention", given)[0].shape == (0, 16)


@pytest.mark.parametrize(
    ("rows", "columns", "step", "message"),
    [
        (7, 48, 0, r"packed must have the shape \(6, 48, \), got \(7, 48, \)"),
        (6, 47, 0, "packed must hold a multiple of 2 heads of queries, and 2 each"),
        (6, 48, 3, "3 tokens from place 3 on do not fit into a cache of 5"),
        (6, 48, -1, "3 tokens from place -1 on do not fit"),
        (6, 48, 2**31 - 1, "do not fit into a cache of 5"),
    ],
)
@pytest.mark.parametrize("name", ["FillCache", "PromptAttention"])
def test_prompts_that_do_not_fit_are_refused(
    run: Run, name: str, rows: int, columns: int, step: int, message: str
) -> None:
    given = [draw(0, rows, columns), draw(1, 2, 2, 5, 8), draw(2, 2, 2, 5, 8)]
    with pytest.raises(Exception, match=message):
        run(name, [*given, np.array([step], np.int32)], outputs=1 + (name == "FillCache"))


@given(seed=st.integers(0, 2**31), width=WIDTHS, length=st.integers(1, 30), more=st.integers(1, 20))
def test_padding_changes_no_bit_of_sequence_attention(
    run: Run, seed: int, width: int, length: int, more: int
) -> None:
    packed = draw(seed, length + more, 3 * 2 * width)
    mask = (np.arange(length + more) < length).astype(np.int32)
    for flags in ({"heads": 2}, {"heads": 2, "window": 9}, {"heads": 2, "soft_cap": 3.0}):
        [apart] = run("SequenceAttention", [packed[:length], mask[None, :length]], **flags)
        [padded] = run("SequenceAttention", [packed, mask[None]], **flags)
        np.testing.assert_array_equal(padded[:length], apart)


@given(
    seed=st.integers(0, 2**31),
    width=WIDTHS,
    length=st.integers(1, 30),
    batch=st.integers(1, 6),
)
def test_rows_of_tokens_alone_are_those_among_padding(
    run: Run, seed: int, width: int, length: int, batch: int
) -> None:
    mask = np.random.default_rng(seed).integers(0, 2, (batch, length)).astype(np.int32)
    keep = mask.ravel() == 1
    padded = draw(seed, batch * length, 3 * 2 * width)
    [found] = run("SequenceAttention", [padded[keep], mask], heads=2)
    [expected] = run("SequenceAttention", [padded, mask], heads=2)
    # Padding between tokens changes the order of summing.
    np.testing.assert_allclose(found, expected[keep], rtol=1e-4, atol=3e-5)
    split = run("SplitHeads", [padded[keep], mask], outputs=3, heads=2, parts=3)
    whole = run("SplitHeads", [padded, mask], outputs=3, heads=2, parts=3)
    for one, other in zip(split, whole, strict=True):
        np.testing.assert_array_equal(one, other * mask[:, None, :, None])


@pytest.mark.parametrize(
    ("biases", "flags", "message"),
    [
        (draw(1, 2, 4), {}, "as many distances before a query as behind it, got 4"),
        (draw(1, 3, 5), {}, r"biases must have the shape \(2, 5, \), got \(3, 5, \)"),
        (draw(1, 10), {}, "biases must have 2 axes"),
        (draw(1, 2, 5), {"soft_cap": -1.0}, "soft_cap must be positive, or 0 for none, got -1"),
        (draw(1, 2, 5), {"soft_cap": float("nan")}, "soft_cap must be positive"),
        (draw(1, 2, 5), {"shared": 3}, "heads must be a multiple of 3, which is shared, got 2"),
        (draw(1, 2, 5), {"shared": 0}, "shared must be from 1"),
    ],
)
def test_changes_of_scores_that_do_not_fit_are_refused(
    run: Run, biases: np.ndarray, flags: dict[str, Any], message: str
) -> None:
    inputs = [draw(0, 3, 24), np.ones((1, 3), np.int32), biases]
    with pytest.raises(Exception, match=message):
        run("SequenceAttention", inputs, stored=[2], heads=2, **flags)


def test_biases_that_the_graph_does_not_hold_are_refused(run: Run) -> None:
    inputs = [draw(0, 3, 24), np.ones((1, 3), np.int32), draw(1, 2, 5)]
    with pytest.raises(Exception, match="biases must be stored in the graph"):
        run("SequenceAttention", inputs, heads=2)
    with pytest.raises(Exception, match="biases must be stored in the graph"):
        case = SelfCase(seed=0, batch=1, beams=2, heads=2, width=4, step=3, most=2)
        run("SelfAttention", case.inputs(), outputs=3)


def test_queries_that_are_no_whole_groups_are_refused(run: Run) -> None:
    keys, mask = draw(1, 1, 2, 3, 8), np.ones((1, 3), np.int32)
    with pytest.raises(Exception, match="queries must hold a multiple of 2 heads of 8 .* got 24"):
        run("CrossAttention", [draw(0, 1, 24), keys, keys, mask])


def test_rows_of_neither_tokens_nor_places_are_refused(run: Run) -> None:
    mask = np.array([[1, 1, 1], [1, 0, 0]], np.int32)
    with pytest.raises(Exception, match="must be 6 rows, one for each place, or 4, .* got 5"):
        run("SequenceAttention", [draw(0, 5, 24), mask], heads=2)


def test_masked_scores_are_as_low_as_those_of_onnxruntime_s_operators(run: Run) -> None:
    queries, keys, values = draw(0, 1, 8), draw(1, 1, 1, 3, 8), draw(2, 1, 1, 3, 8)
    # Where nothing may be seen both give what the masked scores themselves say: the mean.
    [found] = run("CrossAttention", [queries, keys, values, np.zeros((1, 3), np.int32)])
    scores = keys[0, 0] @ queries[0] + np.float32(MASKED)
    weights = np.exp(scores - scores.max()) / np.exp(scores - scores.max()).sum()
    np.testing.assert_allclose(found[0], weights @ values[0, 0], rtol=1e-4, atol=1e-5)


def attend_to_scores(run: Run, name: str, score: float, count: int) -> np.ndarray:
    """What one head gives for `count` tokens whose scores are all this and whose values are 7."""
    packed = np.zeros((count, 24), np.float32)
    packed[:, 0], packed[:, 8], packed[:, 16:] = score, 1, 7
    if name == "SequenceAttention":
        [found] = run(name, [packed, np.ones((1, count), np.int32)], heads=1)
        return found
    keys, values = (packed[None, None, :, start : start + 8].copy() for start in (8, 16))
    if name == "CrossAttention":
        [found] = run(name, [packed[:1, :8], keys, values, np.ones((1, count), np.int32)])
    else:
        step = np.array([count - 1], np.int32)
        found, *_ = run(name, [packed[:1], keys, values, step], outputs=3)
    return found


@pytest.mark.parametrize("name", ["SelfAttention", "CrossAttention", "SequenceAttention"])
@pytest.mark.parametrize(
    ("score", "expected"),
    [(-2e30, 7), (-3e38, 7), (-np.inf, np.nan), (np.inf, np.nan), (np.nan, np.nan)],
)
def test_scores_of_any_size_are_weighed_alike_for_every_number_of_tokens(
    run: Run, name: str, score: float, expected: float
) -> None:
    for count in range(1, 34):
        found = attend_to_scores(run, name, score, count)
        np.testing.assert_allclose(found, np.full_like(found, expected), rtol=1e-5)


@pytest.mark.parametrize(
    ("place", "value", "message"),
    [
        (0, np.zeros((3, 24), np.float32), r"packed must have the shape \(2, 24, \), got \(3, 24"),
        *(
            (0, np.zeros((2, columns), np.float32), f"a multiple of 2 heads .*, got {columns}")
            for columns in (0, 8, 16, 23, 28)
        ),
        (2, np.zeros((2, 2, 5, 3), np.float32), r"cached values must have the shape \(2, 2, 5, 4"),
        (3, np.array([5], np.int32), "step 5 is outside a cache of 5 tokens"),
        (3, np.array([-1], np.int32), "step -1 is outside"),
        (4, np.zeros((1, 2, 4), np.int32), r"beams must have the shape \(1, 2, 5, \)"),
    ],
)
def test_inputs_that_do_not_fit_are_refused(
    run: Run, place: int, value: np.ndarray, message: str
) -> None:
    inputs: list[Any] = [
        np.zeros((2, 24), np.float32),
        *[np.zeros((2, 2, 5, 4), np.float32)] * 2,
        np.zeros(1, np.int32),
        np.zeros((1, 2, 5), np.int32),
    ]
    inputs[place] = value
    with pytest.raises(Exception, match=message):
        run("SelfAttention", inputs, outputs=3)
    cross: list[Any] = [
        np.zeros((2, 8), np.float32),
        *[np.zeros((1, 2, 5, 4), np.float32)] * 2,
        np.zeros((1, 4), np.int32),
    ]
    with pytest.raises(Exception, match=r"mask must have the shape \(1, 5, \), got \(1, 4, \)"):
        run("CrossAttention", cross)
