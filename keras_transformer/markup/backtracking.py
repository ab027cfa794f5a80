"""Regular expressions with which a search may take very long or never end: repetitions of what can
be read in several ways, such as `(a+)+`, of which Python's `re` tries all.
"""

import re
import string
from collections.abc import Iterator, Sequence
from typing import NamedTuple

_ATOM = re.compile(r"\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|[^()|]", re.DOTALL)
_GROUP = re.compile(r"\((?:\?(?:[a-zA-Z-]*:|>|=|!|<=|<!|P<\w+>|#))?")
_REPEATED = re.compile(r"(?:([*+?])|\{(\d*)(,?)(\d*)\})([?+]?)")
_LITERAL = re.compile(r"\\[^\w\s]|[^\\.^$\[(]", re.DOTALL)

_TOKEN = re.compile(
    rf"({_GROUP.pattern}|\\.|\[\^?\]?(?:\\.|[^\]\\])*\]|.)(?:([*+])|\{{(\d*),\}})?", re.DOTALL
)
# No span has more of anything, and each place of a text is tried with no more.
MOST_ROUNDS = 1000


class _Node(NamedTuple):
    """A part of an expression.

    Attributes:
        text: What it matches, as it is written; of a group how it begins.
        branches: The alternatives within a group; none if it is no group.
        least: How often it is repeated at least.
        most: How often at most; None for any number.
        is_final: Whether what it has matched is not tried in another way.
    """

    text: str
    branches: Sequence[Sequence["_Node"]]
    least: int
    most: int | None
    is_final: bool


# What is read over and over: a letter, or the alternatives of a group.
_Run = str | Sequence[Sequence[_Node]]


def may_take_for_ever(expression: str) -> bool:
    r"""Returns whether a search with a valid expression may take twice as long with each letter.

    Repetitions within repetitions count if it is not clear where each round ends: by a character
    that the inner ones do not match, by atomic groups or by possessive repetitions. Alternatives
    that are repeated must begin with different characters.

    Example:
        >>> [may_take_for_ever(one) for one in ("(a+)+", r"(?:\.\d+)*", "(?:a++)+", "(?:a|a)*")]
        [True, False, False, True]
    """
    branches, _ = _read(expression, 0)
    return any(
        one.most != 1
        and not one.is_final
        and (any(map(_is_open, one.branches)) or _clash(one.branches))
        for one in _all_groups(branches)
    )


def may_take_very_long(expression: str) -> bool:
    r"""Returns whether a search with a valid expression may take eight times as long in a text of
    twice the length: two unlimited repetitions of one branch, and all that must stand between them,
    read the same character or repeat the same group, and something must follow.

    Example:
        >>> [may_take_very_long(one) for one in (r"\w*\w*x", ".*a.*b", r"\d+-\d+", r"\w+\s*=")]
        [True, True, False, False]
    """
    branches, _ = _read(expression, 0)
    inner = [list(_flat(branch)) for one in _all_groups(branches) for branch in one.branches]
    outer = [_up_to_last_required(list(_flat(branch))) for branch in branches]
    groups = [one.branches for one in _all_groups(branches) if one.most is None]
    runs = [*{*string.printable, *expression}, *groups]
    return any(_shares(branch, run) for branch in (*outer, *inner) for run in runs)


def _up_to_last_required(branch: Sequence[_Node]) -> Sequence[_Node]:
    """Returns a branch without its end that cannot fail, for which nothing is tried again."""
    last = max((place for place, one in enumerate(branch) if one.least), default=0)
    return [*branch[:last], branch[last]._replace(most=1)] if branch else branch


def _shares(branch: Sequence[_Node], run: _Run) -> bool:
    """Returns whether repetitions beside each other may share a run of a letter or a group."""
    is_begun = False
    for node in branch:
        reads = _reads(node, run)
        is_long = reads and node.most is None and not node.is_final
        if is_long and is_begun:
            return True
        is_begun = is_long or (is_begun and (reads or not node.least))
    return False


def _reads(node: _Node, run: _Run) -> bool:
    """Returns whether a part may match a run of a letter or a group."""
    if not isinstance(run, str):
        return node.branches == run
    if not node.branches:
        return _matches(node.text, run)
    return any(
        any(_reads(one, run) for one in branch)
        and all(_reads(one, run) for one in branch if one.least)
        for branch in node.branches
    )


