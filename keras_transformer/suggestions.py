"""Did-you-mean: the known name that a misspelt option, value, flag or key probably means."""

import functools
from collections.abc import Callable, Iterable
from typing import Any, TypeVar, Unpack, cast, get_args, get_origin

Callee = TypeVar("Callee", bound=Callable[..., Any])
# The flag of code with `**keywords`: `inspect.CO_VARKEYWORDS`, without its import, which takes more
# than half of this package's.
_TAKES_ANY = 0x08


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Returns the end of a message about an unknown name: the likeliest known one, or nothing.

    Example:
        >>> did_you_mean("beam_sise", ["beam_size", "seed"])
        "; did you mean 'beam_size'?"
        >>> did_you_mean("xyz", ["beam_size", "seed"])
        ''
    """
    # Loaded here, since few runs have a name to correct.
    from difflib import get_close_matches

    by_letters = {_letters(one): one for one in known}
    close = get_close_matches(_letters(str(name)), by_letters, n=1)
    return f"; did you mean {by_letters[close[0]]!r}?" if close else ""


def suggests_arguments(callee: Callee) -> Callee:
    """Makes a function or a class name the argument that an unknown keyword probably means.

    The keywords of `**options: Unpack[...]` count as arguments; what takes any others stays as it
    is. The public names of the package become so as they are loaded.

    Raises:
        TypeError: By the callee, if it does not know a keyword.
    """
    if isinstance(callee, type):
        # Only its constructor changes, so that it stays a class.
        maker: Any = callee
        maker.__init__ = _checked(maker.__init__, callee.__name__)
        return callee
    return cast(Callee, _checked(callee, callee.__name__))


def _checked(function: Callable[..., Any], shown: str) -> Callable[..., Any]:
    known = _arguments(function)
    if not known or hasattr(function, "__wrapped__"):
        return function

    @functools.wraps(function)
    def call(*arguments: Any, **keywords: Any) -> Any:
        for name in keywords:
            if name not in known:
                hint = did_you_mean(name, known) or f"; it has {', '.join(known)}."
                raise TypeError(f"{shown} has no argument {name!r}{hint}")
        return function(*arguments, **keywords)

    return call


def _arguments(function: Callable[..., Any]) -> dict[str, None]:
    """Returns the names that a function takes as keywords, in their order; none if any will do."""
    code = getattr(function, "__code__", None)
    if code is None:  # Not written in Python.
        return {}
    names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    typed = [
        name
        for annotation in function.__annotations__.values()
        if get_origin(annotation) is Unpack
        for name in get_args(annotation)[0].__annotations__
    ]
    takes_any = bool(code.co_flags & _TAKES_ANY) and not typed
    return {} if takes_any else dict.fromkeys(name for name in (*names, *typed) if name != "self")


def _letters(name: str) -> str:
    """Returns a name without what is easily confused: case, hyphens and underscores."""
    return name.lower().replace("-", "_")
