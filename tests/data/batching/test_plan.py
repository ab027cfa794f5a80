"""Plans: the number of batches from a histogram of lengths is the number that is cut."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from keras_transformer.data.batching.plan import batch_starts, count_batches, cut_batches

LENGTHS = st.lists(st.integers(1, 15), max_size=60)
BUDGETS = st.integers(15, 90)


@settings(max_examples=300, deadline=None)
@given(longest=LENGTHS, batch_tokens=BUDGETS)
def test_batches_are_counted_as_they_are_cut(longest, batch_tokens):
    ascending = np.sort(np.asarray(longest, np.int64))
    lengths, counts = np.unique(ascending, return_counts=True)
    cut = len(batch_starts(ascending, batch_tokens)) - 1
    assert count_batches(lengths, counts, batch_tokens) == cut


@settings(max_examples=100, deadline=None)
@given(longest=LENGTHS.filter(len), batch_tokens=BUDGETS)
def test_a_plan_orders_every_pair_once_and_keeps_the_budget(longest, batch_tokens):
    lengths = np.asarray(longest, np.int64)
    plan = cut_batches(lengths, lengths[::-1].copy(), batch_tokens)
    assert sorted(plan.order.tolist()) == list(range(len(lengths)))
    sides = np.maximum(lengths, lengths[::-1])[plan.order]
    for start, end in zip(plan.starts[:-1], plan.starts[1:], strict=True):
        assert (end - start) * sides[start:end].max() <= batch_tokens
