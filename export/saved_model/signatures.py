"""The signatures of a SavedModel that searches, which clients of TensorFlow Serving call: text to
text, or ids to ids. Axis 0 of every input and output is the batch.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import tensorflow as tf

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, LOWEST, Signature, TensorSpec
from keras_transformer.export.saved_model.id_rows import last_tokens, read_rows
from keras_transformer.export.saved_model.searches import Found, Generation, Searches, Translation
from keras_transformer.export.saved_model.texts import capitals
from keras_transformer.export.saved_model.texts.distinct import TextsFound, filled_up
from keras_transformer.search.options import SearchOptions
from keras_transformer.tensors import Tensor
from keras_transformer.text.graph_tokenizer import GraphTokenizer

Outputs = dict[str, Tensor]
# What a function of `Searches` takes.
Rows = tuple[Tensor, ...]


class SearchSignatures:
    """Signatures from ids to ids, without operators from outside TensorFlow; or from text to text,
    with the tokenizers in the graph, and that of the best result from ids to ids.

    Ids have no begin and end tokens, and padding after a row's end. Ids that are out of range or
    special count as unknown. What is longer than the searches allow is cut.

    Args:
        searches: The functions that they call.
        source: Tokenizes what is searched for; None to take ids.
        target: Tokenizes prefixes and given results, and detokenizes what is found; None likewise.
        min_score: Log-probability a token below which confidence is low, if known.
    """

    verb: ClassVar[str]
    text: ClassVar[str]  # The output that has the best text.

    def __init__(
        self,
        searches: Searches,
        source: GraphTokenizer | None = None,
        target: GraphTokenizer | None = None,
        min_score: float | None = None,
    ) -> None:
        self._searches = searches
        self._source = source
        self._target: Any = target
        self._min_score = min_score

    def make(self, declared: Mapping[str, Signature]) -> dict[str, Any]:
        """Returns the signatures as concrete functions, by name; they are as declared."""
        return traced(self._functions(), declared)

    def _functions(self) -> dict[str, Callable[..., Outputs]]:
        by_ids = self if self._target is None else type(self)(self._searches)
        return {
            DEFAULT_SIGNATURE: self.best,
            self.verb: self.best,
            f"{self.verb}_ids": by_ids.best,
            f"{self.verb}_n_best": self.n_best,
            f"{self.verb}_with_options": self.with_options,
            "score": self.score,
        }

    def best(self, given: Tensor, *languages: Tensor) -> Outputs:
        """The best result of each row, between languages of its own if there are any."""
        rows = self._read(given, *languages)
        return self._best(given, rows, self._searches.search(*rows))

    def n_best(self, given: Tensor) -> Outputs:
        """The N best results of each row, best first."""
        rows, options = self._read(given), self._searches.options
        if self._target is None:
            found = self._searches.search(*rows).best(options.num_hypotheses)
            return {**found._asdict(), **self._flags(found)}

        def search(places: Tensor, options: SearchOptions) -> TextsFound:
            own = tuple(tf.gather(part, places) for part in rows)
            found = self._searches.search_by(options, *own)
            return self._texts(tf.gather(given, places), own, found.ids), found

        texts, found = filled_up(search, tf.shape(given)[0], options)
        return {
            f"{self.text}s": texts,
            "scores": found.scores,
            "log_probabilities": found.log_probabilities,
            **self._flags(found),
        }

    def with_options(
        self, given: Tensor, max_length: Tensor, length_penalty: Tensor, *prefix: Tensor
    ) -> Outputs:
        """The best result of each row, with its own limit, length penalty and prefix."""
        rows = self._begun(given, *prefix)
        found = self._searches.search_with_options(*rows, max_length, length_penalty)
        return self._best(given, rows, found)

    def score(self, *given: Tensor) -> Outputs:
        """How probable the model finds given results."""
        numbers = self._searches.score(*self._scored(*given))
        return dict(zip(("score", "log_probability", "perplexity"), numbers, strict=True))

    def _best(self, given: Tensor, rows: Rows, found: Found) -> Outputs:
        if self._target is None:
            return {
                "ids": found.ids[:, 0],
                "score": found.scores[:, 0],
                "log_probability": found.log_probabilities[:, 0],
            }
        texts = self._texts(given, rows, found.ids[:, :1])
        return {self.text: texts[:, 0], "score": found.scores[:, 0]}

    def _flags(self, found: Found) -> Outputs:
        """Tells of each hypothesis whether its confidence is low, as `confidence.is_low` does."""
        if self._min_score is None:
            return {}
        pad = self._searches.special_ids.pad
        lengths = tf.math.count_nonzero(found.ids != pad, axis=2, dtype=tf.int32) + 1
        token_scores = found.log_probabilities / tf.cast(lengths, tf.float32)
        is_there = found.log_probabilities > LOWEST
        return {"low_confidence": is_there & (token_scores < self._min_score)}

    def _read(self, given: Tensor, *codes: Tensor) -> Rows:
        """Returns the rows to search for."""
        raise NotImplementedError

    def _begun(self, given: Tensor, *prefix: Tensor) -> Rows:
        """Returns the rows to search for, whose results begin with prefixes if there are any."""
        return self._read(given)

    def _scored(self, *given: Tensor) -> Rows:
        """Returns the rows to score."""
        raise NotImplementedError

    def _texts(self, given: Tensor, rows: Rows, ids: Tensor) -> Tensor:
        """Returns the texts of results: string `(batch, N)`.

        Args:
            given: string `(batch,)`, what was searched for.
            rows: What the model has read of it.
            ids: int32 `(batch, N, max_length)`.
        """
        raise NotImplementedError

    def _rows(
        self, given: Tensor, reader: GraphTokenizer | None, vocab_size: int, limit: int | None
    ) -> Tensor:
        """Returns ids int32 `(batch, length)` of texts or ids, cut and padded."""
        special_ids = self._searches.special_ids
        if reader is None:
            return read_rows(given, vocab_size, limit, special_ids)
        return reader.tokenize(given)[:, :limit].to_tensor(special_ids.pad)

    def _write(self, ids: Tensor) -> Tensor:
        """Returns texts `(rows,)` of ids `(rows, length)`."""
        return self._target.detokenize(tf.RaggedTensor.from_tensor(ids))


class TranslationSignatures(SearchSignatures):
    """The signatures of a translator.

    Args:
        searches: As for `SearchSignatures`.
        source: Likewise.
        target: Likewise.
        min_score: Likewise.
        recases: Whether texts in capitals are read as sentences, and translated in capitals.
    """

    verb = "translate"
    text = "translation"

    _searches: Translation

    def __init__(
        self,
        searches: Translation,
        source: GraphTokenizer | None = None,
        target: GraphTokenizer | None = None,
        min_score: float | None = None,
        recases: bool = False,
    ) -> None:
        super().__init__(searches, source, target, min_score)
        self._recases = recases

    def _functions(self) -> dict[str, Callable[..., Outputs]]:
        more = {"translate_between": self.best, "encode": self.encoder_states}
        return {**super()._functions(), **more}

    def encoder_states(self, given: Tensor) -> Outputs:
        """The encoder's states of each source."""
        *source, _ = self._read(given)
        states, mask = self._searches.encoder_states(*source)
        return {"encoder_states": states, "mask": mask}

    def _read(self, given: Tensor, *codes: Tensor) -> Rows:
        """Returns the ids of sources and the marks of both languages.

        Args:
            given: Texts or ids; a tag at the beginning of a text wins over its code.
            codes: Those of each row's language and of that to translate into; the default's if
                there are none.
        """
        languages, config = self._searches.languages, self._searches.model.config
        tags = None
        if self._source is not None:
            given, tags = languages.read_tags(given)
            given = self._recased(given)
        limit = self._searches.max_source_length
        rows = self._rows(given, self._source, config.source_vocab_size, limit)
        if not codes and (tags is None or not languages.knows_tags):
            return rows, *languages.default(rows)
        source, target = codes or (tf.fill(tf.shape(tags), ""),) * 2
        if tags is not None:
            target = tf.where(tags == "", target, tags)
        return rows, *languages.between(source, target)

    def _begun(self, given: Tensor, *prefix: Tensor) -> Rows:
        return self._followed(given, *prefix, limit=self._searches.options.max_length)

    def _scored(self, *given: Tensor) -> Rows:
        source, target = given
        return self._followed(source, target, limit=self._searches.max_target_length)

    def _followed(self, given: Tensor, results: Tensor, *, limit: int) -> Rows:
        """Returns the rows of sources with ids or texts of translations, which are cut, behind
        their marks.
        """
        *source, marks = self._read(given)
        size = self._searches.model.config.target_vocab_size
        if self._recases:
            are_both = self._in_capitals(given) & capitals.are_in_capitals(results, fewest=1)
            results = capitals.recased_where(are_both, results)
        return *source, tf.concat([marks, self._rows(results, self._target, size, limit)], axis=1)

    def _texts(self, given: Tensor, rows: Rows, ids: Tensor) -> Tensor:
        count, length = ids.shape[1:]
        texts = tf.reshape(self._write(tf.reshape(ids, (-1, length))), (-1, count))
        if not self._recases:
            return texts
        return tf.where(self._in_capitals(given)[:, None], capitals.in_capitals(texts), texts)

    def _recased(self, texts: Tensor) -> Tensor:
        """Returns texts, those in capitals as sentences."""
        if not self._recases:
            return texts
        return capitals.recased_where(capitals.are_in_capitals(texts), texts)

    def _in_capitals(self, given: Tensor) -> Tensor:
        """Returns which sources have been recased: boolean `(batch,)`."""
        return capitals.are_in_capitals(self._searches.languages.read_tags(given)[0])


