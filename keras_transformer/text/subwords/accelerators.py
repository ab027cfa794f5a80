"""Keyboard accelerators: the mark before the letter of a label that a key stands for, as in `_File`
and `E&xit`.
"""

import re
from typing import NamedTuple

# Longer ones are no labels.
_LONGEST = 80
_LETTER = r"[^\W\d_]"
# Where a label goes on behind what it says.
_ENDS = re.compile(r"[\s.…:：]*\Z")


class Accelerator(NamedTuple):
    """An accelerator of a label.

    Attributes:
        mark: The character before its letter, such as "_".
        letter: The letter.
    """

    mark: str
    letter: str

    def put_into(self, label: str) -> str:
        """Returns another label, such as a translation, with this accelerator.

        It stands before the same letter, at the beginning of a word if there is such a word, or
        else before the first letter. Scripts without capitals, whose letters are no keys, have it
        in brackets behind the label, as is usual there. A label that has one keeps it.

        Example:
            >>> Accelerator("_", "F").put_into("Datei"), Accelerator("&", "O").put_into("文件：")
            ('_Datei', '文件(&O)：')
        """
        if without_accelerator(label, self.mark, is_label=True)[1] is not None:
            return label
        letter = re.escape(self.letter)
        for pattern in (rf"(?i)(?<!\w){letter}", rf"(?i){letter}", rf"(?<!\w){_LETTER}", _LETTER):
            for found in re.finditer(pattern, label):
                # A key has a capital.
                if found[0].upper() != found[0].lower():
                    return label[: found.start()] + self.mark + label[found.start() :]
        end = _ENDS.search(label)
        place = len(label) if end is None else end.start()
        return f"{label[:place]}({self.mark}{self.letter.upper()}){label[place:]}"


def without_accelerator(
    label: str, marks: str, *, is_label: bool = False
) -> tuple[str, Accelerator | None]:
    """Returns a label without its accelerator, and that; the text as it is if it has none.

    A label is one short line with one such mark, at the beginning of a word, or inside a word with
    a capital: `file_name` and `R&D` have none.

    Args:
        label: Any text.
        marks: The characters that may mark one.
        is_label: Whether the text is known to be a label, such as the translation of one, whose
            mark may be inside any word.

    Example:
        >>> without_accelerator("E&xit", "_&")
        ('Exit', Accelerator(mark='&', letter='x'))
    """
    if len(label) > _LONGEST or "\n" in label:
        return label, None
    found = [place for place, character in enumerate(label) if character in marks]
    if len(found) != 1:
        return label, None
    before, mark, behind = label[: found[0]], label[found[0]], label[found[0] + 1 :]
    if not re.match(_LETTER, behind) or re.match(r"\w+;", behind):
        return label, None
    word = re.search(r"\w*\Z", before)
    if word and word[0] and not is_label and not (word[0][0].isupper() and behind[0].islower()):
        return label, None
    return before + behind, Accelerator(mark, behind[0])
