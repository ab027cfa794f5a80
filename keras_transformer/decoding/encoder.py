"""`TextEncoder`: vectors, classes, tags, spans and filled masks of texts, with a live Keras
encoder, which runs on rows of ids, in any number and order, as TensorFlow graphs.
"""

import os
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.config.embedding import feature_input
from keras_transformer.decoding.batches import pad, run_in_batches
from keras_transformer.decoding.parts import ROWS, as_graph
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.families import require_model
from keras_transformer.runs.finished_run import load_run
from keras_transformer.search.model_limits import LongTexts
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH, check_vocabulary
from keras_transformer.tensors import Tensor
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds
from keras_transformer.understanding.engine import Array, Row, TagPath, WordFeatures, padded_states
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
        features: Reads words for a model with features, as `RunFeatures` of its run does; None for
            others.

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
        features: WordFeatures | None = None,
    ) -> None:
        require_model(model, EncoderOnly)
        self.model = model
        self.tokenizer = tokenizer
        super().__init__(
            KerasEncoderEngine(model, batch_tokens),
            TextIds(tokenizer.subwords, model.config.special_ids),
            max_text_length,
            long_texts,
            features,
        )

    @classmethod
    def from_run(cls, directory: str | os.PathLike[str], **options: Any) -> "TextEncoder":
        """Opens a finished run.

        Args:
            directory: The run.
            **options: Of the constructor; a model with features needs them.

        Raises:
            FileNotFoundError: A file is missing, or the run has not finished.
            TypeError: The model is no encoder.
            ValueError: A file is damaged.

        Example:
            `TextEncoder.from_run("runs/kinds").classify(["Do you see it?"])`
        """
        model, tokenizer, _ = load_run(directory)
        return cls(model, tokenizer, **options)


class KerasEncoderEngine:
    """A live model as an `EncoderEngine`; changed weights take effect at once.

    Args:
        model: A trained model.
        batch_tokens: Most padded tokens in a batch.

    Attributes:
        config: The model's.
    """

    def __init__(self, model: EncoderOnly, batch_tokens: int) -> None:
        require_tensorflow_backend("TextEncoder")
        self.config = model.config
        heads = model.single_heads()
        self._model = heads["head"]
        self._batch_tokens = batch_tokens
        # These parts are made here, as Keras makes no layers inside of a graph.
        encoder = model.encoder
        masks = self._model.config.head == "masked_lm"
        self._predictions = self._model.prediction_states if masks else None
        self._states = self._graph(lambda inputs: encoder(inputs, training=False))
        self._head = self._graph(self._run_head, places=masks)
        self._paths = self._graph_of_paths() if self.config.crf else None
        pairs = heads.get("next_sentence")
        self._next = pairs and self._graph(lambda inputs: pairs(inputs, training=False))

    def states(self, rows: Sequence[Row]) -> list[Array]:
        """As `EncoderEngine.states`."""
        found = self._run(self._states, rows)
        return [one[: len(row.token_ids)] for one, row in zip(found, rows, strict=True)]

    def head(self, rows: Sequence[Row], places: Sequence[Sequence[int]] | None = None) -> list:
        """As `EncoderEngine.head`."""
        found = self._run(self._head, rows, places)
        if places is not None:
            return [one[: len(places[number])] for number, one in enumerate(found)]
        if self.config.head in ("tagging", "spans"):
            return [one[: len(row.token_ids)] for one, row in zip(found, rows, strict=True)]
        return found

    def tag_paths(self, logits: Sequence[Array]) -> list[TagPath]:
        """As `EncoderEngine.tag_paths`."""
        if self._paths is None:
            raise ValueError("the model has no crf.")
        graph, lengths = self._paths, [len(one) for one in logits]

        def run(batch: list[int]) -> Iterator[TagPath]:
            values = padded_states([logits[row] for row in batch])
            found = graph(values, np.array([lengths[row] for row in batch], np.int32))
            return map(TagPath, *(np.asarray(one) for one in found))

        found = run_in_batches(lengths, self._batch_tokens, run)
        return [path.cut(length) for path, length in zip(found, lengths, strict=True)]

    def next_sentence(self, rows: Sequence[Row]) -> list[Array]:
        """As `EncoderEngine.next_sentence`."""
        if self._next is None:
            raise ValueError("the model has no head for next sentences.")
        return self._run(self._next, rows)

    def _graph_of_paths(self) -> Callable[..., tuple[Tensor, Tensor]]:
        chain = self._model.head.chain

        def paths(logits: Tensor, num_words: Tensor) -> tuple[Tensor, Tensor]:
            word_mask = tf.sequence_mask(num_words, tf.shape(logits)[1])
            return chain(logits, word_mask), tf.cast(chain.marginals(logits, word_mask), tf.float32)

        return as_graph(
            paths, tf.TensorSpec((None, None, chain.num_tags)), tf.TensorSpec((None,), tf.int32)
        )

    def _run_head(self, inputs: dict[str, Tensor]) -> Tensor:
        model = self._model
        if self._predictions is not None:
            states = self._predictions(inputs, training=False)
            return tf.matmul(states, model.output_matrix, transpose_b=True)
        outputs = model(inputs, training=False)
        return outputs["pooled"] if isinstance(outputs, dict) else outputs

    def _run(
        self,
        graph: Callable[..., Tensor],
        rows: Sequence[Row],
        places: Sequence[Sequence[int]] | None = None,
    ) -> list[Array]:
        ids = [row.token_ids for row in rows]
        check_vocabulary(ids, self.config.vocab_size, self.config.max_positions)

        def run(batch: list[int]) -> Array:
            inputs: dict[str, Any] = {}
            inputs["token_ids"] = pad([ids[row] for row in batch], self.config.special_ids.pad)
            if self.config.num_token_types > 1:
                inputs["token_type_ids"] = pad([rows[row].token_type_ids for row in batch], 0)
            for number in range(len(self.config.features)):
                name = feature_input(number)
                inputs[name] = padded_states([rows[row].features[number] for row in batch])
            if places is not None:
                inputs["places"] = pad([places[row] for row in batch], 0)
            return np.array(graph(inputs))

        return run_in_batches([len(row) for row in ids], self._batch_tokens, run)

    def _graph(self, run: Callable[..., Tensor], *, places: bool = False) -> Callable[..., Tensor]:
        names = ["token_ids", *(["token_type_ids"] if self.config.num_token_types > 1 else [])]
        signature = {name: ROWS for name in [*names, *(["places"] if places else [])]}
        for number, one in enumerate(self.config.features):
            shape = (None, None, one.num_layers, one.width)
            signature[feature_input(number)] = tf.TensorSpec(shape, tf.float32)
        return as_graph(lambda inputs: tf.cast(run(inputs), tf.float32), signature)
