"""The bytes of GGUF files: what they say is checked before memory is taken for it."""

import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.gguf.container import is_gguf, open_gguf
from keras_transformer.pretrained.recognise import read_pretrained

WHOLE = Path(__file__).parents[2] / "fixtures" / "gguf" / "qwen2" / "model.gguf"
F32, UINT32, LIST, TEXT, Q4_K = 0, 4, 9, 8, 12
MANY = 1 << 60


def text(content: str) -> bytes:
    return struct.pack("<Q", len(content.encode())) + content.encode()


def header(tensors: int = 0, values: int = 0, version: int = 3) -> bytes:
    return b"GGUF" + struct.pack("<IQQ", version, tensors, values)


def tensor(*shape: int, kind: int = F32, offset: int = 0, axes: int | None = None) -> bytes:
    count = len(shape) if axes is None else axes
    places = struct.pack(f"<I{len(shape)}QIQ", count, *shape, kind, offset)
    return header(tensors=1) + text("one") + places


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", r"4 bytes follow, and 0 bytes do"),
        (b"GGML" + header()[4:], r"it does not begin with GGUF"),
        (header(version=1), r"version 1 of GGUF"),
        (header(version=3 << 24), r"in little-endian order"),
        (header(values=MANY), rf"{MANY} values follow"),
        (header(tensors=MANY), rf"{MANY} tensors follow"),
        (header(values=1) + struct.pack("<Q", MANY) + bytes(9), rf"{MANY} bytes follow"),
        (header(values=1) + text("a") + struct.pack("<II", 99, 0), r"kind 99"),
        (header(values=1) + text("a") + struct.pack("<III", LIST, LIST, 0), r"a list of 9"),
        (
            header(values=1) + text("a") + struct.pack("<IIQ", LIST, UINT32, MANY),
            rf"{MANY} values follow",
        ),
        (
            header(values=1) + text("a") + struct.pack("<IIQ", LIST, TEXT, MANY),
            rf"{MANY} strings follow",
        ),
        (header(values=2) + 2 * (text("a") + struct.pack("<II", UINT32, 7)), r"'a' twice"),
        (header(values=1) + text("a") + struct.pack("<IQ", TEXT, 1) + b"\xff", r"not UTF-8"),
        (tensor(4, axes=MANY >> 30), r"has 1073741824 axes"),
        (tensor(MANY, MANY), r"'one' ends at byte"),
        (tensor(4, offset=MANY), r"'one' ends at byte"),
        (tensor(0), r"rows of 0 values"),
        (tensor(40, kind=Q4_K), r"rows of 40 values, and blocks of Q4_K have 256"),
        (tensor(256, kind=10), r"type Q2_K, and only F32, F16, BF16, Q8_0"),
        (tensor(4, kind=77), r"type 77, and only"),
    ],
)
def test_a_damaged_file_is_refused_by_name(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "model.gguf"
    path.write_bytes(content)
    with pytest.raises(ImportRefusedError, match=message) as raised:
        open_gguf(path)
    assert str(path) in str(raised.value)


def test_values_are_read_by_name(tmp_path: Path) -> None:
    path = tmp_path / "model"
    listed = text("b") + struct.pack("<IIQ2I", LIST, UINT32, 2, 5, 6)
    placed = text("c") + struct.pack("<IQQIQ", 2, 3, 2, F32, 32)
    content = header(1, 2) + text("a") + struct.pack("<I", TEXT) + text("é") + listed + placed
    content += bytes(-len(content) % 32 + 32)
    path.write_bytes(content + np.arange(6, dtype=np.float32).tobytes())
    found = open_gguf(path)
    assert is_gguf(path)
    assert found.values.values == {"a": "é", "b": [5, 6]}
    np.testing.assert_array_equal(found.tensors["c"], [[0, 1, 2], [3, 4, 5]])


@given(place=st.integers(0, 14_000), new=st.binary(min_size=1, max_size=9))
@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_changed_bytes_are_refused_with_the_file_or_give_another_model(
    place: int, new: bytes, tmp_path: Path
) -> None:
    content, path = WHOLE.read_bytes(), tmp_path / "model.gguf"
    path.write_bytes(content[:place] + new + content[place + len(new) :])
    try:
        found = read_pretrained(path)
    except (ImportRefusedError, FileNotFoundError) as error:
        assert str(path) in str(error)
    else:
        assert found.config.num_layers


def test_without_its_package_the_command_that_installs_it_is_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "gguf", None)
    with pytest.raises(ImportError, match=r"needs the gguf package: pip install .*\[gguf\]"):
        open_gguf(WHOLE)
