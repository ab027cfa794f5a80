"""Markdown and plain text: which lines are texts, and what is left alone."""

import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from keras_transformer.files.documents.markdown import MarkdownDocument
from keras_transformer.files.segments import Reading, Translation

# Without the rules that the reader adds to it.
PARSER = MarkdownIt("commonmark").enable("table")
LINES = st.lists(
    st.sampled_from(
        ["word", "# head", "> quote", "- entry", "  more", "", "```", "| a | b |", "|---|---|"]
        + ["1. one", "    code", "---", "word  ", "***", "=====", "[a]: b", "* [x] task", "\t"]
        + ["#", ">     k", "> - q", "- ```", "> ```", "   1) s", "\tq", "  \t> w", "a | b", "--|--"]
        + ["-", "a\\", "<div>", "</div>", "<p>t</p>", "<!-- c", "d -->", "<pre>", "</pre>", "~~~ x"]
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


def parsed(text: str) -> tuple[list[Any], list[str], list[str]]:
    """Returns what a parser sees in a text: its blocks, its code, and its words."""
    tokens = PARSER.parse(text)
    return (
        [(one.type, one.level, one.info) for one in tokens if one.type != "inline"],
        [one.content for one in tokens if one.type in ("fence", "code_block")],
        [part.content for one in tokens for part in one.children or () if part.type == "text"],
    )


@given(LINES)
def test_any_text_keeps_its_blocks_and_code_and_no_word_is_left(text: str) -> None:
    # The parser knows no values before a text, and no task.
    source = f"\n{text}".replace("[x]", "[X]")
    document = MarkdownDocument(source.encode(), Reading())
    found = {
        place: [Translation(one.texts[0].upper())] for place, one in enumerate(document.segments)
    }
    blocks, code, words = parsed(document.written(found).decode())
    assert (blocks, code) == parsed(source)[:2]
    assert [one for one in words if one.upper() != one] == []


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
        ("<div><pre>\na\n\nb\n</pre>c\n</div>\n", "<div><pre>\na\n\nb\n</pre>C\n</div>\n"),
        ("<!-- a\n\n# b\n--> c\n", "<!-- a\n\n# b\n--> C\n"),
        ("#\na\n", "#\nA\n"),
        ("a\n>     b\n", "A\n>     b\n"),
        ("> a\n[^n]: b\n\n    c\n", "> A\n[^n]: B\n\n    C\n"),
        ("a | b\n\tc\n|---|---|\n", "A | B\n\tC\n|---|---|\n"),
        ("a\n\n:   ```\n    b\n    ```\n\nc\n", "A\n\n:   ```\n    b\n    ```\n\nC\n"),
        (": a\n\n      b\n", ": A\n\n      b\n"),
        ("[a]: javascript:b\nc\n", "[a]: javascript:b\nC\n"),
        ("a\rb\r\r    c\r\rd", "A B\r\r    c\r\rD"),
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
    source = (Path(__file__).parents[3] / path).read_text(encoding="utf-8")
    # The parser knows no values before a text.
    front = source.index("\n---\n", 1) if source.startswith("---\n") else 0
    blocks, code, words = parsed(translated("a.md", source).data.decode()[front:])
    assert (blocks, code) == parsed(source[front:])[:2]
    assert [one for one in words if one.upper() != one] == []


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    ("values", "written"),
    [
        ("x: y\ntitle: a # b", "x: y\ntitle: A # b"),
        ("title: 'a'\nsub:\n  title: b", "title: 'A'\nsub:\n  title: b"),
        ("description: >-\n  a\n  b\ndate: 2020-01-01", "description: |-\n  A B\ndate: 2020-01-01"),
        ("title: {{ a }} b", "title: {{ a }} b"),
    ],
)
def test_title_and_description_before_a_text_are_translated(
    values: str, written: str, end: str, translated
) -> None:
    text, wanted = (f"---\n{one}\n---\n" for one in (values, written))
    outcome = translated("a.md", f"{text}b\n".replace("\n", end))
    assert outcome.data.decode() == f"{wanted}B\n".replace("\n", end)


def test_the_line_of_a_title_is_that_of_the_file() -> None:
    document = MarkdownDocument(b"---\na: b\ntitle: c\n---\nd\n", Reading())
    assert [(one.texts, one.line) for one in document.segments] == [(("c",), 3), (("d",), 5)]


def test_a_text_that_takes_too_long_is_refused() -> None:
    with pytest.raises(ValueError, match="it takes too long to read"):
        MarkdownDocument(b"- - - a\n" * 20_000, Reading(most_seconds=0.05))


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
        ("", "[^a]: ", "b"),
    ],
)
def test_a_long_line_takes_no_longer_than_its_length(begins, part, ends, translated) -> None:
    begun = time.process_time()
    translated("a.md", begins + part * 30_000 + ends)
    # Where each beginning were followed to the end of the line it were seconds.
    assert time.process_time() - begun < 1


def test_marks_of_code_without_an_end_are_text(translated) -> None:
    assert translated("a.md", "| ``a | b` |\n").data.decode() == "| ``A | B` |\n"
