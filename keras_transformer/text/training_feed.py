"""The sentences that a SentencePiece model is trained on, checked one by one, and the reason why a
training on them failed.
"""

import re
from collections.abc import Iterable, Iterator

from keras_transformer.text.vocabulary_size import CharacterCount


class TooManyPiecesError(ValueError):
    """A corpus has fewer different pieces than were asked for.

    Args:
        asked: How many were.
        most: How many it has.
        sensible: How many it can teach.

    Attributes:
        most: How many it has.
    """

    def __init__(self, asked: int, most: int, sensible: int) -> None:
        super().__init__(
            f"vocab_size={asked} is too large for this corpus: at most {most}, and a model learns "
            f"from about {min(sensible, most)}; lower vocab_size, leave it out or bring more text"
        )
        self.most = most


class TrainingFeed:
    """Passes sentences on to SentencePiece, checks them and counts those with text."""

    def __init__(self, sentences: Iterable[str]) -> None:
        if isinstance(sentences, str | bytes):
            raise TypeError(
                f"sentences must be an iterable of strings, got one {type(sentences).__name__}"
            )
        self._sentences = sentences
        self.with_text = 0
        self.count = CharacterCount()
        self.error: Exception | None = None

    def __iter__(self) -> Iterator[str]:
        try:
            for number, sentence in enumerate(self._sentences):
                check_text("sentences", number, sentence)
                self.with_text += bool(sentence.strip())
                self.count.add(sentence)
                yield sentence
        except Exception as error:
            # SentencePiece would turn it into a RuntimeError that hides its type.
            self.error = error
            raise


def check_text(argument: str, number: int, text: object) -> None:
    """Raises if the text at a place of an argument is not a string that UTF-8 can carry."""
    if not isinstance(text, str):
        raise TypeError(f"{argument} must be strings, got {type(text).__name__} at index {number}")
    try:
        text.encode("utf-8")
    except UnicodeEncodeError as error:
        raise ValueError(
            f"{argument} must be valid Unicode, got a lone surrogate at index {number}, "
            f"character {error.start}"
        ) from error


def training_error(message: str, vocab_size: int, feed: TrainingFeed) -> Exception:
    """Returns SentencePiece's bare RuntimeError as a ValueError that says what to change."""
    if not feed.with_text:
        return ValueError("sentences must hold some text, got none: the corpus is empty")
    too_high = re.search(r"value <= (\d+)", message)
    if too_high:
        return TooManyPiecesError(vocab_size, int(too_high[1]), feed.count.vocabulary_size())
    too_small = re.search(r"required_chars\. \d+ vs (\d+)", message)
    if too_small:
        return ValueError(
            f"vocab_size={vocab_size} is too small for the characters of this corpus: at least "
            f"{too_small[1]}; raise vocab_size"
        )
    return RuntimeError(f"SentencePiece could not train the vocabulary: {message}")
