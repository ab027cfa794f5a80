"""The Keras-side search: the table of cases, a naive search, brute force, and its stages."""

import dataclasses
import itertools
from typing import Any

import keras
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from keras import ops
from searches import BEAMS, CONSTRAINTS, SAMPLES, Found, agree, all_sequences, naive_of

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.decoding.constraints import IMPOSSIBLE
from keras_transformer.decoding.hypotheses import Sentences
from keras_transformer.decoding.search import FIRST_STAGE, search
from keras_transformer.search.options import SearchOptions
from keras_transformer.search.random_numbers import uniforms
from tools.covering import covering, sampled

BOS_ID, EOS_ID, PAD_ID = SpecialIds.bos, SpecialIds.eos, SpecialIds.pad


class TableSteps:
    """A model that looks its answers up: `log_probs[sentence, step, last token]`.

    Its state is each row's sentence and a history of what it was fed, which must be the row's own.
    """

    special_ids = SpecialIds()

    def __init__(self, log_probs: np.ndarray, beams: int) -> None:
        self.log_probs = tf.constant(log_probs)
        self.beams = beams
        self.lengths: list[int] = []

    def start(self, rows: Any, length: int) -> Any:
        self.lengths.append(length)
        return {
            "sentence": ops.arange(rows) // self.beams,
            "fed": ops.zeros((rows, length), "int32"),
        }

    def grow(self, state: Any, length: int) -> Any:
        self.lengths.append(length)
        more = length - state["fed"].shape[1]
        return {**state, "fed": ops.pad(state["fed"], [[0, 0], [0, more]])}

    def step(self, ids: Any, step: Any, state: Any) -> tuple[Any, Any]:
        steps = ops.broadcast_to(step, ops.shape(ids))
        logits = tf.gather_nd(self.log_probs, ops.stack([state["sentence"], steps, ids], axis=1))
        here = ops.arange(state["fed"].shape[1], dtype="int32") == step
        return logits, {**state, "fed": ops.where(here, ids[:, None], state["fed"])}

    def read(self, ids: Any, labels: Any, step: Any, state: Any) -> tuple[Any, Any]:
        places = step + ops.arange(ops.shape(ids)[1], dtype="int32")
        sentences = ops.broadcast_to(state["sentence"][:, None], ops.shape(ids))
        index = [sentences, ops.broadcast_to(places, ops.shape(ids)), ids]
        logits = tf.gather_nd(self.log_probs, ops.stack(index, axis=2))
        log_probs = ops.log_softmax(logits, axis=-1)
        from_here = ops.arange(state["fed"].shape[1], dtype="int32") - step
        here = ops.logical_and(from_here >= 0, from_here < ops.shape(ids)[1])
        new = ops.take(ids, ops.clip(from_here, 0, ops.shape(ids)[1] - 1), axis=1)
        scores = ops.take_along_axis(log_probs, labels[:, :, None], axis=2)[:, :, 0]
        return scores, {**state, "fed": ops.where(here, new, state["fed"])}


def run(
    log_probs: np.ndarray,
    prefixes: list[list[int]] | None = None,
    source_lengths: list[int] | None = None,
    in_graph: bool = False,
    **options: Any,
) -> Found:
    """Searches, eagerly or in a graph; per sentence the possible ones as (ids, score, total).

    A graph is traced anew for every call.
    """
    chosen = SearchOptions(**options)
    batch = len(log_probs)
    samples = [
        [uniforms(chosen.seed, row, rank, chosen.max_length) for rank in range(rows)]
        for row in range(batch if chosen.sample else 0)
        for rows in [chosen.num_hypotheses]
    ]
    given = Sentences(
        limits=source_lengths and tf.constant([chosen.limit(length) for length in source_lengths]),
        prefixes=prefixes and tf.constant([[*row, -1, -1, -1][:3] for row in prefixes]),
        uniforms=tf.constant(np.array(samples)) if samples else None,
    )
    steps = TableSteps(log_probs, chosen.rows_per_sentence)

    def find() -> dict[str, Any]:
        return vars(search(steps, batch, chosen, given))

    found = tf.function(find, autograph=False)() if in_graph else find()
    assert found["ids"].shape[:2] == (batch, chosen.num_hypotheses)
    return [
        [
            (strip(ids), float(score), float(total))
            for ids, score, total in zip(*sentence, strict=True)
            if score > IMPOSSIBLE / 2
        ]
        for sentence in zip(
            *(np.asarray(found[name]) for name in ("ids", "scores", "log_probabilities")),
            strict=True,
        )
    ]