def bounded(expression: str) -> str:
    """Returns an expression with at most `MOST_ROUNDS` of whatever it repeats without limit.

    Example:
        >>> bounded("[*+]+(?:a|b{2,})*")
        '[*+]{1,1000}(?:a|b{2,1000}){0,1000}'
    """

    def token(found: re.Match[str]) -> str:
        if not (found[2] or found[3]):
            return found[0]
        least = int(found[3] or 0) if found[3] is not None else int(found[2] == "+")
        return f"{found[1]}{{{least},{max(least, MOST_ROUNDS)}}}"

    return _TOKEN.sub(token, expression)


def _all_groups(branches: Sequence[Sequence[_Node]]) -> Iterator[_Node]:
    for branch in branches:
        for node in branch:
            if node.branches:
                yield node
                yield from _all_groups(node.branches)


def _clash(branches: Sequence[Sequence[_Node]]) -> bool:
    """Returns whether it is not clear by the next character which of several alternatives comes."""
    if len(branches) == 1:
        return False
    if not all(branches):
        return True
    firsts = [branch[0].text for branch in branches]
    letters = [one[-1] for one in firsts if _LITERAL.fullmatch(one)]
    classes = [one for one in firsts if not _LITERAL.fullmatch(one)]
    inner = [one for branch in branches for one in _inner(branch)]
    if len({one.casefold() for one in letters}) < len(letters) or len(classes) > bool(not inner):
        return True
    if any(one.startswith(("(", "\\b", "\\B", "^", "$")) for one in classes):
        return True
    parts: list[_Node | str] = [*inner, *classes]
    return any(_matches(one, letter) for one in parts for letter in letters)


def _is_open(branch: Sequence[_Node]) -> bool:
    """Returns whether it is not clear where a round of a repeated branch ends."""
    inner = _inner(branch)
    marks = [
        one.text[-1]
        for one in _flat(branch)
        if one.least == one.most == 1 and not one.branches and _LITERAL.fullmatch(one.text)
    ]
    return bool(inner) and all(any(_matches(one, mark) for one in inner) for mark in marks)


def _inner(branch: Sequence[_Node]) -> list[_Node]:
    """Returns the parts of a branch that may match in several ways."""
    return [
        one
        for one in _flat(branch)
        if not one.is_final and (one.least != one.most or _clash(one.branches or [[]]))
    ]


def _matches(part: _Node | str, letter: str) -> bool:
    """Returns whether a part may match a letter; a group might."""
    if not isinstance(part, str):
        if part.branches:
            return True
        part = part.text
    return re.match(part, letter, re.IGNORECASE | re.DOTALL) is not None


def _flat(branch: Sequence[_Node]) -> Iterator[_Node]:
    """Yields the parts of a branch, those of groups that stand there once in their place."""
    for node in branch:
        if len(node.branches) == 1 and node.least == node.most == 1 and not node.is_final:
            yield from _flat(node.branches[0])
        else:
            yield node


def _read(expression: str, at: int) -> tuple[list[list[_Node]], int]:
    """Returns the alternatives from a place on, and where they end."""
    branches: list[list[_Node]] = [[]]
    while at < len(expression) and expression[at] != ")":
        if expression[at] == "|":
            branches.append([])
            at += 1
            continue
        inner: Sequence[Sequence[_Node]] = ()
        found = _GROUP.match(expression, at) or _ATOM.match(expression, at)
        if found is None:
            # Nothing that is valid begins so.
            return branches, len(expression)
        text, at = found[0], found.end()
        if text.startswith("("):
            inner, at = _read(expression, at)
            at += 1
        least, most, how, at = _times(expression, at)
        branches[-1].append(_Node(text, inner, least, most, how == "+" or text == "(?>"))
    return branches, at


def _times(expression: str, at: int) -> tuple[int, int | None, str, int]:
    found = _REPEATED.match(expression, at)
    if found is None or (not found[1] and not (found[2] or found[4])):
        return 1, 1, "", at
    if found[1]:
        return int(found[1] == "+"), 1 if found[1] == "?" else None, found[5], found.end()
    least = int(found[2] or 0)
    most = int(found[4]) if found[4] else None if found[3] else least
    return least, most, found[5], found.end()
