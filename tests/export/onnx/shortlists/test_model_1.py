"""IBM Model 1, beside its equations pair by pair."""

import numpy as np

from keras_transformer.export.onnx.shortlists.model_1 import train_model_1

# "the house", "the book", "a book": Haus, Buch.
SOURCES = [[1, 2], [1, 3], [4, 3], []]
TARGETS = [[1, 2], [1, 3], [4, 3], [2]]
SIZE = 5


def by_definition(iterations: int) -> dict[tuple[int, int], float]:
    """Brown et al. 1993, equations 12 to 14, with an empty word, `SIZE`."""
    pairs = [([*source, SIZE], target) for source, target in zip(SOURCES, TARGETS, strict=True)]
    seen = {(s, t) for source, target in pairs for s in source for t in target}
    found = dict.fromkeys(seen, 1.0)
    for _ in range(iterations):
        counts = dict.fromkeys(seen, 0.0)
        for source, target in pairs:
            for t in target:
                total = sum(found[s, t] for s in source)
                for s in source:
                    counts[s, t] += found[s, t] / total
        sums: dict[int, float] = {}
        for (s, _t), count in counts.items():
            sums[s] = sums.get(s, 0.0) + count
        found = {(s, t): count / sums[s] for (s, t), count in counts.items()}
    return found


def test_probabilities_are_those_of_the_definition() -> None:
    lexicon = train_model_1(SOURCES, TARGETS, SIZE, SIZE, iterations=4)
    keys = zip(lexicon.source_ids.tolist(), lexicon.target_ids.tolist(), strict=True)
    found = dict(zip(keys, lexicon.probabilities, strict=True))
    expected = by_definition(4)
    assert found.keys() == expected.keys()
    np.testing.assert_allclose([found[key] for key in expected], list(expected.values()))


def test_the_best_of_each_source_id_come_first() -> None:
    lexicon = train_model_1(SOURCES, TARGETS, SIZE, SIZE)
    best = lexicon.best(1, SIZE)
    assert [row.tolist() for row in best] == [[], [1], [2], [3], [4]]
    assert [len(row) for row in lexicon.best(9, SIZE)] == [0, 3, 2, 3, 2]


def test_text_without_tokens_gives_an_empty_lexicon() -> None:
    assert [row.tolist() for row in train_model_1([[]], [[]], 2, 2).best(3, 2)] == [[], []]
