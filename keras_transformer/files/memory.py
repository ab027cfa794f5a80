"""Translation memory: what files have translated already."""

from collections.abc import Iterable
from pathlib import Path

from keras_transformer.files.codes import has_codes_of
from keras_transformer.files.formats import read_document
from keras_transformer.files.segments import Reading, Segment


class Memory:
    """Translations of segments that have the same texts, those with the same context first.

    Args:
        paths: Files of formats that hold texts beside their translations.
        reading: As for the file that is translated.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is of no such format, or holds no translation.
    """

    def __init__(self, paths: Iterable[Path] = (), reading: Reading | None = None) -> None:
        self._found: dict[tuple[str | None, tuple[str, ...]], tuple[str, ...]] = {}
        for path in paths:
            known = [one for one in read_document(path, reading).segments if _is_known(one)]
            if not known:
                raise ValueError(f"{path} holds no translation that a memory could use.")
            for one in known:
                for context in (one.context, None):
                    self._found.setdefault((context, one.texts), one.given)

    def find(self, segment: Segment) -> tuple[str, ...] | None:
        """Returns the known translation of a segment."""
        exact = self._found.get((segment.context, segment.texts))
        return exact or self._found.get((None, segment.texts))


def _is_known(segment: Segment) -> bool:
    return (
        segment.state == "translated"
        and bool(segment.given)
        and all(map(has_codes_of, segment.texts, segment.given))
    )
