"""The signatures of a SavedModel of an encoder, from texts or from ids. Axis 0 of every input and
output is the batch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature
from keras_transformer.export.saved_model.encoder.answers import EncoderAnswers, Read
from keras_transformer.export.saved_model.id_rows import read_rows, row_lengths
from keras_transformer.export.saved_model.signatures import Outputs, traced
from keras_transformer.tensors import Tensor
from keras_transformer.text.graph_tokenizer import GraphTokenizer
from keras_transformer.text.tokenizer import Tokenizer


class EncoderIdSignatures:
    """Signatures from ids, without operators from outside TensorFlow.

    Ids have no begin and end tokens, and padding after a row's end. Ids that are out of range or
    special, but for masks, count as unknown; longer rows are cut.

    Args:
        answers: The functions that they call.
        limit: Most tokens of a row, without begin and end tokens.
    """

    def __init__(self, answers: EncoderAnswers, limit: int) -> None:
        self._answers = answers
        self._limit = limit
        self._special_ids = answers.special_ids

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the declared signatures as concrete functions, by name."""
        return _traced(self.functions, declared, "_ids")

    @property
    def functions(self) -> dict[str, Callable[..., Outputs]]:
        """The function of each signature on rows of ids, or on pairs of these."""
        answers = self._answers

        def of_text(answer: Callable[[Read], Outputs]) -> Callable[[Tensor], Outputs]:
            return lambda ids: answer(answers.read(self.rows(ids)))

        def of_pair(answer: Callable[[Read], Outputs]) -> Callable[[Tensor, Tensor], Outputs]:
            return lambda *ids: answer(answers.read_pairs(*self.pair(*ids))[0])

        return {
            "embed": of_text(lambda read: {"vector": answers.vectors(read)}),
            "encode": of_text(_states),
            "pool": of_text(lambda read: {"pooled": answers.pooled(read)}),
            "fill_mask": self.fill_mask,
            "classify": of_text(self._classes),
            "classify_pairs": of_pair(self._classes),
            "regress": of_text(lambda read: {"value": answers.values(read)}),
            "regress_pairs": of_pair(lambda read: {"value": answers.values(read)}),
            "next_sentence": of_pair(lambda read: {"probability": answers.follows(read)}),
            "tag": self.tag,
            "find_span": self.find_span,
        }

    def _classes(self, read: Read) -> Outputs:
        probabilities = self._answers.class_probabilities(read)
        labels = tf.constant(self._answers.model.config.labels)
        return {
            "label": tf.gather(labels, tf.argmax(probabilities, axis=1)),
            "probability": tf.reduce_max(probabilities, axis=1),
            "labels": tf.broadcast_to(labels, tf.shape(probabilities)),
            "probabilities": probabilities,
        }

    def tag(self, token_ids: Tensor) -> Outputs:
        """The most probable label of each token."""
        ids = self.rows(token_ids)
        begin = 0 if self._special_ids.bos is None else 1
        length = tf.shape(ids)[1]
        found = self._answers.best_tags(self._answers.read(ids))
        tags, probabilities = (one[:, begin : begin + length] for one in found)
        there = ids != self._special_ids.pad
        labels = tf.constant(self._answers.model.config.labels)
        return {
            "tags": tf.where(there, tf.gather(labels, tags), ""),
            "probabilities": tf.where(there, probabilities, 0.0),
        }

    def find_span(self, question_ids: Tensor, token_ids: Tensor) -> Outputs:
        """The best span of each text."""
        question, text = self.pair(question_ids, token_ids)
        read, starts = self._answers.read_pairs(question, text)
        return self._answers.best_span(read, starts)._asdict()

    def fill_mask(self, token_ids: Tensor) -> Outputs:
        """The best fillings of each text's masks."""
        ids = self.rows(token_ids)
        found = self._answers.fillings(ids)
        begin = 0 if self._special_ids.bos is None else 1
        return {
            "ids": self._without_end(found.ids[:, :, begin:]),
            "fillings": found.tokens,
            "scores": found.scores,
        }

    def rows(self, ids: Tensor) -> Tensor:
        """Returns rows that the model can read, of ids of any values."""
        return self._ordinary(ids)[:, : self._limit]

    def _ordinary(self, ids: Tensor) -> Tensor:
        config, mask = self._answers.model.config, self._special_ids.mask
        kept = () if mask is None else (mask,)
        return read_rows(ids, config.vocab_size, None, self._special_ids, kept=kept)

    def pair(self, first_ids: Tensor, second_ids: Tensor) -> tuple[Tensor, Tensor]:
        """Returns rows of two texts that fit the model together; the longer text is cut first."""
        # Between the two there are further end tokens.
        room = max(self._limit - self._answers.model.config.pair_separators, 2)
        first, second = self._ordinary(first_ids), self._ordinary(second_ids)
        lengths = [row_lengths(ids, self._special_ids) for ids in (first, second)]
        # Of an odd number of tokens the longer text keeps one more, or the second.
        half = (room + tf.cast(lengths[0] > lengths[1], lengths[0].dtype)) // 2
        kept = tf.minimum(lengths[0], tf.maximum(room - lengths[1], half))
        return self._cut(first, kept), self._cut(second, room - kept)

    def _cut(self, ids: Tensor, lengths: Tensor) -> Tensor:
        ids = ids[:, : self._limit]
        places = tf.range(tf.shape(ids)[1])
        return tf.where(places < lengths[:, None], ids, self._special_ids.pad)

    def _without_end(self, rows: Tensor) -> Tensor:
        """Returns rows whose ends, in the last columns of the longest, are padding."""
        special = self._special_ids
        for end in special.row_ends:
            rows = tf.where(rows == end, special.pad, rows)
        return rows[:, :, : -len(special.row_ends)]


