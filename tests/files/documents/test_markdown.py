"""Markdown and plain text: which lines are texts, and what is left alone."""

import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from keras_transformer.files.documents.markdown import MarkdownDocument
from keras_transformer.files.segments import Reading, Translation

LINES = st.lists(
    st.sampled_from(
        ["word", "# head", "> quote", "- entry", "  more", "", "```", "| a | b |", "|---|---|"]
        + ["1. one", "    code", "---", "word  ", "***", "=====", "[a]: b", "* [x] task", "\t"]
    )
).map("\n".join)


@given(LINES)
def test_each_text_is_translated_once(text: str) -> None:
    document = MarkdownDocument(text.encode(), Reading())
    found = {
        place: [Translation(one.texts[0].upper())] for place, one in enumerate(document.segments)
    }
    written = document.written(found).decode()
    assert written.upper().split() == text.upper().replace("\n>", "\n").split() or ">" in text
    assert document.written({}).decode() == text


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("# a #\n", "# A #\n"),
        ("a\nb\n\nc\n", "A B\n\nC\n"),
        ("> a\n> b\n>\n> c\n", "> A B\n>\n> C\n"),
        ("* a\n  b\n* [ ] c\n10. d\n", "* A B\n* [ ] C\n10. D\n"),
        ("a  \nb\\\nc\n", "A  \nB\\\nC\n"),
        ("a\n===\nb\n---\n", "A\n===\nB\n---\n"),
        ("| a | `b|c` |\n|--|:-:|\n| 1 | d |\n", "| A | `b|c` |\n|--|:-:|\n| 1 | D |\n"),
        ("```\na\n```\n~~~x\nb\n~~~\nc\n", "```\na\n```\n~~~x\nb\n~~~\nC\n"),
        ("1. ```x\n   a\n   ```\nb\n", "1. ```x\n   a\n   ```\nB\n"),
        ("- c\n\t```\n\ta\n\t```\nb\n", "- C\n\t```\n\ta\n\t```\nB\n"),
        ("```\n```x\na\n```\nb\n", "```\n```x\na\n```\nB\n"),
        ("```a``` b\n\nc\n", "```a``` B\n\nC\n"),
        ("<pre>\n a\n</pre>\nb\n", "<pre>\n a\n</pre>\nB\n"),
        ("<script>\na()\n</script>\nb\n", "<script>\na()\n</script>\nB\n"),
        ("<!--\na\n-->\nb\n", "<!--\na\n-->\nB\n"),
        ("a\n\n    b\n", "A\n\n    b\n"),
        ("---\nt: a\n---\nb\n", "---\nt: a\n---\nB\n"),
        ("[a]: http://b.c\n<!-- d -->\n***\n", "[a]: http://b.c\n<!-- d -->\n***\n"),
        ("[a](b) *c* `d`\n", "[A](b) *C* `d`\n"),
        ("> [!NOTE]\n> a\n> b\n", "> [!NOTE]\n> A B\n"),
        ("> [!tip]- a\n> b\n", "> [!tip]- A\n> B\n"),
        ("a\nb\n: c\n  d\n: e\n\n    f\n", "A\nB\n: C D\n: E\n\n    F\n"),
        ("a[^n].\n\n[^n]: b\nc\n\n    d\n", "A[^n].\n\n[^n]: B C\n\n    D\n"),
        ("[^n]: a\n\n        b\n\n    c\n", "[^n]: A\n\n        b\n\n    C\n"),
        ("[a]:\n  b/c\n[d]: <e> 'f g'\nh\n", "[a]:\n  b/c\n[d]: <e> 'f g'\nH\n"),
        ("[a]: b c d\n", "[A]: B C D\n"),
        ("[a]:\nb c d\n", "[a]:\nB C D\n"),
        ("- a\n\n    b\n\n      c\n", "- A\n\n    B\n\n      c\n"),
        ("- a\n-\n- b\n", "- A\n-\n- B\n"),
        ("- a\n  1. b\n\n     c\n", "- A\n  1. B\n\n     C\n"),
        ("> > a\n> > b\n> c\n", "> > A B\n> C\n"),
        ("> ```\n> a\n\nb\n", "> ```\n> a\n\nB\n"),
        ("```\n> ```\na\n```\nb\n", "```\n> ```\na\n```\nB\n"),
        ("- > ```\n  > a\n  > ```\n  > b\n", "- > ```\n  > a\n  > ```\n  > B\n"),
        ("1. ```\n   a\nb\n", "1. ```\n   a\nB\n"),
        ("# a\n    b\n", "# A\n    b\n"),
        ("a\nb\n=\nc\n---  \n", "A B\n=\nC\n---  \n"),
        ("a | b\n--|:-:\nc | d\ne\n", "A | B\n--|:-:\nC | D\nE\n"),
        ("a | b | c\nd\n", "A | B | C D\n"),
        ("<kbd>\na\n</kbd>\n", "<kbd>\nA\n</kbd>\n"),
        ("<p>a</p>\n<p>b\nc</p>\n", "<p>A</p>\n<p>B C</p>\n"),
        ("<details>\n<summary>a</summary>\n\nb\n", "<details>\n<summary>A</summary>\n\nB\n"),
        ('<img\n  src="a"\n  alt="b">\n', '<img\n  src="a"\n  alt="b">\n'),
    ],
)
def test_texts_are_written_between_their_marks(text: str, written: str, translated) -> None:
    assert translated("a.md", text).data.decode() == written


