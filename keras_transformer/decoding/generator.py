"""`Generator`: continuations of texts, with their scores, by a live Keras decoder."""

from collections.abc import Mapping
from typing import Any

from keras_transformer.decoding.engine import KerasGenerationEngine
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.families import require_model
from keras_transformer.search.model_limits import LongTexts
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds


class Generator(TextGenerator):
    """Greedy search, beam search and sampling with a live decoder.

    Args:
        model: A trained model.
        tokenizer: Its tokenizer.
        batch_tokens: Most padded tokens at once, new ones included, times the hypotheses that the
            search keeps for each prompt.
        max_text_length: Most tokens of a prompt or a text, unless the model allows fewer; None for
            no other limit than the model's.
        long_texts: What to do with longer ones: "refuse" raises `LongTextError`, which has the
            index; "cut" drops the beginning of a prompt, and the end of a text to be scored.
        search: Fields of `SearchOptions` that hold where a call gives none: what `load_search`
            reads of a run whose model was imported with some; None for none.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer.
        config: The model's.
        max_text_length: Most tokens of a prompt or a text; None if there is no limit.
        search: Fields of `SearchOptions` that hold where a call gives none; {} for none.

    Example:
        `Generator(model, tokenizer).generate(["A man in"], max_length=20)`
    """

    def __init__(
        self,
        model: DecoderOnly,
        tokenizer: Tokenizer,
        batch_tokens: int = 4096,
        *,
        max_text_length: int | None = MAX_TEXT_LENGTH,
        long_texts: LongTexts = "refuse",
        search: Mapping[str, Any] | None = None,
    ) -> None:
        require_model(model, DecoderOnly)
        self.model = model
        self.tokenizer = tokenizer
        super().__init__(
            KerasGenerationEngine(model, batch_tokens),
            TextIds(tokenizer.subwords, model.config.special_ids),
            max_text_length,
            long_texts,
            search,
        )
