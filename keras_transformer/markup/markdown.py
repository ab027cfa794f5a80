"""Patterns of Markdown: code, links, footnotes, emphasis and headings."""

from keras_transformer.text.subwords.attributes import TITLE

CODE = r"(?<!`)(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)"
# The text of a link is translated, where it leads to, or the name of that, is not.
_NAME = r"\[[^\[\]\n]+\]"
_PLACE = r"(?:<[^<>\n]*>|(?:[^()\s]|\([^()\s]*\))*)"
LINKS = (
    rf"!?\[(?=[^\[\]\n]*\](?:\(|{_NAME}))"
    rf"|\]\({_PLACE}(?:\s+(?:{TITLE}))?\s*\)|\]{_NAME}"
)
FOOTNOTES = r"\[\^[^\[\]\s]+\]"
EMPHASIS = (
    r"\*{1,3}(?=[^\s*])|(?<=[^\s*])\*{1,3}"
    r"|(?<![\w_])_{1,3}(?=[^\s_])|(?<=[^\s_])_{1,3}(?!\w)|~~"
)
HEADINGS = r"^#{1,6}[ ]"
