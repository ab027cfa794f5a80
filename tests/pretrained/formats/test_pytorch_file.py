"""`pytorch_model.bin` without PyTorch: every kind of number and view, and nothing that runs."""

import json
import pickle
import shutil
import struct
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.formats.pytorch_file import open_pytorch
from keras_transformer.pretrained.recognise import read_pretrained
from keras_transformer.pretrained.tensor_files import open_huggingface

FIXTURES = Path(__file__).parents[2] / "fixtures"
# PyTorch wrote it: tools/oracles/pytorch_files.py.
FOLDER = FIXTURES / "pytorch"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value.encode())) + value.encode()


def integers(values: tuple[int, ...]) -> bytes:
    return b"(" + b"".join(b"J" + struct.pack("<i", value) for value in values) + b"t"


def tensor(
    key: str,
    size: int,
    shape: tuple[int, ...],
    strides: tuple[int, ...] | None = None,
    offset: int = 0,
    kind: str = "torch\nFloatStorage",
) -> bytes:
    """Returns the instructions that make a tensor."""
    if strides is None:
        strides = tuple(int(np.prod(shape[axis + 1 :])) for axis in range(len(shape)))
    number = b"J" + struct.pack("<i", size)
    storage = b"(" + text("storage") + f"c{kind}\n".encode() + text(key) + text("cpu") + number
    sizes = b"J" + struct.pack("<i", offset) + integers(shape) + integers(strides)
    hooks = b"ccollections\nOrderedDict\n)R"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n(("
        + storage[1:]
        + b"tQ"
        + sizes
        + b"\x89"
        + hooks
        + b"tR"
    )


def write(path: Path, pickled: bytes, storages: Mapping[str, bytes], **settings: Any) -> Path:
    with zipfile.ZipFile(path, "w", **settings) as file:
        file.writestr("archive/data.pkl", pickled)
        for key, content in storages.items():
            file.writestr(f"archive/data/{key}", content)
    return path


def state_dict(**tensors: bytes) -> bytes:
    entries = b"".join(text(name) + one for name, one in tensors.items())
    return b"\x80\x02}(" + entries + b"u."


@pytest.mark.parametrize("file", ["pytorch_model.bin", "legacy.bin"])
def test_everything_is_what_pytorch_wrote(file: str) -> None:
    found = open_pytorch(FOLDER / file)
    expected = np.load(FOLDER / "expected.npz")
    assert set(found) == set(expected.files)
    for name, read in found.items():
        array = read()
        assert (array.dtype, array.shape) == (expected[name].dtype, expected[name].shape), name
        np.testing.assert_array_equal(array, expected[name], err_msg=name)


def test_a_model_that_ships_nothing_else_is_imported(tmp_path: Path) -> None:
    whole = FIXTURES / "stacks" / "bert"
    path = Path(shutil.copytree(whole, tmp_path / "bert"))
    arrays = load_file(path / "model.safetensors")
    (path / "model.safetensors").unlink()
    tensors = {name: tensor(name, one.size, one.shape) for name, one in arrays.items()}
    storages = {name: one.tobytes() for name, one in arrays.items()}
    write(path / "pytorch_model.bin", state_dict(**tensors), storages)
    assert read_pretrained(path).config == read_pretrained(whole).config
    for name, array in open_huggingface(path).items():
        np.testing.assert_array_equal(array, arrays[name])


def test_shards_are_joined(tmp_path: Path) -> None:
    places = {}
    for number, name in enumerate(("a", "b")):
        file = f"pytorch_model-0000{number + 1}-of-00002.bin"
        content = np.full(3, number, np.float32).tobytes()
        write(tmp_path / file, state_dict(**{name: tensor("0", 3, (3,))}), {"0": content})
        places[name] = file
    index = tmp_path / "pytorch_model.bin.index.json"
    index.write_text(json.dumps({"weight_map": places}))
    assert {name: one.tolist() for name, one in open_huggingface(tmp_path).items()} == {
        "a": [0.0] * 3,
        "b": [1.0] * 3,
    }


class Runs:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> Any:
        return (Path.touch, (self.place,))


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_what_would_run_is_named_and_not_run(protocol: int, tmp_path: Path) -> None:
    place = tmp_path / "it ran"
    path = write(tmp_path / "m.bin", pickle.dumps({"w": Runs(place)}, protocol), {})
    with pytest.raises(ImportRefusedError, match=r"m\.bin holds more.*(pathlib|getattr|DICT)"):
        open_pytorch(path)
    assert not place.exists()


NAMES = ("os system", "builtins eval", "torch load", "torch._utils _rebuild_tensor", "numpy dtype")


@pytest.mark.parametrize("name", NAMES)
def test_any_other_name_is_refused(name: str, tmp_path: Path) -> None:
    module, _, attribute = name.partition(" ")
    for named in (
        f"c{module}\n{attribute}\n".encode(),
        b"\x8c" + bytes([len(module)]) + module.encode()
        + b"\x8c" + bytes([len(attribute)]) + attribute.encode() + b"\x93",
    ):  # fmt: skip
        path = write(tmp_path / "m.bin", b"\x80\x04" + named + text("ls") + b"\x85R.", {})
        with pytest.raises(ImportRefusedError, match=f"names {module}.{attribute}, which is more"):
            open_pytorch(path)


FLOATS = np.arange(6, dtype=np.float32).tobytes()


@pytest.mark.parametrize(
    ("pickled", "message"),
    [
        (state_dict(w=tensor("0", 6, (7,))), "shape .7,., more than its storage of 6"),
        (state_dict(w=tensor("0", 6, (2, 3), (3, 2))), "shape .2, 3., more than"),
        (state_dict(w=tensor("0", 6, (6,), offset=1)), "more than its storage"),
        (state_dict(w=tensor("0", 6, (2**30, 2**30), (0, 0))), "more than its storage"),
        (state_dict(w=tensor("0", 6, (-1,), (1,))), "sizes that are no numbers"),
        (state_dict(w=tensor("0", 6, (6,), (-1,))), "sizes that are no numbers"),
        (state_dict(w=tensor("0", 2**30, (6,))), "1073741824 numbers in 24 bytes"),
        (state_dict(w=tensor("1", 6, (6,))), "its numbers in 1, which is not there"),
        (state_dict(w=tensor("../x", 6, (6,))), "which is not there"),
        (state_dict(w=tensor("0", 6, (6,), kind="torch\nQInt8Storage")), "names torch.QInt8Stor"),
        (state_dict(w=b"K\x01"), "'w' is a int and no tensor"),
        (b"\x80\x02]." , "a list and no dict of tensors"),
        (b"\x80\x02}(", "before seeing STOP"),
        (b"", "its pickle is damaged"),
        (b"\x80\x02u.", "damaged"),
        (b"\x80\x02h\x05.", "damaged"),
        (b"\x80\x02(i" + b"os\nsystem\n.", "instruction INST, which no weights need"),
        (b"\x80\x02" + b"\x82\x01.", "instruction EXT1"),
        (b"\x80\x02X\xff\xff\xff\x7fa.", "damaged"),
        # Tuples within tuples, which would take for ever to hash or to show.
        (b"\x80\x02})" + b"q\x00h\x00\x86" * 200 + b"K\x01s.", "keys are no strings"),
        (b"\x80\x02)" + b"q\x00h\x00\x86" * 200 + b"Q.", "what is no storage"),
    ],
)  # fmt: skip
def test_hostile_files_are_refused(pickled: bytes, message: str, tmp_path: Path) -> None:
    path = write(tmp_path / "m.bin", pickled, {"0": FLOATS})
    with pytest.raises(ImportRefusedError, match=f"m.bin holds more than weights.*{message}"):
        open_pytorch(path)


def test_a_compressed_file_is_refused(tmp_path: Path) -> None:
    pickled = state_dict(w=tensor("0", 1 << 20, (1 << 20,)))
    storages = {"0": b"\0" * (4 << 20)}
    path = write(tmp_path / "m.bin", pickled, storages, compression=zipfile.ZIP_DEFLATED)
    with pytest.raises(ImportRefusedError, match="compressed"):
        open_pytorch(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ((FOLDER / "legacy.bin").read_bytes()[:-1], "its end is missing"),
        ((FOLDER / "legacy.bin").read_bytes()[:15], "its pickle is damaged"),
        (b"", "no whole file of PyTorch's"),
        ((FOLDER / "pytorch_model.bin").read_bytes()[:-40], "is damaged"),
    ],
)
def test_other_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    (tmp_path / "m.bin").write_bytes(content)
    with pytest.raises(ImportRefusedError, match=f"m.bin .*{message}"):
        open_pytorch(tmp_path / "m.bin")