def strip(ids: np.ndarray) -> list[int]:
    """Cuts at the end token or at padding; behind it only padding may stand."""
    row = ids.tolist()
    ends = [place for place, token in enumerate(row) if token in (EOS_ID, PAD_ID)]
    if ends:
        assert set(row[ends[0] + 1 :]) <= {PAD_ID}
        return row[: ends[0]]
    return row


def random_table(seed: int, sentences: int, length: int, vocabulary: int) -> np.ndarray:
    generator = np.random.default_rng(seed)
    logits = generator.standard_normal((sentences, length, vocabulary, vocabulary)) * 2
    logits[..., EOS_ID] += generator.uniform(-2, 3)
    return np.asarray(keras.ops.log_softmax(logits.astype("float32")))


@pytest.fixture(scope="module")
def traced(search_cases) -> set[str]:
    """The names of cases that hold each option three times: they are searched in graphs."""
    names = sorted({name for case in search_cases for name in case.options})
    held = [tuple(name in case.options for name in names) for case in search_cases]
    return {search_cases[place].name for place in covering(held, times=3)}


def test_the_table_of_cases(search_case, traced) -> None:
    lengths = search_case.source_lengths if "max_length_ratio" in search_case.options else None
    graph, options = search_case.name in traced, search_case.options
    found = run(search_case.logits, search_case.prefixes, lengths, graph, **options)
    assert [[ids for ids, _, _ in sentence] for sentence in found] == search_case.expected
    agree(found, naive_of(search_case))


@dataclasses.dataclass(frozen=True)
class Given:
    """A search of a few sentences."""

    logits: np.ndarray = dataclasses.field(repr=False)
    prefixes: list[list[int]]
    lengths: list[int]
    options: dict[str, Any]


@st.composite
def searches(draw: st.DrawFn, kind: dict[str, Any]) -> Given:
    """Random logits, prefixes and source lengths, and some of the options set."""
    sentences, length = draw(st.integers(1, 3)), draw(st.integers(3, 6))
    fields = {**CONSTRAINTS, "min_length": st.integers(0, 3), **kind}
    options = {name: draw(strategy) for name, strategy in fields.items() if draw(st.booleans())} | {
        "max_length": length
    }
    if "seed" in kind:
        options = {"seed": 0, "sample": True, **options}
    else:
        options["num_hypotheses"] = options.get("beam_size", 1)
    random = np.random.default_rng(draw(st.integers(0, 10_000)))
    logits = random.standard_normal((sentences, length, 9, 9)) * 2
    logits[..., EOS_ID] += random.uniform(-2, 3)
    prefix = st.lists(st.integers(4, 8), max_size=2)
    prefixes = draw(st.lists(prefix, min_size=sentences, max_size=sentences))
    lengths = [draw(st.integers(1, 5)) for _ in range(sentences)]
    return Given(logits.astype(np.float32), prefixes, lengths, options)


def compare_with_naive(naive_search: Any, given: Given) -> None:
    logits, prefixes, lengths, options = dataclasses.astuple(given)
    log_probs = np.asarray(ops.log_softmax(logits))
    limits = lengths if options.get("max_length_ratio") else None
    expected = [
        naive_search(
            log_probs[place],
            logits=logits[place],
            prefix=prefixes[place],
            source_length=lengths[place],
            sentence=place,
            **options,
        )
        for place in range(len(logits))
    ]
    agree(run(logits, prefixes if any(prefixes) else None, limits, **options), expected)


