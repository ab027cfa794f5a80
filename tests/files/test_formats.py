"""What holds for every format: nothing changes without a translation, and what is no such file is
refused.
"""

from collections.abc import Callable
from pathlib import Path

import pytest

from keras_transformer.files.codes import between_codes
from keras_transformer.files.formats import FORMATS, format_of, read_document
from keras_transformer.files.segments import Reading, Translation

SAMPLES = sorted((Path(__file__).resolve().parents[1] / "fixtures" / "files").iterdir())
GERMAN = Reading(language="de")


def read(path: Path):
    return read_document(path, GERMAN)


@pytest.fixture(params=["\n", "\r\n"], ids=["lf", "crlf"])
def ended(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[Path], Path]:
    """Copies a sample with the ends of its lines as they are, or as Windows has them."""

    def copy(path: Path) -> Path:
        data = path.read_bytes()
        is_packed = data.startswith(b"PK")
        changed = data if is_packed else data.replace(b"\n", request.param.encode())
        (tmp_path / path.name).write_bytes(changed)
        return tmp_path / path.name

    return copy


def test_every_format_has_a_sample() -> None:
    assert {format_of(path) for path in SAMPLES} | {"po"} == set(FORMATS)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_nothing_changes_without_a_translation(sample: Path, ended) -> None:
    path = ended(sample)
    assert read(path).written({}) == path.read_bytes()


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_a_translated_file_reads_as_its_translations(sample: Path, ended) -> None:
    path = ended(sample)
    document = read(path)
    texts = [[changed(text) for text in one.texts] for one in document.segments]
    found = {place: [Translation(one) for one in own] for place, own in enumerate(texts)}
    path.write_bytes(document.written(found))
    # Of a text beside its translation the latter is new, the other stays.
    before, after = document.segments, read(path).segments
    said = [one.given or one.texts for one in after]
    plain = [own for own in texts if all(len(between_codes(text)) == 1 for text in own)]
    assert len(said) == len(before)
    assert [list(one) for one in said if list(one) in plain] == plain


def changed(text: str) -> str:
    parts = between_codes(text)
    parts[::2] = [one.replace("e", "ü") for one in parts[::2]]
    return "".join(parts)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda path: path.name)
def test_places_are_told_by_lines(sample: Path) -> None:
    lines = [segment.line for segment in read(sample).segments]
    assert lines == sorted(lines) and lines[0] >= 1


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("data", [b"\x00\xff\xfe{", b'<a b="'], ids=["bytes", "torn"])
def test_what_is_no_such_file_is_refused_or_has_no_text(
    name: str, data: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "file"
    path.write_bytes(data)
    try:
        document = read_document(path, GERMAN, name)
    except ValueError as error:
        assert str(error).startswith(f"{path} cannot be read as {name}: ")
    else:
        assert document.written({}) == data


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.srt", "a.properties"])
def test_what_is_no_text_is_refused(name: str, translated) -> None:
    with pytest.raises(ValueError, match=r"it has a character of no text \(NUL\)"):
        translated(name, "Hello\nWorld\n".encode("utf-16-le"))


@pytest.mark.parametrize("name", ["a.json", "a.md", "a.srt"])
def test_a_text_without_a_translation_stays_and_is_told(translated, name: str) -> None:
    content = {
        "a.json": '{"a": "Open", "b": "Close"}',
        "a.md": "Open\n\nClose\n",
        "a.srt": "1\n00:00:01,000 --> 00:00:02,000\nOpen\n\n"
        "2\n00:00:03,000 --> 00:00:04,000\nClose\n",
    }[name]
    found = translated(
        name,
        content,
        lambda texts, _: [Translation(" " if one == "Open" else "ZU") for one in texts],
    )
    assert found.data.decode() == content.replace("Close", "ZU")
    assert [doubt.text for doubt in found.doubts] == ["Open"]


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.json", '["Open %s now", "b"]', " %s. "),
        ("a.json", '["Open %s now", "b"]', " "),
        ("a.html", "<p>Open <b>it</b></p>b\n", '<span data-code="1"></span data-code="1">'),
        ("a.md", "Open [it](a)\n\nb\n", "[](a)"),
    ],
)
def test_a_translation_of_spans_alone_is_none(name, content, said, translated) -> None:
    found = translated(
        name,
        content,
        lambda texts, _: [Translation("C" if one == "b" else said) for one in texts],
    )
    assert found.data.decode() == content.replace("b\n", "C\n").replace('"b"', '"C"')
    assert [doubt.text.split()[0] for doubt in found.doubts] == ["Open"]


@pytest.mark.parametrize(("text", "said"), [("one %s", "1 %s"), ("and", "&"), ("%s - 1", "%s")])
def test_a_translation_without_a_letter_may_say_something(text, said, translated) -> None:
    found = translated("a.json", f'["{text}"]', lambda texts, _: [Translation(said)])
    assert found.data.decode() == f'["{said}"]'
