"""The order of spans in a translation: tags nest, and the arguments of a format string come as its
caller gives them.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

from keras_transformer.markup.spans import Span
from keras_transformer.markup.tags import Role, role_of

_ARGUMENT = re.compile(r"%[^%$(<>'\s]*(?:[A-Za-z@]|<PRI\w+>)")


def partners(spans: Sequence[Span]) -> dict[int, int]:
    """Returns the place of the closing span by that of the opening one, of all that nest properly;
    what is never closed, or was never opened, stands alone.

    Example:
        >>> from keras_transformer.markup.spans import find_spans
        >>> partners(find_spans("<p>a <b>word</b>"))
        {1: 2}
    """
    waiting: list[tuple[int, str]] = []
    # How many of each name wait: a list would be searched anew for each of many tags.
    names: Counter[str] = Counter()
    pairs: dict[int, int] = {}
    for place, span in enumerate(spans):
        role, name = _role(span, names)
        if role == "opens":
            waiting.append((place, name))
            names[name] += 1
        elif role == "closes" and names[name]:
            while True:
                opening, known = waiting.pop()
                names[known] -= 1
                if known == name:
                    pairs[opening] = place
                    break
    return pairs


def arguments(spans: Sequence[Span]) -> set[int]:
    """Returns the places of the placeholders without a number or a name, which read the arguments
    of a call one after the other; none if they are all the same.

    Example:
        >>> from keras_transformer.markup.spans import find_spans
        >>> arguments(find_spans("%s: %d of 100%%")), arguments(find_spans("%s %s %1$s"))
        ({0, 1}, set())
    """
    found = {
        place
        for place, span in enumerate(spans)
        if span.kind == "printf" and _ARGUMENT.fullmatch(span.text)
    }
    return found if len({spans[place].text for place in found}) > 1 else set()


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


def mended(
    order: Sequence[int], pairs: Mapping[int, int], read_in_turn: Collection[int]
) -> list[int]:
    """Returns an order in which spans nest and arguments are read in turn: that given, if it does,
    or else one with these as they were before, at the same places of the order.

    Args:
        order: The places that the spans had before, in their new order.
        pairs: What `partners` said of them.
        read_in_turn: What `arguments` said of them.
    """
    kept = list(order) if is_nested(order, pairs) else _sorted(order, {*pairs, *pairs.values()})
    return _sorted(kept, read_in_turn)


def _sorted(order: Sequence[int], some: Collection[int]) -> list[int]:
    """Returns an order with some places sorted among each other."""
    before = iter(sorted(place for place in order if place in some))
    return [next(before) if place in some else place for place in order]


def _role(span: Span, waiting: Mapping[str, int]) -> tuple[Role, str]:
    if span.kind == "tag":
        return role_of(span.text)
    if span.kind == "link":
        return ("closes" if span.text.startswith("]") else "opens"), "[link]"
    if span.kind == "emphasis":
        return ("closes" if waiting.get(span.text) else "opens"), span.text
    return "alone", ""
