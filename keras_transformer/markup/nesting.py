"""The nesting of tags and of other spans that open and close."""

from collections.abc import Mapping, Sequence

from keras_transformer.markup.spans import Span
from keras_transformer.markup.tags import Role, role_of


def partners(spans: Sequence[Span]) -> dict[int, int]:
    """Returns the place of the closing span by that of the opening one, of all that nest properly;
    what is never closed, or was never opened, stands alone.

    Example:
        >>> from keras_transformer.markup.spans import find_spans
        >>> partners(find_spans("<p>a <b>word</b>"))
        {1: 2}
    """
    waiting: list[tuple[int, str]] = []
    pairs: dict[int, int] = {}
    for place, span in enumerate(spans):
        role, name = _role(span, [known for _, known in waiting])
        if role == "opens":
            waiting.append((place, name))
        elif role == "closes" and name in [known for _, known in waiting]:
            while True:
                opening, known = waiting.pop()
                if known == name:
                    pairs[opening] = place
                    break
    return pairs


def is_nested(order: Sequence[int], pairs: Mapping[int, int]) -> bool:
    """Returns whether spans in another order still nest.

    Args:
        order: The places that the spans had before, in their new order.
        pairs: What `partners` said of them.
    """
    closes = set(pairs.values())
    waiting: list[int] = []
    for place in order:
        if place in pairs:
            waiting.append(pairs[place])
        elif place in closes and (not waiting or waiting.pop() != place):
            return False
    return not waiting


def nested(order: Sequence[int], pairs: Mapping[int, int]) -> list[int]:
    """Returns an order in which the spans nest: that given, if they do, or else with what opens and
    closes as it was before, at the same places of the order.
    """
    if is_nested(order, pairs):
        return list(order)
    both = {*pairs, *pairs.values()}
    before = iter(sorted(place for place in order if place in both))
    return [next(before) if place in both else place for place in order]


def _role(span: Span, waiting: Sequence[str]) -> tuple[Role, str]:
    if span.kind == "tag":
        return role_of(span.text)
    if span.kind == "link":
        return ("closes" if span.text.startswith("]") else "opens"), "[link]"
    if span.kind == "emphasis":
        return ("closes" if span.text in waiting else "opens"), span.text
    return "alone", ""
