"""The sandbox of chat templates: what Hugging Face gives them, and an end to what they do, since a
model and its template may come from anybody.
"""

import functools
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar
from datetime import datetime
from typing import Any

import jinja2
import jinja2.ext
from jinja2 import nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

# Rounds of loops, calls, and thousands of characters that are put together for one text. Templates
# need some for each message.
_MOST_STEPS = 200_000
# Characters, items or bits of a product.
_MOST_PRODUCT = 1 << 20
_COUNTED, _MEASURED = "counted", "measured"
_steps: ContextVar[Iterator[int]] = ContextVar("steps")


def compiled(template: str) -> Callable[[Mapping[str, Any]], str]:
    """Returns a template as a function from its variables to its text.

    It raises whatever the template does, and `TemplateError` where that has no end.
    """
    made = _environment()
    tree = made.parse(template)
    for loop in tree.find_all(nodes.For):
        loop.iter = nodes.Filter(loop.iter, _COUNTED, [], [], None, None, lineno=loop.lineno)
    joining: Iterable[Any] = tree.find_all((nodes.Concat, nodes.Output))
    for one in joining:
        one.nodes = [
            part
            if isinstance(part, nodes.TemplateData)
            else nodes.Filter(part, _MEASURED, [], [], None, None, lineno=one.lineno)
            for part in one.nodes
        ]
    tree.set_environment(made)
    found = jinja2.Template.from_code(made, made.compile(tree), made.make_globals(None))

    def render(variables: Mapping[str, Any]) -> str:
        _steps.set(iter(range(_MOST_STEPS)))
        return found.render(variables)

    return render


def _step() -> None:
    if next(_steps.get(), None) is None:
        raise jinja2.TemplateError(f"it takes more than {_MOST_STEPS} steps")


def _measured(value: Any) -> Any:
    for _ in range(len(value) // 1000 if isinstance(value, str) else 0):
        _step()
    return value


def _measuring(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def run(*given: Any, **named: Any) -> Any:
        return _measured(function(*given, **named))

    return run


def _counted(items: Iterable[Any]) -> Iterator[Any]:
    for one in items:
        _step()
        yield one


class _Sandbox(ImmutableSandboxedEnvironment):
    # One of them alone may keep Python busy for hours, and all other threads waiting.
    intercepted_binops = frozenset(["*", "**", "+"])

    def call(__self, __context: Any, __obj: Any, *given: Any, **named: Any) -> Any:  # noqa: N805
        _step()
        return _measured(super().call(__context, __obj, *given, **named))

    def call_binop(self, context: Any, operator: str, left: Any, right: Any) -> Any:
        if _size(operator, left, right) > _MOST_PRODUCT:
            raise jinja2.TemplateError(f"what {operator} gives is too large")
        return _measured(super().call_binop(context, operator, left, right))


def _size(operator: str, left: Any, right: Any) -> int:
    """Returns the items of two lists, or the characters, items or bits of a product or a power."""
    if operator == "+":
        return len(left) + len(right) if isinstance(left, list) and isinstance(right, list) else 0
    if isinstance(left, int) and isinstance(right, int):
        bits = left.bit_length()
        return bits * abs(right) if operator == "**" else bits + right.bit_length()
    if isinstance(left, int):
        left, right = right, left
    return len(left) * right if isinstance(right, int) and hasattr(left, "__len__") else 0


class _Generation(jinja2.ext.Extension):
    """`{% generation %}`, which marks what an assistant says and changes nothing."""

    tags = {"generation"}

    def parse(self, parser: Any) -> Any:
        next(parser.stream)
        return parser.parse_statements(("name:endgeneration",), drop_needle=True)


class _Namespace(jinja2.utils.Namespace):
    """A namespace that holds nothing of Python's inside."""

    def __init__(*given: Any, **named: Any) -> None:
        self, *others = given
        for name in (values := dict(*others, **named)):
            _check_name(name)
        jinja2.utils.Namespace.__init__(self, values)

    def __setitem__(self, name: Any, value: Any) -> None:
        _check_name(name)
        jinja2.utils.Namespace.__setitem__(self, name, value)


def _check_name(name: Any) -> None:
    if isinstance(name, str) and name.startswith("_"):
        raise jinja2.exceptions.SecurityError(f"a namespace may not hold {name!r}")


def _raise_exception(message: str) -> None:
    raise jinja2.TemplateError(message)


def _environment() -> _Sandbox:
    """Returns the environment that Hugging Face renders templates in."""
    made = _Sandbox(
        trim_blocks=True, lstrip_blocks=True, extensions=[_Generation, jinja2.ext.loopcontrols]
    )
    made.filters = {name: _measuring(one) for name, one in made.filters.items()}
    made.filters |= {"tojson": _to_json, _COUNTED: _counted, _MEASURED: _measured}
    made.globals |= {
        "raise_exception": _raise_exception,
        "strftime_now": lambda form: datetime.now().strftime(form),
        # Not the type, whose attributes a template could reach.
        "dict": lambda *given, **named: dict(*given, **named),
        "namespace": _Namespace,
    }
    return made


def _to_json(
    value: Any,
    ensure_ascii: bool = False,
    indent: int | None = None,
    separators: tuple[str, str] | None = None,
    sort_keys: bool = False,
) -> str:
    # jinja2's own escapes characters for HTML.
    return json.dumps(
        value,
        ensure_ascii=ensure_ascii,
        indent=indent,
        separators=separators,
        sort_keys=sort_keys,
    )