def read_damaged(content: bytes, every: int, path: Path) -> Iterator[dict[str, np.ndarray]]:
    """Changes a byte of a file at a time; yields what is read of those that are not refused."""
    for place in range(0, len(content), every):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x55]) + content[place + 1 :])
        try:
            found = {name: read() for name, read in open_pytorch(path).items()}
        except ImportRefusedError as error:
            assert str(path) in str(error)
            continue
        yield found


def test_any_damage_is_refused_or_harmless(tmp_path: Path) -> None:
    """Bytes of the archive have checksums; those beside them say nothing of a tensor."""
    content = (FOLDER / "pytorch_model.bin").read_bytes()
    expected = np.load(FOLDER / "expected.npz")
    for found in read_damaged(content, 17, tmp_path / "m.bin"):
        for name, array in found.items():
            np.testing.assert_array_equal(array, expected[name])


def old(weights: bytes, names: bytes, *storages: bytes, version: int = 1001) -> bytes:
    """Returns a file of the format before 1.6."""
    begin = (FOLDER / "legacy.bin").read_bytes()[:15]
    number = b"\x80\x02M" + struct.pack("<H", version) + b"."
    return b"".join((begin, number, b"\x80\x02}.", weights, names, *storages))


def listed(*names: str) -> bytes:
    return b"\x80\x02](" + b"".join(map(text, names)) + b"e."


