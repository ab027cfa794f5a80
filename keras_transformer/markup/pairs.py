"""Parallel text to train on with slots in place of the spans that occur on both sides.

It is text before it is tokenized: no graph of TensorFlow runs patterns with look-behinds, and what
is drawn from the seed here is the same whenever a run is resumed.
"""

import random
from collections.abc import Sequence
from functools import partial

from keras_transformer.markup.lifting import lift
from keras_transformer.markup.profiles import ACCELERATORS, Profile
from keras_transformer.markup.spans import Span, around, find_spans
from keras_transformer.text.subwords.slots import SLOTS, taken_out, unmasked

# The other pairs teach what spans look like, for texts that are translated as plain.
_SHARE = 0.9


def with_slots(
    sources: Sequence[str],
    targets: Sequence[str],
    profile: Profile,
    own: Sequence[str] = (),
    *,
    seed: int | None,
) -> tuple[list[str], list[str]]:
    """Returns pairs in which slots stand for the spans that both texts of a pair have, and which
    have no accelerators.

    Args:
        sources: The texts.
        targets: Their translations.
        profile: Which kinds of spans they may hold.
        own: Regular expressions of further spans.
        seed: Draws which nine in ten of the pairs have slots, and which ones; None for all of them
            and the first slots, as translators have it.
    """
    drawn = None if seed is None else random.Random(seed)  # noqa: S311
    pairs = []
    for pair in zip(sources, targets, strict=True):
        source, target = _without_accelerators(*pair, profile, own)
        spans = find_spans(source, profile, own)
        pairs.append(_slotted(source, target, spans, profile, own, drawn))
    lifted, written = zip(*pairs, strict=True)
    return list(lifted), list(written)


def _without_accelerators(
    source: str, target: str, profile: Profile, own: Sequence[str]
) -> tuple[str, str]:
    """Returns a label and its translation without what marks a letter of them."""
    if not any(mark in source for mark in ACCELERATORS.get(profile, "")):
        return source, target
    lifts = partial(lift, profile=profile, own=own)
    hidden, spans, accelerator, _ = taken_out(source, lifts)
    if accelerator is None:
        return source, target
    of_target, spans_of_target, *_ = taken_out(target, lifts, is_label=True)
    return "".join(unmasked([hidden], spans)), "".join(unmasked([of_target], spans_of_target))


def _slotted(
    source: str,
    target: str,
    spans: Sequence[Span],
    profile: Profile,
    own: Sequence[str],
    drawn: random.Random | None,
) -> tuple[str, str]:
    if not spans or (drawn is not None and drawn.random() >= _SHARE):
        return source, target
    matched = _matched(spans, find_spans(target, profile, own))[: len(SLOTS)]
    slots = SLOTS if drawn is None else drawn.sample(SLOTS, len(matched))
    named = [(one, other, slot) for (one, other), slot in zip(matched, slots, strict=False)]
    sides = [(one, slot) for one, _, slot in named], [(other, slot) for _, other, slot in named]
    return _replaced(source, sides[0]), _replaced(target, sides[1])


def _matched(spans: Sequence[Span], others: Sequence[Span]) -> list[tuple[Span, Span]]:
    """Returns the spans of both texts that are equal: the first with the first, and so on."""
    left: dict[str, list[Span]] = {}
    for one in others:
        left.setdefault(one.text, []).append(one)
    return [(one, left[one.text].pop(0)) for one in spans if left.get(one.text)]


def _replaced(text: str, slots: Sequence[tuple[Span, str]]) -> str:
    ordered = sorted(slots, key=lambda one: one[0].start)
    gaps = around(text, [span for span, _ in ordered])
    names = [*(slot for _, slot in ordered), ""]
    return "".join(gap + slot for gap, slot in zip(gaps, names, strict=True))
