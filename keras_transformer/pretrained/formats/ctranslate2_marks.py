"""The marks around the texts of a model of CTranslate2, such as eos and languages.

The engine's callers bring their own marks, and its converters do not say which. Of the models that
tell it all the same the marks are read; of the others the file must name them.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.pretrained.errors import ImportRefusedError

# Our own field: our exports have it, and users may write it.
MARKS = "marks"
# What fills rows in OpenNMT's vocabularies.
BLANK = "<blank>"


def read_marks(
    path: Path, settings: Mapping[str, Any], pieces: Sequence[str], *, is_marian: bool
) -> SentenceMarks:
    """Returns the marks of a translator.

    Args:
        path: The config's file, for messages.
        settings: Its content.
        pieces: The source's vocabulary.
        is_marian: Whether the decoder starts with zeros, as Marian's alone do.

    Raises:
        ImportRefusedError: They are damaged, or nothing tells whether a source has an eos.
    """
    if MARKS in settings:
        try:
            return SentenceMarks(**settings[MARKS])
        except (TypeError, ValueError) as error:
            raise ImportRefusedError(f"{path} has {MARKS} that cannot be read: {error}") from error
    begins: tuple[int, ...] = ()
    if settings.get("add_source_bos"):
        bos = settings.get("bos_token")
        if bos not in pieces:
            raise ImportRefusedError(
                f"{path} has bos_token: {bos!r}, which begins sources, and the vocabulary lacks it."
            )
        begins = (pieces.index(bos),)
    if is_marian:
        return SentenceMarks.of_tags({piece: token for token, piece in enumerate(pieces)}, begins)
    return SentenceMarks(source=begins, source_eos=_ends_with_eos(path, settings, pieces))


def _ends_with_eos(path: Path, settings: Mapping[str, Any], pieces: Sequence[str]) -> bool:
    """Whether a source has an eos: the engine's, or one that the model's own tokenizer adds."""
    if settings.get("add_source_eos"):
        return True
    start = settings.get("decoder_start_token")
    if start == "<s>" and BLANK in pieces:
        # OpenNMT-tf, OpenNMT-py and Eole: nothing else adds one.
        return False
    if start == "<pad>":
        # Pegasus of Hugging Face, whose tokenizer adds it.
        return True
    raise ImportRefusedError(
        f"{path} has add_source_eos: false, and nothing in {path.parent} tells whether sources end "
        f'with eos all the same, which tokenizers may add: give it the field "{MARKS}", such as '
        '{"source_eos": true}, with the ids of languages if the model needs them.'
    )
