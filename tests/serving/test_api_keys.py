"""A file of keys: what is wrong with it is said, by its name and never by its content."""

import io
import json
from pathlib import Path

import pytest

from keras_transformer.serving.api_keys import ApiKeys
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "keys"
    path.write_bytes(b"\xef\xbb\xbfone\r\n\r\n two\t\n")
    path.chmod(0o600)
    return path


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "keys has no key: write one in each line"),
        (b" \n\r\n\t", "keys has no key"),
        (b"good\nsecret key\n", "line 2 of api_key_file .*keys is not a key"),
        (b"caf\xc3\xa9", "line 1 of api_key_file .*keys is not a key"),
        (b"secret\x00", "line 1 of api_key_file .*keys is not a key"),
        (b"secret\n" * 10_000, "keys has more than 65536 bytes"),
    ],
)
def test_a_bad_file_is_refused(file: Path, content: bytes, message: str) -> None:
    file.write_bytes(content)
    with pytest.raises(ValueError, match=message) as error:
        ApiKeys(file, Journal())
    assert "secret" not in str(error.value)


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="api_key_file .*keys cannot be read: No such file"):
        ApiKeys(tmp_path / "keys", Journal())
    with pytest.raises(IsADirectoryError, match="cannot be read: Is a directory"):
        ApiKeys(tmp_path, Journal())


def test_keys_are_lines_and_a_token_is_one_of_them(file: Path) -> None:
    keys = ApiKeys(file, Journal())
    for right in (b"Bearer one", b"BEARER two "):
        keys.check(right)
    for wrong in (b"", b"one", b"Bearer", b"Bearer on", b"Bearer one two", b"Bearer \xff"):
        with pytest.raises(ServingError, match="Authorization: Bearer KEY") as error:
            keys.check(wrong)
        assert error.value.code is Code.UNAUTHENTICATED


@pytest.mark.parametrize(("mode", "warns"), [(0o600, False), (0o640, False), (0o644, True)])
def test_a_file_that_everyone_may_read_is_warned_of(file: Path, mode: int, warns: bool) -> None:
    file.chmod(mode)
    stream = io.StringIO()
    ApiKeys(file, Journal(stream=stream))
    assert ("every user of this machine may read it" in stream.getvalue()) == warns


def test_a_file_that_breaks_is_told_of_once_and_its_last_keys_remain(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("keras_transformer.serving.api_keys._LOOK_SECONDS", 0.0)
    stream = io.StringIO()
    keys = ApiKeys(file, Journal(stream=stream))
    for content in (b"", b"three"):
        file.write_bytes(content)
        for _ in range(3):
            keys.check(b"Bearer three" if content else b"Bearer one")
    file.unlink()
    keys.check(b"Bearer three")
    events = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [set(event) - {"time", "event"} for event in events] == [
        {"kept", "error"},
        {"read"},
        {"kept", "error"},
    ]
