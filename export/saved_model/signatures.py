"""The signatures of a translator's SavedModel, which clients of TensorFlow Serving call: text to
text, or ids to ids. Axis 0 of every input and output is the batch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from keras_transformer.artefact.signatures import (
    DEFAULT_SIGNATURE,
    LOWEST,
    Signature,
    TensorSpec,
)
from keras_transformer.export.saved_model.distinct import TextsFound, filled_up
from keras_transformer.export.saved_model.id_rows import read_rows
from keras_transformer.export.saved_model.translation import Found, Translation
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor
from keras_transformer.text.graph_tokenizer import GraphTokenizer

Outputs = dict[str, Tensor]


class IdSignatures:
    """Signatures from ids to ids, without operators from outside TensorFlow.

    Ids have no begin and end tokens, and padding after a row's end. Ids that are out of range or
    special count as unknown; sources longer than `max_source_length` are cut.

    Args:
        translation: The functions that they call.
        min_score: Log-probability a token below which confidence is low, if known.
    """

    def __init__(self, translation: Translation, min_score: float | None = None) -> None:
        self._translation = translation
        self._min_score = min_score

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the signatures as concrete functions, by name; they are as declared."""
        functions: dict[str, Callable[..., Outputs]] = {
            "translate_ids": self.translate_ids,
            "translate_n_best": self.translate_n_best,
            "score": self.score,
            "encode": self.encoder_states,
            "translate_with_options": self.translate_with_options,
            "translate_between": self.translate_between,
        }
        made = traced(functions, declared)
        return {DEFAULT_SIGNATURE: made["translate_ids"], **made}

    def translate_ids(self, source_ids: Tensor) -> Outputs:
        """The best translation of each source."""
        return best_ids(self._translation.search(*self._source(source_ids)))

    def translate_between(
        self, source_ids: Tensor, source_language: Tensor, target_language: Tensor
    ) -> Outputs:
        """The best translation of each source, between languages of its own."""
        rows, *_ = self._source(source_ids)
        marks = self._translation.languages.between(source_language, target_language)
        return best_ids(self._translation.search(rows, *marks))

    def translate_n_best(self, source_ids: Tensor) -> Outputs:
        """The N best translations of each source, best first."""
        found = self._translation.search(*self._source(source_ids))
        found = found.best(self._translation.options.num_hypotheses)
        return {
            **found._asdict(),
            **_flags(found, self._min_score, self._translation.special_ids.pad),
        }

    def score(self, source_ids: Tensor, target_ids: Tensor) -> Outputs:
        """How probable the model finds given translations; long ones are cut as sources are."""
        limit = self._translation.max_target_length
        score, total = self._translation.score(
            *self._source(source_ids), self._target(target_ids, limit)
        )
        return {"score": score, "log_probability": total}

    def encoder_states(self, source_ids: Tensor) -> Outputs:
        """The encoder's states of each source."""
        states, mask = self._translation.encoder_states(*self._source(source_ids))
        return {"encoder_states": states, "mask": mask}

    def translate_with_options(
        self, source_ids: Tensor, max_length: Tensor, length_penalty: Tensor, target_prefix: Tensor
    ) -> Outputs:
        """The best translation of each source, with its own limit, length penalty and prefix."""
        limit = self._translation.options.max_length
        prefixes = self._target(target_prefix, limit)
        found = self._translation.search_with_options(
            *self._source(source_ids), max_length, length_penalty, prefixes
        )
        return best_ids(found)

    def _source(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Returns rows and the marks of the default languages."""
        config, limit = self._translation.model.config, self._translation.max_source_length
        rows = read_rows(ids, config.source_vocab_size, limit, config.special_ids)
        return rows, *self._translation.languages.default(rows)

    def _target(self, ids: Tensor, limit: int) -> Tensor:
        config = self._translation.model.config
        return read_rows(ids, config.target_vocab_size, limit, config.special_ids)


class TextSignatures:
    """Signatures from text to text, with the tokenizers in the graph; and `translate_ids`.

    Texts longer than `max_source_length` tokens are cut.

    Args:
        translation: The functions that they call.
        source: Tokenizes sources.
        target: Tokenizes prefixes and targets, and detokenizes translations.
        min_score: Log-probability a token below which confidence is low, if known.
    """

    def __init__(
        self,
        translation: Translation,
        source: GraphTokenizer,
        target: GraphTokenizer,
        min_score: float | None = None,
    ) -> None:
        self._translation = translation
        self._min_score = min_score
        self._source = source
        self._target = target

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the signatures as concrete functions, by name; they are as declared."""
        functions: dict[str, Callable[..., Outputs]] = {
            DEFAULT_SIGNATURE: self.translate,
            "translate_n_best": self.translate_n_best,
            "score": self.score,
            "encode": self.encoder_states,
            "translate_ids": IdSignatures(self._translation).translate_ids,
            "translate_with_options": self.translate_with_options,
            "translate_between": self.translate_between,
        }
        return traced(functions, declared)

    def translate(self, text: Tensor) -> Outputs:
        """The best translation of each text."""
        return self._best_text(self._translation.search(*self._read_source(text)))

    def translate_between(
        self, text: Tensor, source_language: Tensor, target_language: Tensor
    ) -> Outputs:
        """The best translation of each text, between languages of its own."""
        rows = self._read_source(text, (source_language, target_language))
        return self._best_text(self._translation.search(*rows))

    def translate_n_best(self, text: Tensor) -> Outputs:
        """The N best translations of each text, best first."""
        rows, batch = self._read_source(text), tf.shape(text)[0]

        def search(places: Tensor, options: SearchOptions) -> TextsFound:
            own = (tf.gather(part, places) for part in rows)
            found = self._translation.search_by(options, *own)
            count, length = found.ids.shape[1:]
            texts = self._write(tf.reshape(found.ids, (-1, length)))
            return tf.reshape(texts, (-1, count)), found

        texts, found = filled_up(search, batch, self._translation.options)
        return {
            "translations": texts,
            "scores": found.scores,
            "log_probabilities": found.log_probabilities,
            **_flags(found, self._min_score, self._translation.special_ids.pad),
        }

    def score(self, source: Tensor, target: Tensor) -> Outputs:
        """How probable the model finds given translations; long ones are cut as sources are."""
        limit = self._translation.max_target_length
        score, total = self._translation.score(
            *self._read_source(source), self._read_target(target, limit)
        )
        return {"score": score, "log_probability": total}

    def encoder_states(self, text: Tensor) -> Outputs:
        """The encoder's states of each text."""
        states, mask = self._translation.encoder_states(*self._read_source(text))
        return {"encoder_states": states, "mask": mask}

    def translate_with_options(
        self, text: Tensor, max_length: Tensor, length_penalty: Tensor, target_prefix: Tensor
    ) -> Outputs:
        """The best translation of each text, with its own limit, length penalty and prefix."""
        prefixes = self._read_target(target_prefix, self._translation.options.max_length)
        found = self._translation.search_with_options(
            *self._read_source(text), max_length, length_penalty, prefixes
        )
        return self._best_text(found)

    def _best_text(self, found: Found) -> Outputs:
        return {"translation": self._write(found.ids[:, 0]), "score": found.scores[:, 0]}

    def _read_source(
        self, texts: Tensor, codes: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """Returns ids int32 `(batch, length)` of texts `(batch,)`, cut and padded, and their marks.

        Args:
            texts: The texts; a tag at the beginning of one wins over its code.
            codes: Those of each text's language and of that to translate into.
        """
        limit, languages = self._translation.max_source_length, self._translation.languages
        texts, tags = languages.read_tags(texts)
        rows = self._source.tokenize(texts)[:, :limit].to_tensor(self._source.special_ids.pad)
        if codes is None and not languages.knows_tags:
            return rows, *languages.default(rows)
        source, target = codes or (tf.fill(tf.shape(tags), ""),) * 2
        return rows, *languages.between(source, tf.where(tags == "", target, tags))

    def _read_target(self, texts: Tensor, limit: int) -> Tensor:
        return self._target.tokenize(texts)[:, :limit].to_tensor(self._target.special_ids.pad)

    def _write(self, ids: Tensor) -> Tensor:
        """Returns texts `(rows,)` of ids `(rows, length)`."""
        return self._target.detokenize(tf.RaggedTensor.from_tensor(ids))


def _flags(found: Found, min_score: float | None, pad: int) -> Outputs:
    """Tells of each hypothesis whether its confidence is low, as `confidence.is_low` does."""
    if min_score is None:
        return {}
    lengths = tf.math.count_nonzero(found.ids != pad, axis=2, dtype=tf.int32) + 1
    token_scores = found.log_probabilities / tf.cast(lengths, tf.float32)
    is_there = found.log_probabilities > LOWEST
    return {"low_confidence": is_there & (token_scores < min_score)}


def best_ids(found: Found) -> Outputs:
    """Returns the best hypothesis of each row."""
    return {
        "ids": found.ids[:, 0],
        "score": found.scores[:, 0],
        "log_probability": found.log_probabilities[:, 0],
    }


def traced(
    functions: Mapping[str, Callable[..., Outputs]], declared: Mapping[str, Signature]
) -> dict[str, Any]:
    """Returns the graphs of those functions that are declared, by name."""
    return {
        name: trace(function, declared[name])
        for name, function in functions.items()
        if name in declared
    }


def trace(function: Callable[..., Outputs], signature: Signature) -> Any:
    """Returns a function's graph, with the declared inputs and outputs."""

    def declared(**inputs: Tensor) -> Outputs:
        outputs = function(**inputs)
        return {spec.name: _as_declared(outputs[spec.name], spec) for spec in signature.outputs}

    specs = {
        spec.name: tf.TensorSpec(spec.shape, tf.dtypes.as_dtype(spec.dtype), spec.name)
        for spec in signature.inputs
    }
    return tf.function(declared, autograph=False).get_concrete_function(**specs)


def _as_declared(output: Tensor, spec: TensorSpec) -> Tensor:
    """Gives an output the declared shape, as far as the graph does not know it."""
    if output.dtype.name != spec.dtype:
        raise TypeError(f"{spec.name} must be {spec.dtype}, got {output.dtype.name}.")
    output.set_shape(spec.shape)
    return output
