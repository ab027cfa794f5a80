"""Vectorised dynamic beam allocation (Post and Vilar 2018; Hu et al. 2019): one step of a search
for hypotheses that hold phrases, on arrays of numpy or tensors alike.

Hypotheses that need the same number of further tokens for their phrases share a bank, and the banks
share the places of the beam evenly: first the best hypothesis of each bank, beginning with the bank
that needs least, then the second of each, and so on. S is the number of sentences, W of open
hypotheses, P of phrases, F of forms of a phrase, N of all tokens of phrases.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

# An array of numpy or a tensor.
Array: TypeAlias = Any

# What equals no token of a phrase, nor what fills phrases up.
_NOTHING = -2
# Behind all turns that there are.
_LAST = 1 << 30


class Arrays(NamedTuple):
    """The operations on arrays of a library.

    Attributes:
        ops: numpy or `keras.ops`.
        top_k: Returns the largest values of each row and their places, best first; of equal values
            the one at the lower place.
        impossible: The log-probability of forbidden tokens; any below half of it counts as
            forbidden.
    """

    ops: Any
    top_k: Callable[[Any, Any], tuple[Any, Any]]
    impossible: float


class Reached(NamedTuple):
    """Which phrases hypotheses hold, and how far they are in the others.

    Attributes:
        table: int32 `(S, P, F, length)`, the phrases, padded with -1.
        unmet: bool `(S, W, P)`, which phrases a hypothesis lacks.
        goes_on: bool `(S, W, N)`, whether this token of a phrase may come next, since the
            hypothesis ends in those before it.
    """

    table: Array
    unmet: Array
    goes_on: Array


class Continued(NamedTuple):
    """The continuations of a step, those to be kept first: each `(S, 2 W)`."""

    totals: Array
    parents: Array
    tokens: Array


def reached(ops: Any, table: Array, ids: Array, begins: Array, step: Any) -> Reached:
    """Returns what hypotheses hold of their phrases.

    Args:
        ops: numpy or `keras.ops`.
        table: int32 `(S, P, F, length)`, the phrases, padded with -1.
        ids: int32 `(S, W, T)`, the tokens so far; meaningless from `step` on.
        begins: int32 `(S,)`, the first place that counts: the length of a prompt.
        step: The number of tokens so far.
    """
    sentences, phrases, forms, length = ops.shape(table)
    beams, held = ops.shape(ids)[1:]
    places = ops.arange(held, dtype="int32")
    own = (places >= begins[:, None]) & (places < step)  # [S, T]
    said = ops.where(own[:, None, :], ids, _NOTHING)
    around = ops.full((sentences, beams, length), _NOTHING, dtype="int32")
    said = ops.concatenate([around, said, around], axis=2)
    inside = ops.arange(length, dtype="int32")
    flat = ops.reshape(table, (sentences, 1, phrases * forms, 1, length))

    starts = ops.arange(held + length, dtype="int32")
    runs = ops.take(said, starts[:, None] + inside, axis=2)  # [S, W, T + length, length]
    stands = ops.all((runs[:, :, None] == flat) | (flat < 0), axis=4)
    stands = ops.any(stands, axis=3) & (flat[:, :, :, 0, 0] >= 0)
    met = ops.any(ops.reshape(stands, (sentences, beams, phrases, forms)), axis=3)

    # The last 0, 1, … tokens, each against as many first ones of a form.
    lasts = ops.take(said, length + step - inside[:, None] + inside, axis=2)
    begun = (lasts[:, :, None] == flat) | (inside[None, :] >= inside[:, None])
    goes_on = ops.all(begun, axis=4) & (flat[:, :, :, 0] >= 0)  # [S, W, P F, length]
    return Reached(
        table,
        ~met & ops.any(table[:, :, :, 0] >= 0, axis=2)[:, None],
        ops.reshape(goes_on, (sentences, beams, phrases * forms * length)),
    )


def tokens_needed(ops: Any, state: Reached) -> tuple[Array, Array]:
    """Returns how many tokens the phrases of a hypothesis need after its next token.

    Returns:
        `(S, W)`, behind a token that is in no phrase, and `(S, W, N)`, behind each one of phrases.
    """
    table, unmet = state.table, state.unmet
    length = ops.shape(table)[3]
    lengths = ops.sum(ops.where(table >= 0, 1, 0), axis=3)  # [S, P, F]
    there = lengths > 0
    least = ops.min(ops.where(there, lengths, length), axis=2)
    least = ops.where(ops.any(there, axis=2), least, 0)[:, None]  # [S, 1, P]
    flat = ops.reshape(table, (-1, ops.shape(state.goes_on)[2]))
    same = flat[:, :, None] == flat[:, None, :]
    # Which places in phrases each token of phrases reaches: [S, W, N, P, F, length].
    hits = state.goes_on[:, :, None, :] & same[:, None]
    hits = ops.reshape(hits, (*ops.shape(hits)[:3], *ops.shape(table)[1:]))
    place = ops.arange(length, dtype="int32") + 1
    is_last = place == lengths[:, :, :, None]
    left = unmet[:, :, None] & ~ops.any(hits & is_last[:, None, None], axis=(4, 5))
    # What is written of the phrase that is furthest on need not be written again.
    spared = least[:, 0, :, None, None] - lengths[:, :, :, None] + place  # [S, P, F, length]
    spared = ops.where(hits & left[:, :, :, :, None, None], spared[:, None, None], 0)
    anywhere = ops.sum(ops.where(unmet, least, 0), axis=2)
    behind = ops.sum(ops.where(left, least[:, :, None], 0), axis=3)
    return anywhere, behind - ops.max(spared, axis=(3, 4, 5))


def most_of_each(
    arrays: Arrays, needed: Array, totals: Array, room: Array, banks: Any, beams: int
) -> Array:
    """Returns the most continuations of a hypothesis by tokens outside phrases, `(S,)`.

    As banks take turns, worse continuations never enter the beam.

    Args:
        arrays: The library.
        needed: Tokens that the phrases of each hypothesis need behind such a token, `(S, W)`.
        totals: The hypotheses' own, `(S, W)`.
        room: Tokens that there is room for behind the next one, `(S,)`.
        banks: How many banks there may be.
        beams: How many hypotheses go on.
    """
    ops = arrays.ops
    goes_on = (totals > arrays.impossible / 2) & (needed <= room[:, None])
    of_bank = needed[:, :, None] == ops.arange(banks, dtype="int32")
    present = ops.any(of_bank & goes_on[:, :, None], axis=1)
    count = ops.maximum(ops.sum(ops.where(present, 1, 0), axis=1), 1)
    return ops.minimum((2 * beams - 1) // count + 1, beams + 1)


def best_in_banks(
    arrays: Arrays,
    table: Array,
    needed: tuple[Array, Array],
    others: tuple[Array, Array],
    spoken: Array,
    room: Array,
    eos: int,
    count: int,
) -> Continued:
    """Returns the continuations of hypotheses that a search for phrases keeps.

    It keeps none that leaves no room for its phrases, and no end before they are written.

    Args:
        arrays: The library.
        table: int32 `(S, P, F, length)`, the phrases, padded with -1.
        needed: What `tokens_needed` returned.
        others: The best totals of each hypothesis behind tokens that are in no phrase, and these
            tokens: each `(S, W, …)`, best first.
        spoken: The totals behind each token of phrases, `(S, W, N)`.
        room: Tokens that there is room for behind the next one, `(S,)`.
        eos: The end token.
        count: How many to return.
    """
    ops, impossible = arrays.ops, arrays.impossible
    flat = ops.reshape(table, (-1, ops.shape(spoken)[2]))
    places = ops.arange(ops.shape(flat)[1], dtype="int32")
    is_repeated = (flat[:, :, None] == flat[:, None, :]) & (places[:, None] > places)
    is_first = (flat >= 0) & ~ops.any(is_repeated, axis=2)
    (anywhere, behind), (values, tokens) = needed, others
    anywhere = ops.broadcast_to(anywhere[:, :, None], ops.shape(values))
    values = ops.where((tokens == eos) & (anywhere > 0), impossible, values)
    spoken = ops.where(is_first[:, None], spoken, impossible)
    each = ops.shape(values)[2] + ops.shape(spoken)[2]
    flat = ops.broadcast_to(flat[:, None], ops.shape(spoken))

    def of_sentences(*parts: Array) -> Array:
        joined = ops.concatenate(parts, axis=2)
        return ops.reshape(joined, (ops.shape(joined)[0], -1))

    needs = of_sentences(anywhere, behind)
    totals = ops.where(needs > room[:, None], impossible, of_sentences(values, spoken))
    order = _by_banks(arrays, totals, needs, ops.shape(spoken)[2] + 1, count)
    tokens = ops.take_along_axis(of_sentences(tokens, flat), order, 1)
    return Continued(ops.take_along_axis(totals, order, 1), order // each, tokens)


def _by_banks(arrays: Arrays, totals: Array, needed: Array, banks: Any, count: int) -> Array:
    """Returns the places of the first continuations in the order of banks, `(S, count)`.

    Args:
        arrays: The library.
        totals: Of all continuations, `(S, n)`.
        needed: Tokens that the phrases of each need, fewer than `banks`, `(S, n)`.
        banks: How many banks there may be.
        count: How many to return.
    """
    ops = arrays.ops
    values, order = arrays.top_k(totals, ops.shape(totals)[1])
    bank = ops.take_along_axis(needed, order, 1)
    possible = values > arrays.impossible / 2
    of_bank = bank[:, :, None] == ops.arange(banks, dtype="int32")
    of_bank = ops.where(of_bank & possible[:, :, None], 1, 0)
    rank = ops.sum(of_bank * ops.cumsum(of_bank, axis=1), axis=2)
    turn = ops.where(possible, rank * banks + bank, _LAST)
    _, first = arrays.top_k(-turn, count)
    return ops.take_along_axis(order, first, 1)
