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


@pytest.mark.parametrize("blank", ["", "\n"])
@pytest.mark.parametrize(
    "times",
    [
        "00:00:05.000 -> 00:00:06,000",
        "00:00:05,000 00:00:06,000",
        "00:00:05:000 --> 00:00:06:000",
        "00:00:05,000 --> 6,000",
    ],
)
def test_a_cue_of_a_wrong_time_stays_and_is_told(times: str, blank: str, translated) -> None:
    cues = [f"{n}\n00:00:0{n},000 --> 00:00:0{n},900\n{{}}\n" for n in (1, 2, 3)]
    cues[1] = f"2\n{times}\nb\n"
    source = blank.join(cues)
    outcome = translated("a.srt", source.format("a", "c"))
    assert outcome.data.decode() == source.format("A", "C")
    [warning] = outcome.warnings
    line = source[: source.index(times)].count("\n") + 1
    assert warning.startswith(f"line {line}: {times!r} belongs to no cue")


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("a.srt", SRT.replace("{}", "a\n\nb c"), "line 5: 'b c' belongs to no cue"),
        ("a.srt", SRT + "\nnot a time\nd\n", "line 9: 'not a time' belongs to no cue"),
        ("a.vtt", VTT + "\nx\n00:03.000 -> 00:04.000\nb\n", "line 9: '00:03.000 -> 00:04.000'"),
        ("a.vtt", "\ufeff" + VTT + "\nb\n\nc\n00:03.000 --> 00:04.000\nd\n", "line 8: 'b'"),
        ("a.ass", ASS + "Dialogue: 0:00:03.00,b\n", "line 4: 'Dialogue: 0:00:03.00,b' is no line"),
        ("a.ass", ASS + "\nb\n\n[Fonts]\nc\n", "line 5: 'b' is no line of Dialogue"),
    ],
)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_what_belongs_to_no_cue_is_told(name, text, line, end, translated) -> None:
    [warning] = translated(name, text.replace("\n", end)).warnings
    assert warning.startswith(line)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.srt", SRT + "\n3\n00:00:05,000 --> 00:00:06,000\n\n4\n"),
        ("a.srt", SRT.replace("{}", "from 10:30 - 11:45")),
        ("a.vtt", "\ufeffWEBVTT - a\nKind: b\n\nSTYLE\nc\n\nREGION\nid:d\n" + VTT[6:] + "\nNOTE e"),
        ("a.vtt", VTT + "\nb\n00:03.000 --> 00:04.000\n\nc\n00:05.000 --> 00:06.000\nd\n"),
        ("a.ass", "[Script Info]\na: b\n\n" + ASS + "; c\nformat: d\n\n[Fonts]\ne\n"),
        ("a.srt", SRT.replace("03,000 --> 00:00:04", "02,000 --> 00:00:04")),
        ("a.ass", ASS + ASS.splitlines()[-1] + "\n"),
    ],
)
def test_what_belongs_to_no_cue_by_the_format_is_not_told(name, text, translated) -> None:
    assert translated(name, text).warnings == []


@pytest.mark.parametrize(
    ("seconds", "warning"),
    [
        ((1, 3, 5), []),
        ((1, 2, 5), ["line 6: this cue begins before the one above it has ended."]),
        ((1, 1, 2), ["line 6: this cue begins before the one above it has ended, as do 1 more."]),
    ],
)
def test_cues_that_overlap_are_told_in_one_line(seconds, warning, translated) -> None:
    cues = [f"{n}\n00:00:0{n},000 --> 00:00:0{n + 1},500\na\n\n" for n in seconds]
    assert translated("a.srt", "".join(cues)).warnings == warning
