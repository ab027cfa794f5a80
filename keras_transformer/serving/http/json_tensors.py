"""TensorFlow Serving's JSON: the body of a predict request as arrays, and arrays as the body of an
answer, in row format ("instances") and in column format ("inputs").
"""

import base64
import binascii
import collections
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.signatures import Signature, TensorSpec
from keras_transformer.serving.errors import refusal

_INT32 = np.iinfo(np.int32)
_FLOAT32_MAX = float(np.finfo(np.float32).max)
_BASE64_KEY = "b64"
_PREDICT_KEYS = ("signature_name", "instances", "inputs")
_MOST_SHOWN = 40
_DTYPES = {"string": object, "int32": np.int32, "float32": np.float32, "bool": np.bool_}
_ENCODER = json.JSONEncoder(
    ensure_ascii=False, separators=(",", ":"), default=lambda text: _to_text(text)
)


class PredictRequest(NamedTuple):
    """A predict request's body.

    Attributes:
        signature_name: The signature; "" for the default.
        is_row: Whether it is in row format.
        values: What "instances" or "inputs" holds.
    """

    signature_name: str
    is_row: bool
    values: Any


def read_object(body: bytes) -> dict[str, Any]:
    """Reads a body that must be a JSON object.

    Raises:
        ServingError: It is not, or an object in it has a key twice.
    """
    try:
        value = _parse(body)
    except (ValueError, RecursionError) as error:
        reason = "it is nested too deeply" if isinstance(error, RecursionError) else error
        raise refusal(f"JSON Parse error: {reason}") from error
    if not isinstance(value, dict):
        raise refusal(f"Request body must be a JSON object, got {_kind(value)}.")
    return value


def check_keys(found: Iterable[str], known: Sequence[str]) -> None:
    """Checks the keys of a body.

    Raises:
        ServingError: One is unknown; the message names it and those that are known.
    """
    for key in found:
        if key not in known:
            raise refusal(f"unknown key {key!r}, expected {', '.join(known)}.")


def read_predict(body: bytes) -> PredictRequest:
    """Reads a predict request's body except for its values, which need the signature.

    Raises:
        ServingError: It is not a predict request.
    """
    request = read_object(body)
    check_keys(request, _PREDICT_KEYS)
    name = request.get("signature_name", "")
    if not isinstance(name, str):
        raise refusal(f"'signature_name' key must be a string value, got {_kind(name)}.")
    formats = [key for key in ("instances", "inputs") if key in request]
    if len(formats) != 1:
        found = "both" if formats else "neither"
        raise refusal(
            "Request body must have either 'instances' (row format) or 'inputs' (column format), "
            f"got {found}."
        )
    return PredictRequest(name, formats[0] == "instances", request[formats[0]])


def read_inputs(request: PredictRequest, signature: Signature) -> dict[str, npt.NDArray[Any]]:
    """Returns a request's arrays by the names of the signature's inputs; strings as bytes.

    Raises:
        ServingError: The values do not fit the signature; the message says where.
    """
    columns = _rows(request.values, signature) if request.is_row else _columns(request, signature)
    specs = (*signature.required, *signature.optional)
    return {spec.name: _array(columns[spec.name], spec) for spec in specs if spec.name in columns}


def write_outputs(
    outputs: Mapping[str, npt.NDArray[Any]], signature: Signature, *, is_row: bool
) -> bytes:
    """Returns the answer's body.

    Args:
        outputs: Arrays by the names of the signature's outputs.
        signature: The signature.
        is_row: Whether the answer is in row format.
    """
    names = [spec.name for spec in signature.outputs]
    columns = [_json_rows(outputs[name]) for name in names]
    if not is_row:
        arrays = [_json_list(rows) for rows in columns]
        return b'{"outputs":%b}' % (_json_object(names, arrays) if len(names) > 1 else arrays[0])
    if len(names) == 1:
        return b'{"predictions":%b}' % _json_list(columns[0])
    rows = [_json_object(names, row) for row in zip(*columns, strict=True)]
    return b'{"predictions":%b}' % _json_list(rows)


def json_values(array: npt.NDArray[Any]) -> bytes:
    """Returns all values of an array in one list of JSON; objects are what JSON knows."""
    if array.ndim < 2:
        return _json_list(_json_rows(array))
    rows = _json_rows(array.reshape(-1, array.shape[-1])) if array.size else []
    return _json_list(row[1:-1] for row in rows)


def _parse(body: bytes) -> Any:
    text = body.decode(json.detect_encoding(body), "surrogatepass")
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError:
        raise
    except ValueError:
        return _LONG_NUMBERS.decode(text)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        counts = collections.Counter(name for name, _ in pairs)
        twice = next(name for name, count in counts.items() if count > 1)
        raise refusal(f"the key {twice!r} is given twice.")
    return found


def _integer(digits: str) -> float:
    """Returns an integer, or infinity where Python reads no integer of so many digits."""
    try:
        return int(digits)
    except ValueError:
        return float(digits)


_DECODER = json.JSONDecoder(object_pairs_hook=_object)
# Slower, for the input of such a number to be named.
_LONG_NUMBERS = json.JSONDecoder(object_pairs_hook=_object, parse_int=_integer)