class EncoderTextSignatures:
    """Signatures from texts, with the tokenizer in the graph; and that of the head from ids.

    Longer texts are cut.

    Args:
        answers: The functions that they call.
        limit: Most tokens of a text, without begin and end tokens.
        reader: Tokenizes in the graph.
        tokenizer: The same tokenizer in Python.
    """

    def __init__(
        self, answers: EncoderAnswers, limit: int, reader: GraphTokenizer, tokenizer: Tokenizer
    ) -> None:
        self._by_ids = EncoderIdSignatures(answers, limit)
        self._config = answers.model.config
        self._special_ids = answers.special_ids
        self._reader = reader
        self._tokenizer = tokenizer

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the declared signatures as concrete functions, by name."""

        def of_texts(function: Callable[..., Outputs]) -> Callable[..., Outputs]:
            return lambda *texts: function(*map(self.ids, texts))

        functions: dict[str, Callable[..., Outputs]] = {
            **{name: of_texts(function) for name, function in self._by_ids.functions.items()},
            "embed": lambda text: self._embed(self._behind(text)),
            "embed_with_prompt": self.embed_with_prompt,
            "fill_mask": self.fill_mask,
            "tag": self.tag,
            "find_span": self.find_span,
        }
        by_ids = {name: one for name, one in declared.items() if name.endswith("_ids")}
        texts = {name: one for name, one in declared.items() if name not in by_ids}
        return {**_traced(functions, texts, ""), **self._by_ids.make(by_ids)}

    def embed_with_prompt(self, text: Tensor, prompt_name: Tensor) -> Outputs:
        """One vector for each text, behind the prompt of a name.

        An unknown name ends the whole request, as a graph cannot refuse a row.
        """
        prompts = {"": "", **self._config.prompts}
        found = prompt_name[:, None] == tf.constant(list(prompts))
        known = tf.debugging.Assert(
            tf.reduce_all(tf.reduce_any(found, axis=1)),
            [f"prompt_name must be one of {', '.join(map(repr, prompts))}, got", prompt_name],
        )
        with tf.control_dependencies([known]):
            places = tf.argmax(tf.cast(found, tf.int32), axis=1)
        chosen = tf.gather(tf.constant(list(prompts.values())), places)
        return self._embed(tf.strings.join([chosen, text]))

    def _embed(self, text: Tensor) -> Outputs:
        return self._by_ids.functions["embed"](self.ids(text))

    def _behind(self, text: Tensor) -> Tensor:
        """Returns texts behind the prompt that is taken if none is asked for."""
        prompt = self._config.prompts.get(self._config.default_prompt or "", "")
        return tf.strings.join([prompt, text]) if prompt else text

    def tag(self, text: Tensor) -> Outputs:
        """The tokens of each text, and the most probable label of each."""
        ids = self._by_ids.rows(self.ids(text))
        return {"tokens": self._pieces(ids), **self._by_ids.tag(ids)}

    def find_span(self, question: Tensor, text: Tensor) -> Outputs:
        """The best span of each text."""
        pair = self._by_ids.pair(self.ids(question), self.ids(text))
        found = self._by_ids.find_span(*pair)
        places = tf.range(tf.shape(pair[1])[1])
        inside = (places >= found["first"][:, None]) & (places <= found["last"][:, None])
        answer = self._reader.detokenize(tf.ragged.boolean_mask(pair[1], inside))
        return {"answer": answer, **found}

    def fill_mask(self, text: Tensor) -> Outputs:
        """The best fillings of each text's masks."""
        found = self._by_ids.fill_mask(self.ids(text))
        ids = found["ids"]
        count = ids.shape[1]
        rows = tf.reshape(ids, (tf.shape(ids)[0] * count, tf.shape(ids)[2]))
        texts = self._reader.detokenize(tf.RaggedTensor.from_tensor(rows))
        return {
            "texts": tf.reshape(texts, (-1, count)),
            "tokens": self._pieces(found["fillings"]),
            "scores": found["scores"],
        }

    def ids(self, text: Tensor) -> Tensor:
        """Returns ids int32 `(batch, length)` of texts `(batch,)`, padded.

        A space before a mask belongs to what the mask stands for, and is dropped.
        """
        pad, mask = self._special_ids.pad, self._special_ids.mask
        ids = self._reader.tokenize(text).to_tensor(pad)
        space = self._tokenizer.subwords.space
        if mask is None or space is None:
            return ids
        following = tf.pad(ids[:, 1:], [[0, 0], [0, 1]], constant_values=pad)
        dropped = (ids == space) & (following == mask)
        return tf.ragged.boolean_mask(ids, (ids != pad) & ~dropped).to_tensor(pad)

    def _pieces(self, ids: Tensor) -> Tensor:
        """Returns the text of each single id: strings of the same shape; empty at padding."""
        texts = self._tokenizer.decode([[token] for token in range(self._tokenizer.vocab_size)])
        return tf.gather(tf.constant(np.array([text.encode() for text in texts], object)), ids)


def _states(read: Read) -> Outputs:
    states = tf.where(read.keep[:, :, None], read.states, 0.0)
    return {"encoder_states": states, "mask": read.keep}


def _traced(
    functions: Mapping[str, Callable[..., Outputs]], declared: Mapping[str, Signature], ending: str
) -> dict[str, Any]:
    """Returns the graphs of the declared functions; the default has that of the head."""
    named = {
        name: functions[name.removesuffix(ending)] for name in declared if name != DEFAULT_SIGNATURE
    }
    head = {DEFAULT_SIGNATURE: next(iter(named.values()))} if DEFAULT_SIGNATURE in declared else {}
    return traced({**head, **named}, declared)
