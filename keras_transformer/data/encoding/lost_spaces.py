"""Line breaks, tabs and several spaces of texts that a vocabulary reads as one space."""

from collections.abc import Sequence

from keras_transformer.text.tokenizer import Tokenizer

_SPACES = {"line breaks": "\n", "tabs": "\t", "several spaces in a row": "  "}
# Fewer texts than one in so many are no form of the texts that a model should learn.
_RARE = 100


def lost_spaces(texts: Sequence[str], tokenizer: Tokenizer) -> str:
    r"""Returns which white space a language model of the texts will not learn; "" for none.

    Example:
        >>> from keras_transformer.text.tokenizer import train_tokenizer
        >>> texts = ["a dog\nruns", "a cat"]
        >>> print(lost_spaces(texts, train_tokenizer(texts, vocab_size=15)))
        the vocabulary reads as one space: line breaks (1 of 2 texts)
    """
    found = []
    for name, space in _SPACES.items():
        having = [text for text in texts if space in text.strip()]
        if having and len(having) * _RARE >= len(texts):
            [read] = tokenizer.decode(tokenizer.encode([having[0].strip()]))
            if space not in read:
                found.append(f"{name} ({len(having):,} of {len(texts):,} texts)")
    return f"the vocabulary reads as one space: {', '.join(found)}" if found else ""
