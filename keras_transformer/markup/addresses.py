"""Patterns of what names a place: URLs, e-mail addresses and paths."""

# What ends a sentence, or closes a bracket or a quotation, is no part of an address.
_END = r"[^\s<>\"'`«»„“”‚‘’.,;:!?()\[\]{}\\|]"
URLS = rf"(?:(?:https?|ftps?|file|irc|git|ssh)://|www\.)(?:[^\s<>\"'`«»„“”‚‘’\\|]*{_END})"
# From where a word begins: else each letter of a long one is looked at from all before it.
EMAIL = r"(?<![\w.+-])(?:mailto:)?[\w.+-]+@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+"
# Two names at least, in lower case: "and/or" is none, and neither is the menu "/File/Open".
PATHS = (
    r"(?<![\w/.~%>])(?:~|\.{1,2})?(?:/[a-z0-9_.+@%-]*[a-z0-9_+@%-](?![A-Z])){2,}/?"
    r"|(?<!\w)[A-Za-z]:(?:\\\\?[\w.+@%-]+)+"
)
