"""The formats of files by the endings of their names."""

from collections.abc import Mapping
from importlib import import_module
from pathlib import Path, PurePath
from typing import Literal, get_args

from keras_transformer.files.segments import Document, Reading

FormatName = Literal[
    "po",
    "xliff",
    "tmx",
    "qt",
    "properties",
    "android",
    "ios",
    "json",
    "yaml",
    "html",
    "markdown",
    "text",
    "subtitles",
    "office",
]
# Where the class of each format is, and the endings of its files.
_FORMATS: Mapping[FormatName, tuple[str, tuple[str, ...]]] = {
    "po": ("catalogues.po.PoDocument", (".po", ".pot")),
    "xliff": ("catalogues.xliff.XliffDocument", (".xlf", ".xliff")),
    "tmx": ("catalogues.tmx.TmxDocument", (".tmx",)),
    "qt": ("catalogues.qt.QtDocument", (".ts",)),
    "properties": ("resources.properties.PropertiesDocument", (".properties",)),
    "android": ("resources.android.AndroidDocument", ("strings.xml",)),
    "ios": ("resources.ios.IosDocument", (".strings",)),
    "json": ("resources.json_texts.JsonDocument", (".json", ".arb")),
    "html": ("documents.html_pages.HtmlDocument", (".html", ".htm", ".xhtml")),
    "markdown": ("documents.markdown.MarkdownDocument", (".md", ".markdown")),
    "text": ("documents.plain_text.PlainTextDocument", (".txt",)),
    "subtitles": ("documents.subtitles.SubtitleDocument", (".srt", ".vtt", ".ass", ".ssa")),
    "office": (
        "documents.office.OfficeDocument",
        (".docx", ".pptx", ".odt", ".odp", ".ods"),
    ),
    "yaml": ("resources.yaml_texts.YamlDocument", (".yml", ".yaml")),
}
FORMATS: tuple[FormatName, ...] = get_args(FormatName)


def format_of(path: PurePath) -> FormatName:
    """Returns the format of a file by its name.

    Raises:
        ValueError: No format has such names.
    """
    for name, (_, endings) in _FORMATS.items():
        if path.name.lower().endswith(endings):
            return name
    known = ", ".join(ending for _, endings in _FORMATS.values() for ending in endings)
    raise ValueError(
        f"{path} has none of the endings {known}: name its format (--format, "
        "or format=… in a request), one of "
        f"{', '.join(FORMATS)}."
    )


def read_document(
    path: Path, reading: Reading | None = None, name: FormatName | None = None
) -> Document:
    """Reads a file; see `document_of`.

    Raises:
        OSError: It cannot be read.
        ValueError: It is not of that format.
    """
    name = name or format_of(path)
    return document_of(path.read_bytes(), path, reading, name)


def document_of(
    data: bytes, path: PurePath, reading: Reading | None = None, name: FormatName | None = None
) -> Document:
    """Reads the content of a file.

    Args:
        data: The content.
        path: What the file is called.
        reading: How its translations are written.
        name: Its format; by the file's name if None.

    Raises:
        ValueError: It is not of that format.
    """
    name = name or format_of(path)
    module, _, kind = _FORMATS[name][0].rpartition(".")
    document = getattr(import_module(f"keras_transformer.files.{module}"), kind)
    try:
        return document(data, reading or Reading())
    except RecursionError as error:
        raise ValueError(f"{path} cannot be read as {name}: it is nested too deeply.") from error
    except ValueError as error:
        raise ValueError(f"{path} cannot be read as {name}: {error}") from error
