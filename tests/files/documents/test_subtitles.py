"""Subtitles: cues, their lines and tags, and what viewers cannot read."""

import pytest

from keras_transformer.files.segments import Translation

SRT = "1\n00:00:01,000 --> 00:00:02,000\n{}\n\n2\n00:00:03,000 --> 00:00:04,500\nb\n"
VTT = "WEBVTT\n\nNOTE a\n\n00:01.000 --> 00:02.000 align:start\n{}\n"
ASS = "[Events]\nComment: 0,0:00:00.00,0:00:01.00,a,,0,0,0,,a\n"
ASS += "Dialogue: 0,0:00:01.00,0:00:02.00,a,,0,0,0,,{}\n"


@pytest.mark.parametrize(
    ("name", "cues", "text", "written"),
    [
        ("a.srt", SRT, "<i>a\nb</i>", "<i>A B</i>"),
        ("a.srt", SRT, "- a\n- b", "- A\n- B"),
        ("a.srt", SRT, "{\\an8}a", "{\\an8}A"),
        ("a.vtt", VTT, "<v Ann>a &amp; b</v>", "<v Ann>A &amp; B</v>"),
        ("a.ass", ASS, r"{\i1}a, b{\i0}\Nc", r"{\i1}A, B{\i0} C"),
        ("a.ass", ASS, r"- a\N- b", r"- A\N- B"),
        ("a.ass", ASS, r"{\p1}m 0 0", r"{\p1}m 0 0"),
    ],
)
def test_texts_are_written_in_their_cues(name, cues, text, written, translated) -> None:
    found = translated(name, cues.replace("{}", text)).data.decode()
    assert found == cues.replace("{}", written).replace("\nb\n", "\nB\n")


def test_a_long_text_is_parted_in_lines_of_about_one_length(translated) -> None:
    text = "this is what somebody says who has very much to say"
    outcome = translated("a.srt", SRT.replace("{}", text))
    assert b"\nTHIS IS WHAT SOMEBODY SAYS\nWHO HAS VERY MUCH TO SAY\n\n2\n" in outcome.data


@pytest.mark.parametrize(
    ("text", "warning"),
    [
        ("short enough", []),
        ("more than can be read", ["line 3: 21 characters a second, 20 at most can be read"]),
        ("word " * 20, ["line 3: 3 lines, 2 at most can be read"]),
        ("w" * 43, ["line 3: a line of 43 characters, 42 at most can be read"]),
    ],
)
def test_what_cannot_be_read_in_its_time_is_told(text, warning, translated) -> None:
    def said(texts, profile):
        return [Translation(text if one == "a" else "b") for one in texts]

    assert translated("a.srt", SRT.replace("{}", "a"), said).warnings == warning


def test_a_file_without_cues_is_refused(translated) -> None:
    with pytest.raises(ValueError, match="it has no cue: a time, -->"):
        translated("a.srt", "a\n")


@pytest.mark.parametrize("blank", ["", "\n"])
@pytest.mark.parametrize("arrow", ["-->", " --> "])
def test_times_and_numbers_stay_without_blank_lines(blank: str, arrow: str, translated) -> None:
    cues = [f"{n}\n00:00:0{n},000{arrow}00:00:0{n},900\n{{}}\n" for n in (1, 2, 3)]
    source = blank.join(cues)
    written = translated("a.srt", source.format("a", "b", "c")).data.decode()
    assert written == source.format("A", "B", "C")