def _rows(values: Any, signature: Signature) -> dict[str, list[Any]]:
    """Turns instances into a column for each input."""
    if not isinstance(values, list):
        raise refusal(f"'instances' must be a list, got {_kind(values)}.")
    names = [spec.name for spec in signature.required]
    if len(names) == 1 and not any(map(_is_named, values)):
        return {names[0]: values}
    for number, row in enumerate(values):
        if not _is_named(row):
            raise refusal(
                f"element {number} of 'instances' must be an object with {', '.join(names)}, got "
                f"{_kind(row)}."
            )
        _check_names(row, signature, f"element {number} of 'instances'")
        if set(row) != set(values[0]):
            raise refusal(
                f"all elements of 'instances' must have the same keys, got {', '.join(row)} in "
                f"element {number} and {', '.join(values[0])} in element 0."
            )
    return {name: [row[name] for row in values] for name in (values[0] if values else names)}


def _columns(request: PredictRequest, signature: Signature) -> Mapping[str, Any]:
    names = [spec.name for spec in signature.required]
    values = request.values
    if _is_named(values):
        _check_names(values, signature, "'inputs'")
        return values
    if len(names) > 1:
        raise refusal(f"'inputs' must be an object with {', '.join(names)}, got {_kind(values)}.")
    return {names[0]: values}


def _check_names(found: Mapping[str, Any], signature: Signature, where: str) -> None:
    names = [spec.name for spec in signature.required]
    more = [spec.name for spec in signature.optional]
    if not set(names) <= set(found) <= {*names, *more}:
        others = f" and may have {', '.join(more)}" if more else ""
        raise refusal(
            f"{where} must have {', '.join(names)}{others}, got "
            f"{', '.join(sorted(found)) or 'none'}."
        )


def _is_named(value: Any) -> bool:
    return isinstance(value, dict) and not _is_base64(value)


def _is_base64(value: Any) -> bool:
    return isinstance(value, dict) and set(value) == {_BASE64_KEY}


def _array(values: Any, spec: TensorSpec) -> npt.NDArray[Any]:
    shape: list[int] = []
    flat: list[Any] = []
    _flatten(values, spec, 0, shape, flat)
    shape += [0] * (len(spec.shape) - len(shape))
    array: npt.NDArray[Any] = np.array(flat, _DTYPES[spec.dtype])
    return array if array.ndim == len(shape) else array.reshape(shape)


def _flatten(values: Any, spec: TensorSpec, depth: int, shape: list[int], flat: list[Any]) -> None:
    """Appends nested values to `flat` and finds out their shape."""
    if depth == len(spec.shape):
        flat.append(_leaf(values, spec))
        return
    if not isinstance(values, list):
        raise refusal(
            f"{spec.name} must be a list in {len(spec.shape)} levels, got {_kind(values)} at level "
            f"{depth}."
        )
    if depth == len(shape):
        shape.append(len(values))
    elif shape[depth] != len(values):
        raise refusal(
            f"{spec.name} must be rectangular, but has lists of {shape[depth]} and of "
            f"{len(values)} values side by side."
        )
    for value in values:
        _flatten(value, spec, depth + 1, shape, flat)


def _leaf(value: Any, spec: TensorSpec) -> Any:
    if spec.is_json and (value is True or _is_named(value)):
        return json.dumps(value).encode()
    if spec.dtype == "string":
        return _to_bytes(value, spec)
    if isinstance(value, bool):
        if spec.dtype == "bool":
            return value
    elif isinstance(value, int | float) and spec.dtype != "bool":
        # NaN is not below the largest number either.
        if spec.dtype == "float32" and abs(value) <= _FLOAT32_MAX:
            return value
        if isinstance(value, int) and _INT32.min <= value <= _INT32.max:
            return value
    expected = "finite float32" if spec.dtype == "float32" else spec.dtype
    raise refusal(f"{spec.name} must hold {expected} values, got {_shown(value)}.")


def _to_bytes(value: Any, spec: TensorSpec) -> bytes:
    if isinstance(value, str):
        try:
            return value.encode()
        except UnicodeEncodeError as error:
            raise refusal(
                f"{spec.name} must be valid Unicode, got half a surrogate pair: write the "
                'whole character, or send bytes as {"b64": "…"}.'
            ) from error
    if _is_base64(value) and isinstance(value[_BASE64_KEY], str):
        try:
            return base64.b64decode(value[_BASE64_KEY], validate=True)
        except (binascii.Error, ValueError) as error:
            raise refusal(f"{spec.name} has a b64 value that is not base64: {error}.") from error
    raise refusal(f"{spec.name} must hold strings, got {_shown(value)}.")


def _json_rows(array: npt.NDArray[Any]) -> list[bytes]:
    """Returns each row of an array as JSON.

    Nothing larger than a vector is encoded at once: no other thread runs meanwhile.
    """
    if array.ndim > 2:
        return [_json_list(_json_rows(row)) for row in array]
    rows = array.tolist() if array.ndim == 1 else map(np.ndarray.tolist, array)
    return [_ENCODER.encode(row).encode() for row in rows]


def _json_list(parts: Iterable[bytes]) -> bytes:
    return b"[%b]" % b",".join(parts)


def _json_object(names: Sequence[str], parts: Iterable[bytes]) -> bytes:
    pairs = (b'"%b":%b' % (name.encode(), part) for name, part in zip(names, parts, strict=True))
    return b"{%b}" % b",".join(pairs)


def _to_text(text: bytes) -> Any:
    try:
        return text.decode()
    except UnicodeDecodeError:
        return {_BASE64_KEY: base64.b64encode(text).decode("ascii")}


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "a list", str: "a string", bool: "a boolean"}
    if value is None:
        return "null"
    return names.get(type(value), "a number")


def _shown(value: Any) -> str:
    """Returns a value as it was sent, if it is short."""
    if isinstance(value, dict | list | str):
        return _kind(value)
    text = json.dumps(value)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"