class GenerationSignatures(SearchSignatures):
    """The signatures of a decoder alone. Of a longer prompt the model sees the end alone; of a text
    to be scored the beginning.
    """

    verb = "generate"
    text = "text"

    _searches: Generation

    def _read(self, given: Tensor, *codes: Tensor) -> Rows:
        limit, special_ids = self._searches.max_prompt_length, self._searches.special_ids
        return (last_tokens(self._whole(given), limit, special_ids),)

    def _scored(self, *given: Tensor) -> Rows:
        [text] = given
        return (self._whole(text, self._searches.max_text_length),)

    def _whole(self, given: Tensor, limit: int | None = None) -> Tensor:
        size = self._searches.model.config.vocab_size
        return self._rows(given, self._source, size, limit)

    def _texts(self, given: Tensor, rows: Rows, ids: Tensor) -> Tensor:
        """Returns each prompt, as it was given, with each of its continuations."""
        count = ids.shape[1]
        known = tf.repeat(rows[0], count, axis=0)
        whole = tf.concat([known, tf.reshape(ids, (-1, ids.shape[2]))], axis=1)
        # What the continuation adds to the prompt's own text, with the space between the two.
        texts = self._write(whole)
        lengths = tf.strings.length(texts)
        begun = tf.minimum(tf.strings.length(self._write(known)), lengths)
        added = tf.strings.substr(texts, begun, lengths - begun)
        before = tf.repeat(given, count)
        spaced = tf.strings.regex_full_match(before, r"(?s)|.*\s")
        added = tf.where(spaced, tf.strings.regex_replace(added, "^ +", ""), added)
        return tf.reshape(before + added, (-1, count))


def traced(
    functions: Mapping[str, Callable[..., Outputs]], declared: Mapping[str, Signature]
) -> dict[str, Any]:
    """Returns the graphs of the declared functions, by name. Signatures that differ by name alone
    share one.
    """
    graphs: dict[tuple[Any, ...], Any] = {}
    made = {}
    for name, signature in declared.items():
        key = (functions[name], signature.inputs, signature.outputs)
        if key not in graphs:
            graphs[key] = _trace(functions[name], signature)
        made[name] = graphs[key]
    return made


def _trace(function: Callable[..., Outputs], signature: Signature) -> Any:
    """Returns a function's graph, with the declared inputs, in their order, and outputs."""

    def declared(**inputs: Tensor) -> Outputs:
        outputs = function(*(inputs[spec.name] for spec in signature.inputs))
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
