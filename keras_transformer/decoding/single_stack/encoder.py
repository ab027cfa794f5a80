"""`TextEncoder`: vectors, classes, tags, spans and filled masks of texts, with a live Keras
encoder.
"""

from keras_transformer.decoding.single_stack.encoder_engine import KerasEncoderEngine
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.families import require_model
from keras_transformer.search.inputs import LongTexts
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.understanding.text_understanding import TextUnderstanding


class TextEncoder(TextUnderstanding):
    """Reads texts with a live model.

    Args:
        model: A trained model.
        tokenizer: Its tokenizer.
        batch_tokens: Most padded tokens that are read at once.
        max_text_length: Most tokens of a text, unless the model allows fewer; None for no other
            limit than the model's.
        long_texts: What to do with longer texts: "refuse" raises `LongTextError`, which has the
            index; "cut" drops their ends.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer.
        config: The model's.
        max_text_length: Most tokens of a text; None if there is no limit.

    Example:
        `TextEncoder(model, tokenizer).fill_mask(["A man in a <mask> shirt."], num_hypotheses=5)`
    """

    def __init__(
        self,
        model: EncoderOnly,
        tokenizer: Tokenizer,
        batch_tokens: int = 4096,
        *,
        max_text_length: int | None = MAX_TEXT_LENGTH,
        long_texts: LongTexts = "refuse",
    ) -> None:
        require_model(model, EncoderOnly)
        self.model = model
        self.tokenizer = tokenizer
        super().__init__(
            KerasEncoderEngine(model, batch_tokens),
            TextIds(tokenizer.subwords, model.config.special_ids),
            max_text_length,
            long_texts,
        )
