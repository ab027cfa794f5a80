"""Subtitles: `.srt`, `.vtt` and `.ass`."""

import itertools
import math
import re
from collections.abc import Iterator, Sequence

from keras_transformer.files.codes import Code, CodedText, without_codes, words_with_codes
from keras_transformer.files.segments import Copied, Edit, Reading, Segment
from keras_transformer.files.text_document import TextDocument

# What viewers can read, as broadcasters have it.
_LINE_LENGTH, _LINES, _RATE = 42, 2, 20
_TIME = r"(?:(\d+):)?(\d{1,2}):(\d{2})[.,](\d{1,3})"
# Two times without the arrow between them, as a slip of the keyboard leaves them.
_CLOCK = r"(?:\d++:)++\d++[.,]\d++"
_NO_ARROW = rf"[ \t]*{_CLOCK}[^\w\r\n]+{_CLOCK}[ \t]*\r?$"
# Some files lack the blank line before the number and the time of the next one.
_NEXT = rf"(?:\d+[ \t]*\r?\n)?(?:[ \t]*[\d:.,]+[ \t]*-->|{_NO_ARROW})"
_CUE = re.compile(
    rf"^{_TIME}[ \t]*-->[ \t]*{_TIME}[^\r\n]*\r?\n"
    rf"(?P<text>(?:(?!{_NEXT})[ \t]*[^\s][^\r\n]*(?:\r?\n|\Z))+)",
    re.MULTILINE,
)
# Nine values stand before the text.
_DIALOGUE = re.compile(
    rf"^Dialogue:[^,\r\n]*,[ ]*{_TIME},[ ]*{_TIME},(?:[^,\r\n]*,){{6}}(?P<text>[^\r\n]*)",
    re.MULTILINE,
)
# Blocks of WebVTT that hold no cue; lines that are no text; what events hold besides Dialogue.
_NO_CUE = re.compile(r"WEBVTT|(?:NOTE|STYLE|REGION)\b")
_NO_TEXT = re.compile(rf"\d+\Z|{_TIME}[ \t]*-->[ \t]*{_TIME}")
_NO_DIALOGUE = re.compile(r"(?:Format|Comment|Picture|Sound|Movie|Command):|;|!:", re.IGNORECASE)
# Characters of a line that a warning shows.
_SHOWN = 60
_TAG = re.compile(r"(</?[A-Za-z0-9:][^<>\r\n]*>|\{\\[^{}]*\})")
_DRAWING = re.compile(r"\{[^{}]*\\p[1-9]")
_SPEAKERS = re.compile(r"[-–—]\s*\w")


class SubtitleDocument(TextDocument):
    """Subtitles: the texts of their cues are translated, and times stay.

    Raises:
        ValueError: It has no cue.
    """

    def __init__(self, data: bytes, reading: Reading) -> None:
        super().__init__(data)
        self._is_ass = bool(_DIALOGUE.search(self.text))
        self._part = r"\N" if self._is_ass else self.line_break
        cues = list((_DIALOGUE if self._is_ass else _CUE).finditer(self.text))
        if not cues:
            raise ValueError("it has no cue: a time, --> and another one, or a line of Dialogue.")
        self.segments = [segment for cue in cues for segment in self._segment(cue)]
        if self._is_ass:
            # Events of several layers are shown at once by design.
            self.warnings = list(self._stray_events(cues))
        else:
            self.warnings = [*self._stray_lines(cues), *self._overlaps(cues)]

    def _stray_lines(self, cues: Sequence[re.Match[str]]) -> Iterator[str]:
        """Yields a warning of each block of lines that belongs to no cue."""
        is_vtt = self.text.startswith("WEBVTT", self.begin)
        times = "00:00:01.000 --> 00:00:02.000" if is_vtt else "00:00:01,000 --> 00:00:02,000"
        begins = [*(cue.start() for cue in cues), len(self.text)]
        ends = [self.begin, *(cue.end() for cue in cues)]
        for place, (begin, end) in enumerate(zip(ends, begins, strict=True)):
            lines = self.text[begin:end].removesuffix("\n").split("\n")
            if is_vtt and place < len(cues):
                # The name of the cue.
                lines[-1] = ""
            numbered = enumerate(map(str.strip, lines), self.line(begin))
            for is_block, block in itertools.groupby(numbered, lambda one: bool(one[1])):
                if is_block and (stray := _stray_line(list(block), is_vtt=is_vtt)):
                    number, line = stray
                    yield (
                        f"line {number}: {line[:_SHOWN]!r} belongs to no cue, and its text stays "
                        f"as it is: a line such as {times} was expected before the text, without "
                        "a blank line between them."
                    )

    def _overlaps(self, cues: Sequence[re.Match[str]]) -> Iterator[str]:
        """Yields a warning of all cues that begin too early."""
        early = [
            self.line(cue.start())
            for before, cue in itertools.pairwise(cues)
            if _times(cue)[0] < _times(before)[1]
        ]
        if early:
            others = f", as do {len(early) - 1} more" if early[1:] else ""
            yield f"line {early[0]}: this cue begins before the one above it has ended{others}."

    def _stray_events(self, cues: Sequence[re.Match[str]]) -> Iterator[str]:
        """Yields a warning of each line among the events that is not one."""
        known = {self.line(cue.start()) for cue in cues}
        are_events = False
        for number, line in enumerate(map(str.strip, self.text.split("\n")), start=1):
            if line.startswith("["):
                are_events = line.lower() == "[events]"
            elif number in known or not line or _NO_DIALOGUE.match(line):
                continue
            elif are_events or line.startswith("Dialogue:"):
                yield (
                    f"line {number}: {line[:_SHOWN]!r} is no line of Dialogue, and stays as it "
                    "is: Dialogue: 0,0:00:01.00,0:00:02.00,Default,,0,0,0,,Text was expected."
                )

    def _segment(self, cue: re.Match[str]) -> Iterator[Segment]:
        start = cue.start("text")
        raw = cue["text"].rstrip()
        coded = CodedText(self._items(raw, start))
        if not any(map(str.isalpha, coded.plain)) or _DRAWING.search(raw):
            return
        begins, ends = _times(cue)
        yield Segment(
            texts=(coded.text,),
            edits=lambda found: [
                Edit(
                    start,
                    start + len(raw),
                    coded.parts(_in_lines(found[0].text), self._written),
                )
            ],
            line=self.line(start),
            profile="html",
            limit=lambda text: _complaint(text, ends - begins),
        )

    def _items(self, raw: str, start: int) -> Iterator[str | Code]:
        """Yields texts and tags; lines are joined, unless each is of another speaker."""
        parts = re.split(r"\\N" if self._is_ass else r"\r?\n", raw)
        joint = "\n" if len(parts) > 1 and all(map(_SPEAKERS.match, parts)) else " "
        at = start
        for place, one in enumerate(_TAG.split(raw)):
            if place % 2:
                yield _code(one, Copied(at, at + len(one)))
            else:
                yield re.sub(r"\\[Nnh]" if self._is_ass else r"\r?\n", joint, one)
            at += len(one)

    def _written(self, text: str) -> str:
        return text.replace("\n", self._part)