@given(searches(BEAMS))
@settings(max_examples=15)
def test_any_options_find_what_the_naive_search_finds(naive_search, given) -> None:
    compare_with_naive(naive_search, given)


@given(searches(SAMPLES))
@settings(max_examples=10)
def test_any_options_sample_what_the_naive_search_samples(naive_search, given) -> None:
    compare_with_naive(naive_search, given)


@given(seed=st.integers(0, 10_000), max_length=st.integers(1, 8))
@settings(max_examples=6)
def test_one_beam_is_an_argmax_loop(seed: int, max_length: int) -> None:
    table = random_table(seed, 2, max_length, vocabulary=8)
    for [(ids, score, total)], log_probs in zip(
        run(table, max_length=max_length), table, strict=True
    ):
        expected, last, sum_ = [], BOS_ID, 0.0
        for step in range(max_length):
            row = log_probs[step, last].copy()
            row[[PAD_ID, BOS_ID] if step else [PAD_ID, BOS_ID, EOS_ID]] = -np.inf
            last = int(row.argmax())
            sum_ += float(row[last])
            expected.append(last)
            if last == EOS_ID:
                break
        assert ids == [token for token in expected if token != EOS_ID]
        assert total == pytest.approx(sum_, rel=1e-5)
        assert score == pytest.approx(sum_ / ((5 + len(expected)) / 6) ** 0.6, rel=1e-5)


@pytest.mark.parametrize(
    ("kind", "alpha", "seed"),
    sampled(list(itertools.product(["gnmt", "exponent"], [0.0, 1.0, 2.0], range(4)))),
)
def test_a_beam_as_wide_as_the_space_finds_the_best_of_all(
    seed: int, alpha: float, kind: str
) -> None:
    length = 4
    [log_probs] = random_table(seed, 1, length, vocabulary=6)
    # As many as are open at most: 3 words in each of 4 places.
    options = {"beam_size": 3**length, "num_hypotheses": 5, "max_length": length}
    options |= {"length_penalty_type": kind, "early_stopping": "exact", "min_length": 0}
    options |= {"length_penalty": alpha}
    [found] = run(log_probs[None], **options)
    best = all_sequences(log_probs, SearchOptions(**options))[:5]
    assert [tuple(ids) for ids, _, _ in found] == [ids for _, ids in best]
    np.testing.assert_allclose([s for _, s, _ in found], [score for score, _ in best], rtol=1e-5)


@pytest.mark.parametrize("beam_size", [pytest.param(1, marks=pytest.mark.exhaustive), 3])
def test_long_outputs_go_through_growing_buffers(beam_size: int, naive_search) -> None:
    """Past 32 and past 64 tokens, with the ends of sentences spread over all the stages."""
    length = 2 * FIRST_STAGE + 11
    table = random_table(0, 4, length, vocabulary=8).copy()
    for log_probs, end in zip(table, (5, FIRST_STAGE, FIRST_STAGE + 9, length + 1), strict=True):
        log_probs[: end - 1, :, EOS_ID] -= 30
        log_probs[end - 1 :, :, EOS_ID] += 30
    table = np.asarray(ops.log_softmax(table))
    options = {"beam_size": beam_size, "max_length": length, "num_hypotheses": beam_size}
    found = run(table, in_graph=True, **options)
    for sentence, log_probs in zip(found, table, strict=True):
        expected = naive_search(log_probs, length_penalty=0.6, **options)
        assert [ids for ids, _, _ in sentence] == [ids for ids, _, _ in expected]
    assert [len(sentence[0][0]) for sentence in found] == [4, 31, 40, length]


