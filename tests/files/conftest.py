"""What reads files from bytes, and a translator that needs no model."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from keras_transformer.files.formats import read_document
from keras_transformer.files.job import Outcome, translate_document
from keras_transformer.files.segments import Reading, Translation
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.spans import around, find_spans


def shout(texts: Sequence[str], profile: Profile) -> list[Translation]:
    """Translates to upper case, spans as they are."""
    return [Translation(_shouted(text, profile)) for text in texts]


def _shouted(text: str, profile: Profile) -> str:
    spans = find_spans(text, profile)
    kept = [*(span.text for span in spans), ""]
    pairs = zip(around(text, spans), kept, strict=True)
    return "".join(gap.upper() + span for gap, span in pairs)


@pytest.fixture
def translated(tmp_path: Path) -> Callable[..., Outcome]:
    """Translates a file of a name with some text."""

    def run(name: str, content: str | bytes, translate=shout, **options) -> Outcome:
        data = content.encode() if isinstance(content, str) else content
        (tmp_path / name).write_bytes(data)
        fields = ("language", "review")
        reading = Reading(**{key: options.pop(key) for key in fields if key in options})
        document = read_document(tmp_path / name, reading)
        return translate_document(document, translate, **options)

    return run
