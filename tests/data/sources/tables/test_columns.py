"""Headers, quotes, CSV and blank lines of tables: recognised, said, and nothing is lost."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.data.sources.streams import TsvFiles, describe_text
from keras_transformer.data.sources.tables.labelled import read_labelled
from keras_transformer.data.sources.tsv import read_tsv


@pytest.fixture
def write(tmp_path: Path) -> Any:
    def write_file(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
        return path

    return write_file


def rows(path: Path) -> list[tuple[str, ...]]:
    found = read_labelled(path)
    return list(zip(found.labels, found.first, strict=True))


PLAIN = [("pet", "a dog"), ("food", "a pie")]


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.tsv", "pet\ta dog\nfood\ta pie\n", ""),
        ("a.tsv", "label\ttext\npet\ta dog\nfood\ta pie\n", "(label, text) names the columns"),
        ("a.tsv", "\n\nLabel\tText\npet\ta dog\nfood\ta pie\n", "line 3 (Label, Text) names"),
        ("a.tsv", "text\tlabel\na dog\tpet\na pie\tfood\n", "of which label, text are read"),
        ("a.tsv", "id\ttext\tlabel\n1\ta dog\tpet\n2\ta pie\tfood\n", "are read, and id not"),
        # As pandas writes its index.
        ("a.csv", ",text,label\n0,a dog,pet\n1,a pie,food\n", "are read, and one not"),
        ("a.tsv", '"pet"\t"a dog"\n"food"\t"a pie"\n', "fields are in quotes"),
        ("a.tsv", 'pet\t"a dog"\nfood\t"a pie"\n', "fields are in quotes"),
        ("a.csv", "pet,a dog\nfood,a pie\n", "read as CSV, with commas"),
        ("a.csv.gz", 'label;text\npet;a dog\nfood;"a pie"\n', "read as CSV, with semicolons"),
        ("A.CSV", '"label","text"\r\n"pet","a dog"\r\n"food","a pie"\r\n', "names the columns"),
    ],
)
def test_headers_and_quotes_are_recognised_and_said(write, name: str, text: str, said: str) -> None:
    path = write(name, text)
    assert [row for row in rows(path) if any(row)] == PLAIN
    notes = "\n".join(read_labelled(path).notes)
    assert said in notes and bool(said) == bool(notes)


@pytest.mark.parametrize(
    ("text", "expected", "said"),
    [
        # A label that is called label.
        ("label\ttext\nlabel\ta tag\npet\ta dog\n", [("label", "text"), ("label", "a tag")], ""),
        ("label\ta tag\npet\ta dog\n", [("label", "a tag")], "is read as a text"),
        # Texts that begin with a quote mark, end with one, or are all of one quotation.
        ('a\t"Hello," she said.\nb\tHe left.\n', [("a", '"Hello," she said.')], "the marks stay"),
        ('a\t"Hello."\nb\tHe left.\n', [("a", '"Hello."'), ("b", "He left.")], "the marks stay"),
        ('a\t5" pipe\nb\the said "no"\n', [("a", '5" pipe'), ("b", 'he said "no"')], ""),
        ('a\t"one\nb\ttwo"\n', [("a", '"one'), ("b", 'two"')], "the marks stay"),
        ('a\t"only one"\n', [("a", '"only one"')], "the marks stay"),
    ],
)
def test_what_only_looks_like_it_is_kept(write, text: str, expected: Any, said: str) -> None:
    path = write("a.tsv", text)
    assert rows(path)[: len(expected)] == expected
    assert len(rows(path)) == text.count("\n")
    notes = "\n".join(read_labelled(path).notes)
    assert said in notes and bool(said) == bool(notes)


@pytest.mark.parametrize("name", ["a.csv", "a.tsv"])
def test_line_ends_and_separators_in_quotes_are_kept(write, name: str) -> None:
    between = "," if name == "a.csv" else "\t"
    lines = [f'pet{between}"a{between}dog\nand ""more"""', f"food{between}a pie"]
    assert rows(write(name, "\n".join(lines) + "\n")) == [
        ("pet", f'a{between}dog\nand "more"'),
        ("food", "a pie"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('a,"one\nb,two\n', r"a\.csv, line 2: not CSV .*doubled"),
        ('a,"one" more\n', r"a\.csv, line 1: not CSV"),
        (
            "a,one\nb,two, three\n",
            r"a\.csv, line 2: expected 2 columns as in the first line, got 3",
        ),
        ("one\ntwo\n", r"a\.csv, line 1: expected label,text, got no comma"),
        ("label,title,text,body\na,b,c,d\n", r"a\.csv, line 1: the columns title, text, body"),
        ("label,text\na\n", r"a\.csv, line 2: expected 2 columns as the first line names, got 1"),
        # Shorter than the place of the label.
        ("id,text,label\n1\n", r"a\.csv, line 2: expected 3 columns .* names, got 1"),
        ("id,text,label\n1,a,\n", r"a\.csv, line 2: the label in column 'label' is empty"),
        ("label,title,text\na,b,\n", r"a\.csv, line 2: the text in column 'text' is empty"),
    ],
)
def test_what_is_no_csv_is_named(write, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_labelled(write("a.csv", text))


def test_blank_lines_have_no_label_and_are_kept_for_the_count(write) -> None:
    found = read_labelled(write("a.tsv", "pet\ta dog\n\n \t\nfood\ta pie\n\n"))
    assert found.classes == ("food", "pet") and found.label_counts == {"pet": 1, "food": 1}
    assert (len(found), found.filled) == (5, (0, 3))
    assert found.without_blank_lines().first == ["a dog", "a pie"]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.tsv", "one\teins\n\ntwo\tzwei\n"),
        ("a.tsv", "source\ttarget\none\teins\n\ntwo\tzwei\n"),
        ("a.tsv", "en\tde\none\teins\n\ntwo\tzwei\n"),
        ("a.tsv", '"one"\t"eins"\n\n"two"\t"zwei"\n'),
        ("a.csv", "text,second_text\none,eins\n\ntwo,zwei\n"),
    ],
)
def test_pairs_are_read_alike_and_counted_for_preparing(write, name: str, text: str) -> None:
    path = write(name, text)
    pairs = read_tsv(path)
    found = list(zip(pairs.source, pairs.target, strict=True))
    assert found == [("one", "eins"), ("", ""), ("two", "zwei")]
    stream = TsvFiles((path,))
    assert list(stream.pairs()) == found and stream.notes == pairs.notes
    assert stream.count({path: describe_text(path)}) == 3


def test_a_pair_that_looks_like_a_header_stays(write) -> None:
    assert read_tsv(write("a.tsv", "no\tnein\nen\tauf\n")).source == ("no", "en")


def test_a_pipe_is_read_once(tmp_path: Path) -> None:
    import os
    import threading

    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=('a\t"one"\nb\t"two"\n',))
    writer.start()
    assert rows(path) == [("a", "one"), ("b", "two")]
    writer.join()
