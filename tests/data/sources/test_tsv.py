"""read_tsv: columns, shards, errors with file and line."""

import gzip

import pytest

from keras_transformer.data.sources.streams import TsvFiles
from keras_transformer.data.sources.tsv import read_tsv


@pytest.fixture
def write(tmp_path):
    def write_file(name, text):
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write_file


def test_the_first_two_columns_are_the_default(write):
    pairs = read_tsv(write("a.tsv", "one\teins\ntwo\tzwei\n"))
    assert list(pairs.source) == ["one", "two"]
    assert list(pairs.target) == ["eins", "zwei"]
    assert "a.tsv" in pairs.origin


def test_columns_are_chosen_by_number(write):
    pairs = read_tsv(write("a.tsv", "1\teins\tone\n2\tzwei\ttwo\n"), 2, 1)
    assert list(pairs.source) == ["one", "two"]
    assert list(pairs.target) == ["eins", "zwei"]


def test_shards_are_joined_and_may_be_packed_and_differ_in_columns(write):
    pairs = read_tsv([write("1.tsv.gz", "one\teins\n"), write("2.tsv", "two\tzwei\tnote\n")])
    assert list(pairs.source) == ["one", "two"]


def test_quotes_and_unicode_line_separators_are_text(write):
    pairs = read_tsv(write("a.tsv", '"one\teins"\na\u2028b\tc\x85d\n'))
    assert list(pairs.source) == ['"one', "a\u2028b"]
    assert list(pairs.target) == ['eins"', "c\x85d"]


def test_too_few_columns_name_file_and_line(write):
    path = write("a.tsv", "one\teins\ntwo\nthree\tdrei\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: expected at least 2 columns .* got 1"):
        read_tsv(path)


def test_more_columns_than_the_first_line_name_file_and_line(write):
    path = write("a.tsv", "one\teins\ntwo\tzwei\tand more\n")
    with pytest.raises(ValueError, match=r"a\.tsv, line 2: expected 2 columns as in line 1, got 3"):
        read_tsv(path)


@pytest.mark.parametrize("is_stream", [False, True])
def test_lines_of_other_widths_are_named_together(write, is_stream):
    path = write("a.tsv", "one\teins\ntwo\n\na\tb\tc\nthree\tdrei\n" + "more\n" * 9)
    with pytest.raises(ValueError, match="cannot be read") as refused:
        list(TsvFiles((path,)).pairs()) if is_stream else read_tsv(path)
    few = "expected at least 2 columns separated by tabs, got 1"
    assert str(refused.value).split("; ") == [
        f"11 lines cannot be read: {path}, line 2: {few}",
        "line 4: expected 2 columns as in line 1, got 3",
        *(f"line {number}: {few}" for number in range(6, 14)),
        "and 1 more",
        "check source_column=0 and target_column=1",
        "a tab inside a text must become a space",
    ]


@pytest.mark.parametrize("columns", [(1, 1), (-1, 0)])
def test_columns_must_be_two_different_numbers_from_zero(write, columns):
    with pytest.raises(ValueError, match="two different numbers from 0, got"):
        read_tsv(write("a.tsv", "one\teins\n"), *columns)


def test_empty_and_missing_files_are_named(write, tmp_path):
    with pytest.raises(ValueError, match=r"the corpus is empty: no line in .*a\.tsv"):
        read_tsv(write("a.tsv", ""))
    with pytest.raises(FileNotFoundError, match=r"absent\.tsv"):
        read_tsv([tmp_path / "a.tsv", tmp_path / "absent.tsv"])
