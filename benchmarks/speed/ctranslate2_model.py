"""A CTranslate2 model with the weights of a Keras model, so that both can be compared."""

from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.ctranslate2.write import check, write
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.text.tokenizer import Tokenizer


def write_ctranslate2(
    model: Any,
    source_tokenizer: Tokenizer,
    target_tokenizer: Tokenizer,
    directory: Path,
    quantization: str | None = None,
) -> None:
    """Writes a model of any family for CTranslate2, and its vocabularies beside it.

    Args:
        model: A float32 model.
        source_tokenizer: Its source vocabulary, or the one that it has.
        target_tokenizer: Its target vocabulary; the same object if there is one.
        directory: A new directory.
        quantization: A type of CTranslate2's, such as "int8"; float32 if None.

    Raises:
        ValueError: CTranslate2 has no such model.
    """
    outgoing = Outgoing(model, source_tokenizer, target_tokenizer)
    check(outgoing)
    directory.mkdir(parents=True)
    write(outgoing, directory, quantization)
