"""whole_file: the new file or the old one, never a half."""

import errno
import os

import pytest

from keras_transformer.data.whole_file import whole_file


def test_the_file_appears_when_it_is_complete(tmp_path):
    path = tmp_path / "a"
    with whole_file(path) as partial:
        partial.write_text("all")
        assert not path.exists() and partial.parent == tmp_path
    assert path.read_text() == "all"
    assert path.stat().st_mode & 0o777 == 0o644
    assert os.listdir(tmp_path) == ["a"]


@pytest.mark.parametrize("error", [ValueError("x"), KeyboardInterrupt()])
def test_an_error_leaves_the_old_file_and_nothing_else(tmp_path, error):
    (tmp_path / "a").write_text("old")
    with pytest.raises(type(error)), whole_file(tmp_path / "a") as partial:
        partial.write_text("half")
        raise error
    assert os.listdir(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_a_full_disk_names_the_file_and_the_mend(tmp_path):
    with (
        pytest.raises(OSError, match=r"cannot write .*/a: No space left on device.*make room"),
        whole_file(tmp_path / "a"),
    ):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert os.listdir(tmp_path) == []