SIX = struct.pack("<q", 6) + FLOATS
GOOD = state_dict(w=tensor("0", 6, (6,)))
TWO_SIZES = state_dict(v=tensor("0", 2**20, (6,)), w=tensor("0", 6, (6,)))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (old(GOOD, listed("0"), SIX, version=9), "of version 9, and"),
        (old(state_dict(w=tensor("0", 6, (7,))), listed("0"), SIX), "more than its storage of 6"),
        (old(GOOD, listed("1"), SIX), "storage '1' has no tensor"),
        (old(GOOD, listed(), SIX), "in 0, which is not there"),
        (old(state_dict(w=tensor("0", 7, (6,))), listed("0"), SIX), "has 6 numbers, not 7"),
        (old(GOOD, listed("0"), SIX[:-1]), "its end is missing"),
        (
            old(state_dict(w=tensor("0", 2**30, (6,))), listed("0"), struct.pack("<q", 2**30)),
            "its end is missing",
        ),
        (old(TWO_SIZES, listed("0"), SIX), "v has its numbers in 0, which is not there"),
        (old(b"\x80\x02cos\nsystem\n" + text("ls") + b"\x85R.", b""), "names os.system"),
        (old(GOOD, b"\x80\x02K\x01."), "no list of storages"),
    ],
)
def test_hostile_old_files_are_refused(content: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.bin"
    path.write_bytes(old(GOOD, listed("0"), SIX))
    np.testing.assert_array_equal(open_pytorch(path)["w"](), np.arange(6))
    path.write_bytes(content)
    with pytest.raises(ImportRefusedError, match=f"m.bin holds more than weights.*{message}"):
        open_pytorch(path)


def test_any_damage_of_an_old_file_is_refused_or_changes_numbers_alone(tmp_path: Path) -> None:
    """The format has no checksums."""
    content = (FOLDER / "legacy.bin").read_bytes()
    for found in read_damaged(content, 11, tmp_path / "m.bin"):
        assert all(isinstance(array, np.ndarray) for array in found.values())
