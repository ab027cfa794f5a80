"""Interprets the pickle in a file of PyTorch's weights without running anything of it: a stack
machine of the few instructions that names, numbers and tensors need.

Python's own unpickler calls whatever a file names. Here the few names that weights need stand for
records, and any other is refused.
"""

import pickletools
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, BinaryIO, NamedTuple

# Kinds of storages → NumPy's kinds of numbers; bfloat16 is read as the upper half of float32.
BFLOAT16 = "bfloat16"
_STORAGES = {
    "DoubleStorage": "f8",
    "FloatStorage": "f4",
    "HalfStorage": "f2",
    "BFloat16Storage": BFLOAT16,
    "LongStorage": "i8",
    "IntStorage": "i4",
    "ShortStorage": "i2",
    "CharStorage": "i1",
    "ByteStorage": "u1",
    "BoolStorage": "?",
}
_MARK = object()


class UnreadableError(ValueError):
    """A pickle is damaged, or holds more than weights."""


@dataclass(frozen=True)
class Global:
    """A name that a pickle may use."""

    name: str


class Storage(NamedTuple):
    """A row of numbers of the file.

    Attributes:
        kind: NumPy's kind of its numbers, or `BFLOAT16`.
        key: Its name in the file.
        size: How many numbers it has.
    """

    kind: str
    key: str
    size: int


class StoredTensor(NamedTuple):
    """A tensor as a view of a storage; offset and strides count numbers."""

    storage: Storage
    offset: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]


def read_pickle(stream: BinaryIO) -> Any:
    """Reads one pickle from where a stream stands.

    Returns:
        Its value: dicts, lists, tuples, strings, numbers and `StoredTensor`.

    Raises:
        UnreadableError: It is damaged, or needs an instruction or a name that weights do not.
    """
    machine = _Machine()
    try:
        for code, argument, _ in pickletools.genops(stream):
            if code.name == "STOP":
                return machine.pop()
            machine.run(code.name, argument)
    except UnreadableError:
        raise
    except (ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError) as error:
        raise UnreadableError(f"its pickle is damaged: {error}") from error
    raise UnreadableError("its pickle has no end")


def _tensor(storage: Any, offset: Any, shape: Any, strides: Any, *others: Any) -> StoredTensor:
    del others  # Whether it was trained, and hooks, which are never called.
    numbers = (offset, *shape, *strides)
    is_whole = all(type(one) is int and one >= 0 for one in numbers)
    if not isinstance(storage, Storage) or not is_whole or len(shape) != len(strides):
        raise UnreadableError("a tensor of it has no storage, or sizes that are no numbers")
    return StoredTensor(storage, offset, tuple(shape), tuple(strides))


def _parameter(data: Any, *others: Any) -> Any:
    del others
    return data


def _ordered(pairs: Any = ()) -> dict[Any, Any]:
    return _joined({}, [one for pair in pairs for one in pair])


def _joined(found: dict[Any, Any], flat: list[Any]) -> dict[Any, Any]:
    """Adds keys and values in turn; what nests may take for ever to hash, or to show."""
    if not all(isinstance(key, str | int) for key in flat[::2]):
        raise UnreadableError("it has a dict whose keys are no strings")
    found.update(zip(flat[::2], flat[1::2], strict=True))
    return found


_CALLS: dict[str, Callable[..., Any]] = {
    "collections.OrderedDict": _ordered,
    "torch._utils._rebuild_tensor_v2": _tensor,
    "torch._utils._rebuild_parameter": _parameter,
    "torch._utils._rebuild_parameter_with_state": _parameter,
    "torch.Size": tuple,
}
_NAMES = {*_CALLS, *(f"torch.{name}" for name in _STORAGES)}


