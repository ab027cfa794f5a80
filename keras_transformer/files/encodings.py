"""The text of a file's bytes, and bytes of a text in the same encoding."""

import codecs
from collections.abc import Callable

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
MARK = "\ufeff"
# To Python encodings, too, which take minutes for a long text.
_NAMES_OF_HOSTS = ("punycode", "idna")


def decoded(data: bytes, declared: Callable[[str], str | None] | None = None) -> tuple[str, str]:
    """Returns a file's text, a byte order mark included, and the name of its encoding.

    Args:
        data: The file.
        declared: Finds the encoding that a file without a mark names in its text; UTF-8 where it
            names none.

    Raises:
        ValueError: It is not in that encoding, or holds what no text does.
    """
    name = next((known for mark, known in _MARKS if data.startswith(mark)), None)
    if name is None:
        said = declared(data.decode("latin-1")) if declared else None
        name = said or "utf-8"
    try:
        if codecs.lookup(name).name in _NAMES_OF_HOSTS:
            raise LookupError(name)
        text = data.decode(name)
    except LookupError as error:
        raise ValueError(f"it says that its encoding is {name}, which is unknown.") from error
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(
            f"it is not in {name}: line {line} has a byte that is no part of a character. Convert "
            "it to UTF-8, or correct the encoding that it names."
        ) from error
    if "\0" in text:
        raise ValueError(
            "it has a character of no text (NUL): it is another kind of file, or in UTF-16 without "
            "a byte order mark. Convert it to UTF-8."
        )
    if text.encode(name) != data:
        raise ValueError(f"its bytes are not plain {name}: convert it to UTF-8.")
    return text, name


def encoded(text: str, encoding: str, *, escapes: bool = False) -> bytes:
    """Returns a text's bytes.

    Args:
        text: The text.
        encoding: As `decoded` named it.
        escapes: Whether the format has `&#8222;` for characters that the encoding lacks.

    Raises:
        ValueError: The encoding lacks a character.
    """
    try:
        return text.encode(encoding, "xmlcharrefreplace" if escapes else "strict")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{encoding}, the encoding of the file, has no {text[error.start]!r}: convert the file "
            "to UTF-8."
        ) from error
