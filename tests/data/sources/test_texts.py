"""Plain and labelled texts: what is read, and what is refused by file and line."""

import gzip
from pathlib import Path
from typing import Any

import pytest

from keras_transformer.data.sources.json_lines import read_json_labelled
from keras_transformer.data.sources.tables.labelled import read_labelled
from keras_transformer.data.sources.texts import (
    LabelledCorpus,
    LabelledTexts,
    TextCorpus,
    Texts,
    read_texts,
)


def test_plain_and_packed_files_are_read_in_order(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo\n", encoding="utf-8")
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"drei\n"))
    texts = read_texts([tmp_path / "a.txt", tmp_path / "b.gz"])
    assert texts.lines == ("one", "", "two", "drei")


def test_a_file_without_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("\n \n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"the corpus is empty: no text in .*a\.txt"):
        read_texts(tmp_path / "a.txt")


@pytest.mark.parametrize("given", [{"train": ["a"]}, {"train": Texts(["a"], "a"), "valid": []}])
def test_a_list_is_no_corpus(given: dict[str, Any]) -> None:
    message = "TextCorpus.(train|valid) must be a Texts object, got list. Wrap a list of texts in"
    with pytest.raises(TypeError, match=message):
        TextCorpus(**given)


def test_labelled_texts_and_pairs(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_text("b\tone\na\ttwo\n", encoding="utf-8")
    (tmp_path / "p.tsv").write_text("b\tone\tuno\na\ttwo\tdos\n", encoding="utf-8")
    single, pairs = read_labelled(tmp_path / "a.tsv"), read_labelled(tmp_path / "p.tsv")
    assert (single.labels, single.first, single.second) == (("b", "a"), ("one", "two"), None)
    assert single.classes == ("a", "b")
    assert pairs.second == ("uno", "dos")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("no tab", "expected label<TAB>text, got no tab"),
        ("\ttext", "the label before the tab is empty"),
        ("b\t", "the text after the label is empty"),
        ("b\tone\ttwo", "expected 2 columns as in the first line, got 3"),
        ("b\tone\ttwo\tthree", "got 4 columns"),
    ],
)
def test_a_bad_line_is_named(tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "a.tsv"
    path.write_text(f"a\tone\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=f"a.tsv, line 2: .*{message}"):
        read_labelled(path)


def test_bad_lines_are_named_together(tmp_path: Path) -> None:
    one, other = tmp_path / "a.tsv", tmp_path / "b.tsv"
    one.write_text("no tab\na\tone\nb\t\n" + "\ttext\n" * 8, encoding="utf-8")
    other.write_text("a\tb\tc\td\nb\tgood\n" + "a\t\n" * 11, encoding="utf-8")
    with pytest.raises(ValueError, match="cannot be read") as refused:
        read_labelled([one, other])
    assert str(refused.value).split("; ") == [
        f"22 lines cannot be read: {one}, line 1: expected label<TAB>text, got no tab",
        "line 3: the text after the label is empty",
        *(f"line {number}: the label before the tab is empty" for number in range(4, 12)),
        "and 12 more",
    ]
    one.write_text("a\t\n", encoding="utf-8")
    with pytest.raises(ValueError, match="13 lines cannot be read") as refused:
        read_labelled([one, other])
    named = str(refused.value)
    assert f": {one}, line 1: the text" in named and f"; {other}, line 1: expected label" in named
    assert named.count("line ") == 10 and named.endswith("; and 3 more")


def test_one_class_only_is_refused() -> None:
    with pytest.raises(ValueError, match="two or more labels, and here has only 'a'"):
        LabelledCorpus(LabelledTexts(["a", "a"], ["x", "y"], None, "here"))


def test_a_label_that_training_lacks_is_refused() -> None:
    train = LabelledTexts(["a", "b"], ["x", "y"], None, "train.tsv")
    valid = LabelledTexts(["a", "c"], ["x", "y"], None, "valid.tsv")
    with pytest.raises(ValueError, match="not among .*, 'a', 'b': 'c' .valid.tsv, text 2"):
        LabelledCorpus(train, valid)


def test_labels_that_training_lacks_are_named_together() -> None:
    train = LabelledTexts(["a", "b"], ["x", "y"], None, "train.tsv")
    found = ["c", "a", "d", "c", *map(str, range(10))]
    valid = LabelledTexts(found, found, None, "here", files=[("v.tsv", range(2, 99))])
    with pytest.raises(ValueError, match="not among") as refused:
        LabelledCorpus(train, valid)
    assert str(refused.value) == (
        "12 labels are not among those of the training texts, 'a', 'b': "
        "'c' (2 texts, the first v.tsv, line 2), 'd' (v.tsv, line 4), "
        + ", ".join(f"'{number}' (v.tsv, line {number + 6})" for number in range(8))
        + " and 2 more"
    )


def test_a_label_that_training_lacks_is_named_by_its_line(tmp_path: Path) -> None:
    train = LabelledTexts(["a", "b"], ["x", "y"], None, "train.tsv")
    first, second = tmp_path / "first.csv", tmp_path / "second.tsv"
    first.write_text('text,label\n\n"x\ny",a\n', encoding="utf-8")
    second.write_text("b\tx\n\nc\tz\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"not among .*: 'c' \(.*second\.tsv, line 3\)"):
        LabelledCorpus(train, read_labelled([first, second]))
    first.write_text('text,label\n\n"x\ny",a\nz,c\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"not among .*: 'c' \(.*first\.csv, line 5\)"):
        LabelledCorpus(train, read_labelled([first, second]))
    objects = tmp_path / "valid.jsonl"
    objects.write_text('\n{"label": "a", "text": "x"}\n{"label": "c", "text": "x"}\n')
    with pytest.raises(ValueError, match=r"not among .*: 'c' \(.*valid\.jsonl, line 3\)"):
        LabelledCorpus(train, read_json_labelled(objects))


def test_pairs_beside_single_texts_are_refused() -> None:
    train = LabelledTexts(["a", "b"], ["x", "y"], None, "train.tsv")
    valid = LabelledTexts(["a"], ["x"], ["z"], "valid.tsv")
    with pytest.raises(ValueError, match="must both hold single texts or both hold pairs"):
        LabelledCorpus(train, valid)


def test_one_string_is_no_sequence_of_texts() -> None:
    with pytest.raises(TypeError, match="a sequence of texts, got one string: 'abc'"):
        Texts("abc", "here")
