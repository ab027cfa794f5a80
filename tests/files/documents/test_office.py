"""Files of office programs: paragraphs, formats inside them, and all else in the archive."""

import io
import zipfile
from pathlib import Path

import pytest

from keras_transformer.files.segments import Translation

SAMPLES = Path(__file__).resolve().parents[2] / "fixtures" / "files"
RUNS = '<w:r><w:rPr><w:b/></w:rPr><w:t xml:space="preserve">BOLD</w:t></w:r>'


def parts(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


WORD, SLIDE, OPEN = "word/document.xml", "ppt/slides/slide1.xml", "content.xml"
SPAN = '<text:span text:style-name="T1">BOLD</text:span>'


@pytest.mark.parametrize(
    ("name", "part", "written"),
    [
        ("letter.docx", WORD, '<w:t xml:space="preserve">THE FIRST HEADING</w:t>'),
        ("letter.docx", WORD, f"SOME </w:t></w:r>{RUNS}<w:r><w:t "),
        ("letter.docx", WORD, '<w:r><w:tab/></w:r><w:r><w:t xml:space="preserve">MORE'),
        ("talk.pptx", SLIDE, '<a:r><a:rPr b="1"/><a:t>TITLE</a:t></a:r><a:br/>'),
        ("letter.odt", OPEN, f"SOME {SPAN} TEXT<text:note"),
        ("letter.odt", OPEN, "<text:p>THE NOTE</text:p>"),
        ("letter.odt", OPEN, "<text:p>gone</text:p>"),
    ],
)
def test_paragraphs_are_written_with_their_formats(name, part, written, translated) -> None:
    before = (SAMPLES / name).read_bytes()
    after = translated(name, before).data
    assert written in parts(after)[part].decode()
    changed = {key for key, data in parts(after).items() if data != parts(before)[key]}
    assert changed == {part}
    assert list(parts(after)) == list(parts(before))


def test_a_type_that_must_stand_first_and_plain_stays_so(translated) -> None:
    data = translated("letter.odt", (SAMPLES / "letter.odt").read_bytes()).data
    assert data[30:38] == b"mimetype" and data[38:77].endswith(b".text")


def test_where_formats_are_lost_the_texts_between_them_are_translated(translated) -> None:
    def without_codes(texts, profile):
        return [Translation(text.partition("<")[0].upper()) for text in texts]

    outcome = translated("letter.docx", (SAMPLES / "letter.docx").read_bytes(), without_codes)
    assert RUNS in parts(outcome.data)["word/document.xml"].decode()
    assert [one.line for one in outcome.doubts] == [2]


def test_the_text_of_a_control_is_translated(translated) -> None:
    control = "<w:sdt><w:sdtPr/><w:sdtContent><w:r><w:t{}</w:t></w:r></w:sdtContent></w:sdt>"
    page = "<w:document><w:p><w:r><w:t>a </w:t></w:r>{}<w:r><w:t> c</w:t></w:r></w:p></w:document>"
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr(WORD, page.format(control.format(">b")))
    said = control.format(' xml:space="preserve">B')
    assert said in parts(translated("a.docx", written.getvalue()).data)[WORD].decode()


def test_a_field_stays_whole(translated) -> None:
    run = '<w:r><w:fldChar w:fldCharType="{}"/></w:r>'
    field = run.format("begin") + "<w:r><w:instrText>PAGE</w:instrText></w:r>"
    field += run.format("separate") + "<w:r><w:t>one</w:t></w:r>" + run.format("end")
    page = f"<w:document><w:p><w:r><w:t>see </w:t></w:r>{field}</w:p></w:document>"
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("word/document.xml", page)
    outcome = translated("a.docx", written.getvalue())
    said = field.replace("<w:t>one", '<w:t xml:space="preserve">ONE')
    assert said in parts(outcome.data)["word/document.xml"].decode()


@pytest.mark.parametrize("data", [b"text", b"PK\x03\x04torn"])
def test_what_is_no_archive_is_refused(data: bytes, translated) -> None:
    with pytest.raises(ValueError, match="it is no archive of an office program"):
        translated("a.docx", data)


def test_an_archive_of_something_else_is_refused(translated) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("a.txt", "a")
    with pytest.raises(ValueError, match="an archive without a text, a slide or a sheet"):
        translated("a.docx", written.getvalue())


def test_a_damaged_picture_is_told_before_anything_is_translated(translated) -> None:
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("word/document.xml", "<d><p><r><t>a</t></r></p></d>")
        archive.writestr("word/media/a.png", "picture")
    with pytest.raises(ValueError, match=r"word/media/a\.png in it is damaged"):
        translated("a.docx", written.getvalue().replace(b"picture", b"torn...", 1))


def test_an_archive_that_would_fill_the_memory_is_refused(translated, monkeypatch) -> None:
    monkeypatch.setattr("keras_transformer.files.documents.office._MOST_BYTES", 10_000)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", "<p></p>" + " " * 100_000)
    with pytest.raises(ValueError, match="it holds 100,007 bytes once unpacked"):
        translated("a.docx", written.getvalue())


def test_headers_and_footers_of_opendocument_are_translated_last(translated) -> None:
    styles = (
        '<o:document-styles xmlns:o="o" xmlns:s="s" xmlns:t="t"><s:style><t:p>kept</t:p></s:style>'
        "<s:header><t:p>page <t:page-number>1</t:page-number></t:p></s:header>"
        "<s:footer-left><t:p>{}</t:p></s:footer-left></o:document-styles>"
    )
    content = '<o:document-content xmlns:o="o" xmlns:t="t"><t:p>text</t:p></o:document-content>'
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        archive.writestr("styles.xml", styles.format("end"))
        archive.writestr("content.xml", content)

    def doubtful(texts, profile):
        return [Translation(f"A {text}", is_doubtful=text == "end") for text in texts]

    outcome = translated("a.odt", written.getvalue(), doubtful)
    wanted = styles.format("A end").replace("page <t", "A page <t")
    assert parts(outcome.data)["styles.xml"].decode() == wanted
    assert [one.line for one in outcome.doubts] == [3]