def _stray_line(block: Sequence[tuple[int, str]], *, is_vtt: bool) -> tuple[int, str] | None:
    """Returns the line that is wrong in lines outside all cues; None if they hold no text."""
    is_cue = "-->" in block[-1][1] and _NO_TEXT.match(block[-1][1])
    if is_vtt and (_NO_CUE.match(block[0][1]) or is_cue):
        return None
    lines = [one for one in block if not _NO_TEXT.match(one[1])]
    if not any(map(str.isalpha, "".join(line for _, line in lines))):
        return None
    return next((one for one in lines if re.match(_NO_ARROW, one[1])), lines[0])


def _code(tag: str, part: Copied) -> Code:
    if tag.startswith("{"):
        return Code(part, "mark")
    name = re.split(r"[\s.>]", tag.strip("</"))[0]
    return Code(part, "closes" if tag.startswith("</") else "opens", name)


def _in_lines(text: str) -> str:
    """Returns a text in as few lines as it needs, of about the same length."""
    if "\n" in text or len(without_codes(text)) <= _LINE_LENGTH:
        return text
    words = words_with_codes(text)
    lengths = [len(without_codes(word)) for word in words]
    count = math.ceil((sum(lengths) + len(words) - 1) / _LINE_LENGTH)
    for width in range(math.ceil(sum(lengths) / count), _LINE_LENGTH + 1):
        lines = _filled(words, lengths, width)
        if len(lines) <= count:
            break
    return "\n".join(lines)


def _filled(words: Sequence[str], lengths: Sequence[int], width: int) -> list[str]:
    lines: list[str] = []
    used = width
    for word, length in zip(words, lengths, strict=True):
        if lines and used + 1 + length <= width:
            lines[-1] += " " + word
            used += 1 + length
        else:
            lines.append(word)
            used = length
    return lines


def _complaint(text: str, seconds: float) -> str:
    """Returns why viewers cannot read a translation in its time; "" if they can."""
    shown = without_codes(_in_lines(text)).split("\n")
    letters = sum(map(len, shown))
    if len(shown) > _LINES:
        return f"{len(shown)} lines, {_LINES} at most can be read"
    if max(map(len, shown)) > _LINE_LENGTH:
        return f"a line of {max(map(len, shown))} characters, {_LINE_LENGTH} at most can be read"
    if seconds > 0 and letters / seconds > _RATE:
        rate = f"{letters / seconds:.0f} characters a second"
        return f"{rate}, {_RATE} at most can be read"
    return ""


def _times(cue: re.Match[str]) -> tuple[float, float]:
    """Returns when a cue begins and when it ends, in seconds."""
    return _seconds(cue.groups()[:4]), _seconds(cue.groups()[4:8])


def _seconds(time: Sequence[str | None]) -> float:
    hours, minutes, seconds, rest = (one or "0" for one in time)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + float(f"0.{rest}")
