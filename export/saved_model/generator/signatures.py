"""The signatures of a SavedModel of a decoder, from text to text or from ids to ids. Axis 0 of
every input and output is the batch.
"""

from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature
from keras_transformer.export.saved_model.distinct import TextsFound, filled_up
from keras_transformer.export.saved_model.generator.generation import Generation
from keras_transformer.export.saved_model.id_rows import last_tokens, read_rows
from keras_transformer.export.saved_model.signatures import Outputs, best_ids, traced
from keras_transformer.export.saved_model.translation import Found
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor
from keras_transformer.text.graph_tokenizer import GraphTokenizer


class GeneratorIdSignatures:
    """Signatures from ids to ids, without operators from outside TensorFlow.

    Ids have no begin and end tokens, and padding after a row's end. Ids that are out of range or
    special count as unknown; of a longer prompt the beginning is cut, of a text to be scored the
    end.

    Args:
        generation: The functions that they call.
    """

    def __init__(self, generation: Generation) -> None:
        self._generation = generation

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the signatures as concrete functions, by name; they are as declared."""
        functions: dict[str, Callable[..., Outputs]] = {
            "generate_ids": self.generate_ids,
            "generate_n_best": self.generate_n_best,
            "generate_with_options": self.generate_with_options,
            "score": self.score,
        }
        made = traced(functions, declared)
        return {DEFAULT_SIGNATURE: made["generate_ids"], **made}

    def generate_ids(self, prompt_ids: Tensor) -> Outputs:
        """The best continuation of each prompt."""
        return best_ids(self._generation.search(self._prompts(prompt_ids)))

    def generate_n_best(self, prompt_ids: Tensor) -> Outputs:
        """The N best continuations of each prompt, best first."""
        found = self._generation.search(self._prompts(prompt_ids))
        return found.best(self._generation.options.num_hypotheses)._asdict()

    def generate_with_options(
        self, prompt_ids: Tensor, max_length: Tensor, length_penalty: Tensor
    ) -> Outputs:
        """The best continuation of each prompt, with its own limit and length penalty."""
        return best_ids(
            self._generation.search_with_options(
                self._prompts(prompt_ids), max_length, length_penalty
            )
        )

    def score(self, token_ids: Tensor) -> Outputs:
        """How probable the model finds given texts."""
        rows = self._rows(token_ids)[:, : self._generation.max_text_length]
        return _scores(self._generation.score(rows))

    def _prompts(self, ids: Tensor) -> Tensor:
        limit = self._generation.max_prompt_length
        return last_tokens(self._rows(ids), limit, self._generation.special_ids)

    def _rows(self, ids: Tensor) -> Tensor:
        vocab_size = self._generation.model.config.vocab_size
        return read_rows(ids, vocab_size, tf.shape(ids)[1], self._generation.special_ids)


class GeneratorTextSignatures:
    """Signatures from text to text, with the tokenizer in the graph; and `generate_ids`.

    Of a longer prompt the model sees the end alone; of a text to be scored the beginning.

    Args:
        generation: The functions that they call.
        reader: Tokenizes prompts and texts, and detokenizes continuations.
    """

    def __init__(self, generation: Generation, reader: GraphTokenizer) -> None:
        self._generation = generation
        self._reader = reader

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the signatures as concrete functions, by name; they are as declared."""
        functions: dict[str, Callable[..., Outputs]] = {
            "generate": self.generate,
            "generate_n_best": self.generate_n_best,
            "generate_with_options": self.generate_with_options,
            "score": self.score,
            "generate_ids": GeneratorIdSignatures(self._generation).generate_ids,
        }
        made = traced(functions, declared)
        return {DEFAULT_SIGNATURE: made["generate"], **made}

    def generate(self, prompt: Tensor) -> Outputs:
        """The best continuation of each prompt."""
        ids = self._prompts(prompt)
        return self._best(prompt, ids, self._generation.search(ids))

    def generate_n_best(self, prompt: Tensor) -> Outputs:
        """The N best continuations of each prompt, best first."""
        ids, batch = self._prompts(prompt), tf.shape(prompt)[0]

        def search(places: Tensor, options: SearchOptions) -> TextsFound:
            own = tf.gather(ids, places)
            found = self._generation.search_by(options, own)
            return self._texts(tf.gather(prompt, places), own, found.ids), found

        texts, found = filled_up(search, batch, self._generation.options)
        return {
            "texts": texts,
            "scores": found.scores,
            "log_probabilities": found.log_probabilities,
        }

    def generate_with_options(
        self, prompt: Tensor, max_length: Tensor, length_penalty: Tensor
    ) -> Outputs:
        """The best continuation of each prompt, with its own limit and length penalty."""
        ids = self._prompts(prompt)
        found = self._generation.search_with_options(ids, max_length, length_penalty)
        return self._best(prompt, ids, found)

    def score(self, text: Tensor) -> Outputs:
        """How probable the model finds given texts."""
        rows = self._rows(text)[:, : self._generation.max_text_length]
        return _scores(self._generation.score(rows))

    def _best(self, prompt: Tensor, prompt_ids: Tensor, found: Found) -> Outputs:
        texts = self._texts(prompt, prompt_ids, found.ids[:, :1])
        return {"text": texts[:, 0], "score": found.scores[:, 0]}

    def _rows(self, text: Tensor) -> Tensor:
        return self._reader.tokenize(text).to_tensor(self._reader.special_ids.pad)

    def _prompts(self, text: Tensor) -> Tensor:
        limit = self._generation.max_prompt_length
        return last_tokens(self._rows(text), limit, self._reader.special_ids)

    def _texts(self, prompt: Tensor, prompt_ids: Tensor, ids: Tensor) -> Tensor:
        """Returns each prompt, as it was given, with each of its continuations.

        Args:
            prompt: string `(batch,)`.
            prompt_ids: int32 `(batch, length)`, what the model has read of it.
            ids: int32 `(batch, N, max_length)`, the new tokens.

        Returns:
            string `(batch, N)`.
        """
        count = ids.shape[1]
        known = tf.repeat(prompt_ids, count, axis=0)
        whole = tf.concat([known, tf.reshape(ids, (-1, ids.shape[2]))], axis=1)
        # What the continuation adds to the prompt's own text, with the space between the two.
        texts = self._write(whole)
        lengths = tf.strings.length(texts)
        begun = tf.minimum(tf.strings.length(self._write(known)), lengths)
        added = tf.strings.substr(texts, begun, lengths - begun)
        before = tf.repeat(prompt, count)
        spaced = tf.strings.regex_full_match(before, r"(?s)|.*\s")
        added = tf.where(spaced, tf.strings.regex_replace(added, "^ +", ""), added)
        return tf.reshape(before + added, (-1, count))

    def _write(self, ids: Tensor) -> Tensor:
        """Returns texts `(rows,)` of ids `(rows, length)`."""
        return self._reader.detokenize(tf.RaggedTensor.from_tensor(ids))


def _scores(scored: tuple[Tensor, Tensor, Tensor]) -> Outputs:
    return dict(zip(("score", "log_probability", "perplexity"), scored, strict=True))
