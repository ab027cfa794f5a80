"""Tags of languages, such as `>>fra<<`, on their way to toolkits that read them as pieces."""

from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.text.tokenizer import Tokenizer


def check_tags(marks: SentenceMarks, source: Tokenizer) -> None:
    """Raises a ValueError if a model has other marks than tags that are pieces of its vocabulary.

    Args:
        marks: The model's.
        source: The tokenizer of its sources.
    """
    tags = {token: f">>{code}<<" for code, token in marks.languages.items()}
    are_pieces = source.pieces(list(tags)) == list(tags.values())
    is_before = not tags or marks.languages_in == "source"
    if marks.source or marks.target or not (are_pieces and is_before and marks.source_eos):
        raise ValueError(
            "a tokenizer of Marian's kind needs sources that end with eos, and as marks of "
            f"languages pieces such as '>>fra<<' before them, got marks={marks!r}."
        )