@pytest.mark.parametrize(
    ("max_length", "stages"),
    [(1, [1]), (32, [32]), (33, [32, 33]), (64, [32, 64]), (100, [32, 64, 100])],
)
def test_buffers_double_up_to_the_limit(max_length: int, stages: list[int]) -> None:
    steps = TableSteps(random_table(0, 1, max_length, 7), 1)
    found = search(steps, 1, SearchOptions(max_length=max_length))
    assert steps.lengths == stages
    assert found.ids.shape == (1, 1, max_length)


def test_each_row_keeps_its_own_history() -> None:
    """The model's state follows the beams: it was fed bos and the hypothesis's own tokens."""
    fed = []

    class Watched(TableSteps):
        def step(self, ids: Any, step: Any, state: Any) -> tuple[Any, Any]:
            logits, state = super().step(ids, step, state)
            fed.append(np.array(state["fed"]))
            return logits, state

    table = random_table(3, 3, 6, vocabulary=9) - 30 * (np.arange(9) == EOS_ID)
    options = SearchOptions(beam_size=3, num_hypotheses=3, max_length=6)
    found = search(Watched(table.astype("float32"), 3), 3, options)
    histories = np.array(found.ids)[:, :, :-1].reshape(9, 5)
    assert len(np.unique(histories, axis=0)) > 3
    np.testing.assert_array_equal(fed[-1][:, 0], BOS_ID)
    # Within a sentence the last step may put its beams into another order.
    for rows, expected in zip(
        fed[-1][:, 1:].reshape(3, 3, 5), histories.reshape(3, 3, 5), strict=True
    ):
        assert {tuple(row) for row in expected} <= {tuple(row) for row in rows}


def test_a_hypothesis_that_cannot_be_has_no_score() -> None:
    """Only the end is possible: one hypothesis exists, the second is marked impossible."""
    table = np.full((1, 3, 6, 6), -np.inf, np.float32)
    table[..., EOS_ID] = 0
    options = SearchOptions(beam_size=2, num_hypotheses=2, max_length=3, min_length=0)
    found = search(TableSteps(table, 2), 1, options)
    assert np.array(found.ids).tolist() == [[[EOS_ID, PAD_ID, PAD_ID], [PAD_ID] * 3]]
    [[first, second]] = np.array(found.scores)
    assert first == 0
    assert second == np.float32(IMPOSSIBLE)


def test_a_search_where_nothing_can_go_on_stops() -> None:
    """No step is made for hypotheses that are impossible already."""
    fed: list[int] = []

    class Counted(TableSteps):
        def step(self, ids: Any, step: Any, state: Any) -> tuple[Any, Any]:
            fed.append(int(step))
            return super().step(ids, step, state)

    table = random_table(0, 2, 9, vocabulary=6)
    options = SearchOptions(beam_size=2, banned_sequences=((1,), (EOS_ID,), (4,), (5,)))
    found = search(Counted(table, 2), 2, options)
    assert fed == [0]
    assert np.array(found.scores).tolist() == [[np.float32(IMPOSSIBLE)]] * 2


@pytest.mark.parametrize("sample", [False, True])
def test_a_batch_equals_its_rows(sample: bool) -> None:
    logits = random_table(5, 4, 6, vocabulary=9)
    options = {"max_length": 6, "no_repeat_ngram_size": 2, "max_length_ratio": 1.0}
    options |= {"sample": True, "seed": 3} if sample else {"beam_size": 3}
    prefixes, lengths = [[4], [], [5, 6], [7]], [6, 2, 4, 5]
    together = run(logits, prefixes, lengths, **options)
    # Alone each is sentence 0, so that of the samples only the first can be the same.
    for place in range(1 if sample else 4):
        row = slice(place, place + 1)
        agree([together[place]], run(logits[row], prefixes[row], lengths[row], **options))


def test_samples_without_random_numbers_are_refused() -> None:
    steps = TableSteps(random_table(0, 1, 3, 7), 1)
    with pytest.raises(ValueError, match="sample=True needs random numbers: give Sentences"):
        search(steps, 1, SearchOptions(sample=True, max_length=3))