class _Machine:
    """The stack and the memory of what is read."""

    def __init__(self) -> None:
        self._stack: list[Any] = []
        self._memory: dict[int, Any] = {}

    def pop(self) -> Any:
        """Takes the uppermost value."""
        return self._stack.pop()

    def run(self, name: str, argument: Any) -> None:
        """Carries out an instruction."""
        push = self._stack.append
        if name in _NOTHING:
            return
        if name in _VALUES:
            push(argument)
        elif name in _CONSTANTS:
            push(_CONSTANTS[name]())
        elif name in ("PUT", "BINPUT", "LONG_BINPUT", "MEMOIZE"):
            place = len(self._memory) if name == "MEMOIZE" else argument
            self._memory[place] = self._stack[-1]
        elif name in ("GET", "BINGET", "LONG_BINGET"):
            push(self._memory[argument])
        elif name == "MARK":
            push(_MARK)
        elif name in ("TUPLE1", "TUPLE2", "TUPLE3"):
            count = int(name[-1])
            self._stack[-count:] = [tuple(self._stack[-count:])]
        elif name == "TUPLE":
            push(tuple(self._behind_mark()))
        elif name in ("GLOBAL", "STACK_GLOBAL"):
            self._name(name, argument)
        else:
            self._build(name)

    def _build(self, name: str) -> None:
        """Carries out what puts values together."""
        if name == "BINPERSID":
            self._stack.append(_storage(self.pop()))
        elif name == "REDUCE":
            arguments, called = self.pop(), self.pop()
            if not isinstance(called, Global) or called.name not in _CALLS:
                raise UnreadableError("it calls what is no function of weights")
            self._stack.append(_CALLS[called.name](*arguments))
        elif name == "BUILD":
            # Attributes of an ordered dict, such as its versions: no tensor.
            self.pop()
        elif name in ("APPEND", "APPENDS"):
            items = [self.pop()] if name == "APPEND" else self._behind_mark()
            self._last(list).extend(items)
        elif name in ("SETITEM", "SETITEMS"):
            pairs = [self.pop(), self.pop()][::-1] if name == "SETITEM" else self._behind_mark()
            _joined(self._last(dict), pairs)
        else:
            raise UnreadableError(f"its pickle has the instruction {name}, which no weights need")

    def _name(self, name: str, argument: Any) -> None:
        if name == "GLOBAL":
            found = argument.replace(" ", ".")
        else:
            attribute, module = self.pop(), self.pop()
            found = f"{module}.{attribute}" if isinstance(module, str) else "nothing"
        if found not in _NAMES:
            raise UnreadableError(f"it names {found}, which is more than weights")
        self._stack.append(Global(found))

    def _behind_mark(self) -> list[Any]:
        place = len(self._stack) - 1
        while self._stack[place] is not _MARK:
            place -= 1
            if place < 0:
                raise UnreadableError("its pickle is damaged: a mark is missing")
        found = self._stack[place + 1 :]
        del self._stack[place:]
        return found

    def _last(self, kind: type) -> Any:
        found = self._stack[-1]
        if type(found) is not kind:
            raise UnreadableError(f"its pickle is damaged: no {kind.__name__} to add to")
        return found


_NOTHING = ("PROTO", "FRAME")
_VALUES = (
    *("INT", "BININT", "BININT1", "BININT2", "LONG", "LONG1", "LONG4", "FLOAT", "BINFLOAT"),
    *("UNICODE", "BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8", "STRING", "BINSTRING"),
    *("SHORT_BINSTRING",),
)
_CONSTANTS: dict[str, Callable[[], Any]] = {
    "NONE": lambda: None,
    "NEWTRUE": lambda: True,
    "NEWFALSE": lambda: False,
    "EMPTY_DICT": dict,
    "EMPTY_LIST": list,
    "EMPTY_TUPLE": tuple,
}


def _storage(told: Any) -> Storage:
    """Returns the storage that a persistent id tells: kind, key, device, size."""
    if not isinstance(told, tuple) or len(told) < 5 or told[0] != "storage":
        raise UnreadableError("it refers to what is no storage")
    _, kind, key, _, size = told[:5]
    if any(part is not None for part in told[5:]):
        raise UnreadableError("it has a storage within another, as PyTorch before 0.4 wrote")
    if not isinstance(kind, Global) or not kind.name.startswith("torch."):
        raise UnreadableError("it has a storage of no kind of numbers")
    name = kind.name.removeprefix("torch.")
    if name not in _STORAGES or not isinstance(key, str) or type(size) is not int or size < 0:
        raise UnreadableError(f"it has a storage of {name} without a name or a size")
    return Storage(_STORAGES[name], key, size)


def tensors_of(value: Any) -> Iterator[tuple[str, StoredTensor]]:
    """Yields the tensors of a model's weights by name.

    Raises:
        UnreadableError: It is no dict of tensors.
    """
    if not isinstance(value, dict):
        raise UnreadableError(f"it holds a {type(value).__name__} and no dict of tensors")
    for name, tensor in value.items():
        if not isinstance(name, str) or not isinstance(tensor, StoredTensor):
            raise UnreadableError(f"its entry {name!r} is a {type(tensor).__name__} and no tensor")
        yield name, tensor
