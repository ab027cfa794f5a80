"""read_lines and read_parallel: what a line is, shards, compression, errors with file and line."""

import gzip
import os
import threading

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from keras_transformer.data.sources.files import read_lines, read_parallel, require_rereadable

LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r")))


@pytest.fixture
def write(tmp_path):
    def write_file(name, content):
        data = content.encode("utf-8") if isinstance(content, str) else content
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write_file


@settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(lines=LINES, packed=st.booleans(), ending=st.sampled_from(["\n", "\r\n"]))
def test_only_a_line_feed_ends_a_line(write, lines, packed, ending):
    name = "text.gz" if packed else "text"
    path = write(name, "".join(line + ending for line in lines))
    expected = list(lines)
    if expected:
        expected[0] = expected[0].removeprefix("\ufeff")
    assert read_lines(path) == expected


def test_unicode_line_separators_stay_inside_the_line(write):
    text = "a\u2028b\u2029c\x85d\x0be\x0cf\x1cg\rh"
    assert read_lines(write("text", text + "\nnext\n")) == [text, "next"]


def test_the_last_line_needs_no_line_feed_and_empty_lines_count(write):
    assert read_lines(write("text", "one\n\nthree")) == ["one", "", "three"]
    assert read_lines(write("blank", "\n\n")) == ["", ""]
    assert read_lines(write("empty", "")) == []


def test_a_byte_order_mark_is_no_text(write):
    assert read_lines(write("text", b"\xef\xbb\xbfone\ntwo\n")) == ["one", "two"]


def test_gzip_is_told_by_content_not_by_name(write, tmp_path):
    (tmp_path / "packed.txt").write_bytes(gzip.compress(b"one\ntwo\n"))
    (tmp_path / "plain.gz").write_bytes(b"one\ntwo\n")
    assert read_lines(tmp_path / "packed.txt") == ["one", "two"]
    assert read_lines(tmp_path / "plain.gz") == ["one", "two"]


@pytest.mark.parametrize("packed", [False, True])
def test_a_pipe_is_read_once(tmp_path, packed):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = gzip.compress(b"one\ntwo\n") if packed else b"one\ntwo\n"
    writer = threading.Thread(target=path.write_bytes, args=(content,), daemon=True)
    writer.start()
    assert read_lines(path) == ["one", "two"]
    writer.join()
    with pytest.raises(ValueError, match="pipe is a pipe, and this text is read more than once"):
        require_rereadable([path])


@pytest.mark.parametrize("name", ["latin.txt", "latin.txt.gz"])
def test_bytes_that_are_not_utf8_name_file_and_line(write, name):
    path = write(name, b"eins\nzwei\n" + "drei für".encode("latin-1") + b"\nvier\n")
    with pytest.raises(ValueError, match=rf"{name}, line 3: not UTF-8 \(byte 7 is 0xfc\)"):
        read_lines(path)


def test_lines_that_are_not_utf8_are_named_together(write):
    path = write("a.txt", b"eins\n" + b"\xfc\nzwei\n" * 12)
    with pytest.raises(ValueError, match="cannot be read") as refused:
        read_lines(path)
    odd = "not UTF-8 (byte 1 is 0xfc)"
    assert str(refused.value).split("; ") == [
        f"12 lines cannot be read: {path}, line 2: {odd}",
        *(f"line {number}: {odd}" for number in range(4, 22, 2)),
        "and 2 more",
        "convert the file to UTF-8",
    ]


def test_a_cut_gzip_file_is_an_error_that_names_it(tmp_path):
    whole = gzip.compress(bytes(range(33, 120)) * 500 + b"\n")
    (tmp_path / "cut.gz").write_bytes(whole[:-20])
    with pytest.raises(ValueError, match=r"cut\.gz, after line 0: broken gzip data"):
        read_lines(tmp_path / "cut.gz")


def test_a_damaged_gzip_file_is_an_error_that_names_it(tmp_path):
    whole = bytearray(gzip.compress(bytes(range(33, 120)) * 500))
    whole[len(whole) // 2] ^= 0xFF
    (tmp_path / "odd.gz").write_bytes(whole)
    with pytest.raises(ValueError, match=r"odd\.gz, after line \d+: broken gzip data"):
        read_lines(tmp_path / "odd.gz")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"no such file: .*absent\.txt"):
        read_lines(tmp_path / "absent.txt")


def test_a_directory_in_place_of_a_file_is_named(tmp_path):
    with pytest.raises(OSError, match=f"cannot read {tmp_path}: Is a directory"):
        read_lines(tmp_path)


def test_one_pair_of_files(write):
    pairs = read_parallel(write("a.en", "one\ntwo\n"), str(write("a.de", "eins\nzwei\n")))
    assert list(pairs.source) == ["one", "two"]
    assert list(pairs.target) == ["eins", "zwei"]
    assert "a.en" in pairs.origin
    assert "a.de" in pairs.origin


def test_shards_are_joined_in_order(write):
    sources = [write("1.en.gz", "one\n"), write("2.en", ""), write("3.en", "two\nthree\n")]
    targets = [write("1.de", "eins\n"), write("2.de", ""), write("3.de.gz", "zwei\ndrei\n")]
    pairs = read_parallel(sources, targets)
    assert list(pairs.source) == ["one", "two", "three"]
    assert list(pairs.target) == ["eins", "zwei", "drei"]


def test_unequal_lines_name_both_files_and_where_the_shorter_ends(write):
    sources = [write("1.en", "one\n"), write("2.en", "two\nthree\n")]
    targets = [write("1.de", "eins\n"), write("2.de", "zwei\n")]
    with pytest.raises(
        ValueError, match=r"2\.en has 2 lines but .*2\.de has 1: .*2\.de ends after line 1"
    ):
        read_parallel(sources, targets)


def test_lines_are_compared_shard_by_shard(write):
    sources = [write("1.en", "one\n"), write("2.en", "two\nthree\n")]
    targets = [write("1.de", "eins\nzwei\n"), write("2.de", "drei\n")]
    with pytest.raises(ValueError, match=r"1\.en has 1 lines but .*1\.de has 2"):
        read_parallel(sources, targets)


def test_unequal_numbers_of_shards_are_refused(write):
    path = write("text", "one\n")
    with pytest.raises(ValueError, match="equally many files, got 2 and 1"):
        read_parallel([path, path], path)
    with pytest.raises(ValueError, match="at least one path"):
        read_parallel([], [])


def test_every_missing_file_is_named_before_any_is_read(write, tmp_path):
    broken = write("broken.en", b"\xff\n")
    with pytest.raises(FileNotFoundError, match=r"x\.en.*y\.de"):
        read_parallel([broken, tmp_path / "x.en"], [broken, tmp_path / "y.de"])


def test_an_empty_corpus_names_its_files(write):
    with pytest.raises(ValueError, match=r"the corpus is empty: no line in .*a\.en.*a\.de"):
        read_parallel(write("a.en", ""), write("a.de", ""))