@pytest.mark.parametrize(
    "options",
    [
        [{"no_repeat_ngram_size": 2}],
        pytest.param(
            [
                {"repetition_penalty": 2.0},
                {"banned_sequences": [[4, 5]]},
                {"min_length": 1},
                {"forced_tokens": [[1, 4]]},
            ],
            marks=pytest.mark.exhaustive,
        ),
    ],
)
def test_options_that_are_not_used_leave_nothing_in_the_graph(
    options: list[dict[str, Any]],
) -> None:
    table = random_table(0, 1, 4, 7)

    def operators(**options: Any) -> list[str]:
        chosen = SearchOptions(**{"max_length": 4, "min_length": 0, **options})
        graph = tf.function(lambda: vars(search(TableSteps(table, 1), 1, chosen)))
        definition = graph.get_concrete_function().graph.as_graph_def()
        inner = [node for function in definition.library.function for node in function.node_def]
        return [node.op for node in (*definition.node, *inner)]

    plain = operators()
    assert "TensorScatterUpdate" not in plain
    for option in options:
        assert len(operators(**option)) > len(plain)
    # A banned token is one more place in a mask that is there anyway.
    assert len(operators(banned_sequences=[[4]])) == len(plain)


@pytest.mark.parametrize(
    ("kind", "early_stopping"),
    sampled(list(itertools.product(["gnmt", "exponent"], ["first", "likely", "exact"]))),
)
def test_a_length_penalty_of_its_own_is_that_sentence_s_alone(
    early_stopping: str, kind: str
) -> None:
    log_probs = random_table(5, sentences=3, length=6, vocabulary=7)
    penalties = [0.0, 0.6, 2.5]
    shared = {
        "beam_size": 3,
        "num_hypotheses": 3,
        "max_length": 6,
        "early_stopping": early_stopping,
        "length_penalty_type": kind,
    }
    found = search(
        TableSteps(log_probs, 3),
        3,
        SearchOptions(**shared),
        Sentences(length_penalties=tf.constant(penalties)),
    )
    for row, penalty in enumerate(penalties):
        [wanted] = run(log_probs[row : row + 1], length_penalty=penalty, **shared)
        assert [strip(ids) for ids in np.asarray(found.ids[row])] == [ids for ids, _, _ in wanted]
        np.testing.assert_allclose(found.scores[row], [score for _, score, _ in wanted], rtol=1e-5)


@pytest.mark.parametrize("early_stopping", ["likely", "exact"])
def test_penalties_beyond_float32_still_tell_hypotheses_apart(
    early_stopping: str, naive_search: Any
) -> None:
    log_probs = random_table(7, sentences=3, length=6, vocabulary=7)
    options = {
        "beam_size": 3,
        "num_hypotheses": 3,
        "max_length": 6,
        "length_penalty": 400.0,
        "early_stopping": early_stopping,
    }
    expected = [naive_search(table, **options) for table in log_probs]
    found = run(log_probs, **options)
    agree(found, expected)
    assert all(score < 0 for sentence in found for _, score, _ in sentence)


def test_a_skipped_sentence_finds_nothing_and_keeps_no_other_from_ending() -> None:
    log_probs = random_table(6, sentences=3, length=6, vocabulary=7)
    options = SearchOptions(beam_size=2, max_length=6)
    skipped = Sentences(skipped=tf.constant([False, True, False]))
    found = search(TableSteps(log_probs, 2), 3, options, skipped)
    assert strip(np.asarray(found.ids[1, 0])) == []
    assert float(found.scores[1, 0]) < IMPOSSIBLE / 2
    wanted = run(log_probs, beam_size=2, max_length=6)
    for row in (0, 2):
        assert strip(np.asarray(found.ids[row, 0])) == wanted[row][0][0]
    steps = TableSteps(log_probs, 2)
    nothing = search(steps, 3, options, Sentences(skipped=tf.ones((3,), "bool")))
    assert not np.asarray(nothing.ids).any()