@pytest.mark.parametrize(
    "path",
    ["tests/fixtures/files/guide.md", "README.md", "CONTRIBUTING.md", "docs/files.md"],
)
def test_a_parser_of_markdown_finds_the_same_blocks_and_no_other_text(
    path: str, translated
) -> None:
    markdown_it = pytest.importorskip("markdown_it")
    parser = markdown_it.MarkdownIt("commonmark").enable("table")
    source = (Path(__file__).parents[3] / path).read_text(encoding="utf-8")
    # The parser knows no values before a text.
    front = source.index("\n---\n", 1) if source.startswith("---\n") else 0
    tokens = [
        parser.parse(text[front:]) for text in (source, translated("a.md", source).data.decode())
    ]
    before, after = [
        [(one.type, one.level, one.info) for one in own if one.type != "inline"] for own in tokens
    ]
    assert before == after
    codes = [[one.content for one in own if one.type in ("fence", "code_block")] for own in tokens]
    assert codes[0] == codes[1]
    inlines = [part for one in tokens[1] for part in one.children or () if part.type == "text"]
    assert [one.content for one in inlines if one.content.upper() != one.content] == []


def test_plain_text_goes_line_by_line(translated) -> None:
    assert translated("a.txt", "  a b \r\n\r\n12\r\nc").data == b"  A B \r\n\r\n12\r\nC"


def test_a_dash_before_empty_cells_is_read_fast(translated) -> None:
    empty = "|          " * 12
    assert translated("a.md", f"| - {empty}| a |\n").data.decode() == f"| - {empty}| A |\n"


@pytest.mark.parametrize(
    ("begins", "part", "ends"),
    [
        ("", " ", "a"),
        ("", "> ", "a"),
        ("a", " ", "b"),
        ("# a", " ", "b"),
        ("", "`", "|`a"),
        ("", "- ", "a"),
        ("", ": ", "a"),
        ("-", " ", "a"),
        ("[a]: b", " ", "c"),
        ("[", "a", "]: b c"),
        ("<", "a ", "b"),
        ("a ", "<p>", "b"),
        ("a | b\n", "-|", "b"),
        ("|", "`", "|"),
    ],
)
def test_a_long_line_takes_no_longer_than_its_length(begins, part, ends, translated) -> None:
    begun = time.process_time()
    translated("a.md", begins + part * 30_000 + ends)
    # Where each beginning were followed to the end of the line it were seconds.
    assert time.process_time() - begun < 1


def test_marks_of_code_without_an_end_are_text(translated) -> None:
    assert translated("a.md", "| ``a | b` |\n").data.decode() == "| ``A | B` |\n"
