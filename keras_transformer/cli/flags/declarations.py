"""The flag of a dataclass's field: its type, its default and its help."""

import dataclasses
import types
from argparse import Action
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import docstring_parser
from jsonargparse import ActionYesNo


def declaration(annotation: Any, default: Any) -> dict[str, Any]:
    """Returns the `add_argument` keywords that fit a field's type."""
    kind = without_none(annotation)
    if kind is bool and annotation is kind:
        if default:
            return {"action": ActionYesNo(no_prefix="no-"), "default": True}
        return {"action": "store_true", "default": False}
    if get_origin(kind) in (tuple, list):
        item = get_args(kind)[0]
        values = list(default) if default is not None else []
        repeated = {"action": _Repeated} if item is str else {}
        return {
            "type": item,
            "nargs": "+",
            "default": values,
            "metavar": _metavar(item),
            **repeated,
        }
    if default is dataclasses.MISSING:
        return {"type": annotation, "required": True, "metavar": _metavar(kind)}
    return {"type": annotation, "default": default, "metavar": _metavar(kind)}


class _Typed(list):
    """The texts of a flag that was typed, so that another one adds to them."""


class _Repeated(Action):
    """Takes a flag of texts as often as it is given; flags replace what a file has."""

    def __call__(self, parser: Any, namespace: Any, values: Any, option_string: Any = None) -> None:
        before = getattr(namespace, self.dest, None)
        typed = before if isinstance(before, _Typed) else ()
        setattr(namespace, self.dest, _Typed([*typed, *values]))


def own_first(options_class: type) -> list[dataclasses.Field]:
    """Returns the fields of a dataclass that are flags, those that it inherits after its own."""
    own = vars(options_class).get("__annotations__", {})
    flags = [one for one in dataclasses.fields(options_class) if one.metadata.get("flag", True)]
    return sorted(flags, key=lambda field: field.name not in own)


def default_of(field: dataclasses.Field) -> Any:
    """Returns a field's default; `dataclasses.MISSING` if it has none."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def without_none(annotation: Any) -> Any:
    """Returns a field's type without None."""
    if get_origin(annotation) not in (Union, types.UnionType):
        return annotation
    kinds = [kind for kind in get_args(annotation) if kind is not type(None)]
    return kinds[0] if len(kinds) == 1 else Union[tuple(kinds)]  # noqa: UP007


def _metavar(kind: Any) -> str:
    if get_origin(kind) is Literal:
        return "{" + ",".join(map(str, get_args(kind))) + "}"
    if get_origin(kind) is tuple:
        items = ("..." if item is ... else _metavar(item) for item in get_args(kind))
        return f"[{','.join(items)}]"
    return getattr(kind, "__name__", "value").upper()


def description(annotation: Any) -> str:
    """Says in words what values a field's type allows."""
    kind = without_none(annotation)
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) in (tuple, list):
        item = get_args(kind)[0]
        if get_origin(item) is tuple:
            return f"one or more lists without spaces, each {_metavar(item)}, such as [7,8]"
        return f"one or more values ({description(item)})"
    words = {int: "an integer", float: "a number", bool: "true or false", Path: "a path"}
    return words.get(kind, "a text")


def choices(annotation: Any) -> tuple[str, ...]:
    """Returns the values that a field's type names; none if it names none."""
    kind = without_none(annotation)
    if get_origin(kind) in (tuple, list):
        kind = get_args(kind)[0]
    return tuple(map(str, get_args(kind))) if get_origin(kind) is Literal else ()


def field_texts(options_class: type) -> dict[str, str]:
    """Returns each field's description from the docstring of its class, on one line.

    A flag that is not given is what Python calls None.
    """
    texts = {}
    # A class's own text comes after, and replaces, those of the classes that it extends.
    for owner in reversed(options_class.__mro__):
        for entry in docstring_parser.parse(vars(owner).get("__doc__") or "").params:
            text = " ".join((entry.description or "").split())
            texts[entry.arg_name] = text.replace("None: ", "If not given: ")
    return texts
