"""Reading of texts with any encoder: vectors, classes, tags, spans or filled masks, in the order of
the texts.
"""

from collections.abc import Iterator, Sequence

import numpy as np
import numpy.typing as npt

from keras_transformer.config.checks import check_size
from keras_transformer.config.encoder_only import NEXT_SENTENCE_LABELS
from keras_transformer.config.text_vectors import poolings_of, prompt_named
from keras_transformer.search.model_limits import IdRows, LongTexts
from keras_transformer.text.subwords.interface import Placed
from keras_transformer.translation.results import pad_states
from keras_transformer.translation.text_ids import TextIds, check_texts
from keras_transformer.understanding.engine import Array, EncoderEngine, TagPath, WordFeatures
from keras_transformer.understanding.heads import require_head
from keras_transformer.understanding.masks import MissingMaskError, best_fillings, filled_text
from keras_transformer.understanding.results import (
    Classification,
    Filling,
    RankedText,
    Span,
    WordTag,
    best_first,
    best_span,
    first_places,
    independent_tags,
    most_probable,
    pooled,
    softmax,
    threshold_of,
    unit_vectors,
    word_tags,
)
from keras_transformer.understanding.text_rows import TextRows


class TextUnderstanding:
    """The base of `TextEncoder` and `OnnxEncoder`, which have an engine of their own each.

    Args:
        engine: Runs the model on rows of ids.
        text_ids: Texts and ids.
        max_text_length: Most tokens of a text, unless the model allows fewer; None for no other
            limit than the model's.
        long_texts: What to do with longer texts: "refuse" raises `LongTextError`, which has the
            index; "cut" drops their ends.
        features: Reads words for a model with features; None for others.

    Attributes:
        config: The model's config.
        max_text_length: Most tokens of a text; None if there is no limit.
    """

    def __init__(
        self,
        engine: EncoderEngine,
        text_ids: TextIds,
        max_text_length: int | None,
        long_texts: LongTexts,
        features: WordFeatures | None = None,
    ) -> None:
        self.config = engine.config
        self._engine = engine
        self._text_ids = text_ids
        self._special_ids = engine.config.special_ids
        self._rows = TextRows(engine.config, text_ids, max_text_length, long_texts, features)
        self.max_text_length = self._rows.max_text_length

    @property
    def mask_piece(self) -> str:
        """What texts write for a token to be filled in; "" if the vocabulary has no mask."""
        mask = self._special_ids.mask
        return "" if mask is None else self._text_ids.subwords.piece(mask)

    def text_lengths(self, texts: Sequence[str]) -> list[int]:
        """Returns how many tokens each text has, without special ones.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
        """
        if self.config.features:
            return self.tag_lengths(texts)
        return [len(ids) for ids in self._rows.encode(texts)]

    def tag_lengths(self, texts: Sequence[str]) -> list[int]:
        """Does as `text_lengths` for texts as `tag` reads them: word by word.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
        """
        return [sum(len(ids) for _, ids in words) for words in self._rows.words(texts)]

    def mask_counts(self, texts: Sequence[str]) -> list[int]:
        """Returns how many masks are read of each text, however they are spelled in it.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: A text is longer than `max_text_length`.
        """
        mask = self._special_ids.mask
        return [list(row.token_ids).count(mask) for row in self._rows.of_texts(texts)]  # type: ignore[arg-type]

    def states(self, texts: Sequence[str]) -> tuple[Array, npt.NDArray[np.bool_]]:
        """Returns the encoder's states of each text.

        Args:
            texts: The texts; a text's row begins with bos and ends with eos.

        Returns:
            States float32 `(texts, length, model_dim)`, zeros after a text's end, and a mask bool
            `(texts, length)`, True at its tokens, special ones included.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: A text is longer than `max_text_length`.
            RuntimeError: The encoder is closed.
        """
        return pad_states(self._engine.states(self._rows.of_texts(texts)), self.config.model_dim)

    def states_of_ids(self, ids: IdRows) -> list[Array]:
        """Returns the encoder's states of each row of ids: float32 `(length, model_dim)`.

        Args:
            ids: Ids of each text, without special ones; the states include bos and eos.

        Raises:
            ValueError: A row is longer than `max_text_length`, an id is outside the vocabulary, or
                the model reads features of words.
            RuntimeError: The encoder is closed.
        """
        return self._engine.states(self._rows.of_ids(ids))

    def prompted(self, texts: Sequence[str], prompt_name: str | None = None) -> list[str]:
        """Returns the texts as `embed` reads them, each behind a prompt.

        Args:
            texts: The texts.
            prompt_name: Which of the config's prompts is put before each text; "" for none, the
                config's `default_prompt` if None.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: There is no prompt of this name.
        """
        name = self.config.default_prompt if prompt_name is None else prompt_name
        prompt = "" if name is None else prompt_named(self.config.prompts, name)
        return [prompt + text for text in check_texts(texts)]

    def embed(
        self,
        texts: Sequence[str],
        pooling: str | None = None,
        *,
        prompt_name: str | None = None,
    ) -> Array:
        """Returns one vector for each text: float32 `(texts, vector_dim)`.

        Args:
            texts: The texts.
            pooling: How a text's states become one vector, special tokens included, as for
                `EncoderConfig`; the config's if None. Vectors that are pooled otherwise than the
                config's go through none of its linear layers.
            prompt_name: Which of the config's prompts is put before each text; "" for none, the
                config's `default_prompt` if None.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: A text is longer than `max_text_length`, or a name of a pooling or of a
                prompt is unknown.
            RuntimeError: The encoder is closed.
        """
        config = self.config
        pooling = config.pooling if pooling is None else pooling
        width = len(poolings_of(pooling)) * config.model_dim
        rows = self._rows.of_texts(self.prompted(texts, prompt_name))
        if config.head == "embedding" and pooling == config.pooling:
            return _as_vectors(self._engine.head(rows), config.vector_dim)
        found = [pooled(one, pooling) for one in self._engine.states(rows)]
        vectors = _as_vectors(found, width)
        return unit_vectors(vectors) if config.unit_vectors else vectors

    def classify(
        self,
        texts: Sequence[str],
        second_texts: Sequence[str] | None = None,
        *,
        threshold: float | None = None,
    ) -> list[Classification]:
        """Returns the class of each text, or of each pair of texts.

        Args:
            texts: The texts.
            second_texts: As many, the second ones of pairs; None for texts alone.
            threshold: Least probability, from 0 to 1, of a label that a text is given by a model
                with `multi_label`; `THRESHOLD` (0.5) if None.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings, or the threshold is no
                number.
            ValueError: As for `states`, or the model has another head; or there is a threshold,
                and it is out of range or a text has one label.
            RuntimeError: The encoder is closed.
        """
        require_head(self.config.head, "classification")
        least = threshold_of(self.config, threshold)
        logits = self._engine.head(self._rows.of_texts(texts, second_texts))
        return [most_probable(row, self.config.labels, least) for row in logits]

    def regress(self, texts: Sequence[str], second_texts: Sequence[str] | None = None) -> Array:
        """Returns the number that the model gives to each text: float32 `(texts,)`.

        Args:
            texts: The texts.
            second_texts: As many, the second ones of pairs; None for texts alone.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: A text is longer than `max_text_length`, or the model has another head.
            RuntimeError: The encoder is closed.
        """
        require_head(self.config.head, "regression")
        found = self._engine.head(self._rows.of_texts(texts, second_texts))
        return np.array(found, np.float32).reshape(-1)

    def rerank(
        self, query: str, texts: Sequence[str], *, top_n: int | None = None
    ) -> list[RankedText]:
        """Returns the texts by how well they fit a query, best first.

        The model reads query and text together, as a cross-encoder does (Nogueira and Cho 2019).
        The scores are those of `regress([query] * len(texts), texts)`, which a server and a
        SavedModel give as `regress_pairs`: query as "text", text as "second_text".

        Args:
            query: The query, the first text of each pair.
            texts: The texts to rank; none give an empty list.
            top_n: How many of the best to return, at least 1; all if None.

        Raises:
            TypeError: `query` is no string, `texts` is one or holds anything but strings, or
                `top_n` is no integer.
            ValueError: A pair is longer than `max_text_length`, the model has another head, or
                `top_n` is below 1.
            RuntimeError: The encoder is closed.

        Example:
            >>> reranker = OnnxEncoder("exported/reranker")  # doctest: +SKIP
            >>> reranker.rerank("red clothes", ["A dog.", "A red shirt."])[0].text  # doctest: +SKIP
            'A red shirt.'
        """
        if top_n is not None:
            check_size("top_n", top_n)
        texts = check_texts(texts)
        scores = self.regress(check_texts([query], "query") * len(texts), texts)
        return best_first(texts, scores.tolist())[:top_n]

    def next_sentences(self, texts: Sequence[str], second_texts: Sequence[str]) -> Array:
        """Returns the probability that each second text follows its text: float32 `(texts,)`.

        Args:
            texts: Sentences.
            second_texts: As many.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: A text is longer than `max_text_length`, or the model has another head.
            RuntimeError: The encoder is closed.
        """
        require_head(self.config.head, "pretraining")
        follows = NEXT_SENTENCE_LABELS.index("next")
        found = self._engine.next_sentence(self._rows.of_texts(texts, second_texts))
        return np.array([softmax(logits)[follows] for logits in found], np.float32)

    def tag(self, texts: Sequence[str]) -> list[list[WordTag]]:
        """Returns the tag of each word of each text, by the word's first token.

        Args:
            texts: The texts; white space separates words.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings.
            ValueError: A text is longer than `max_text_length`, or the model has another head.
            RuntimeError: The encoder is closed.
        """
        require_head(self.config.head, "tagging")
        texts_words = self._rows.words(texts)
        rows = self._rows.of_words(texts_words)
        places, firsts = [], []
        for words, row, logits in zip(texts_words, rows, self._engine.head(rows), strict=True):
            own = logits[slice(*self._rows.place(row))]
            places.append(first_places([len(ids) for _, ids in words], len(own)))
            firsts.append(own[[place for place in places[-1] if place is not None]])
        return [
            word_tags(
                [word for word, _ in words],
                [place is not None for place in found],
                path,
                self.config.labels,
            )
            for words, found, path in zip(texts_words, places, self._paths(firsts), strict=True)
        ]

    def fill_mask(self, texts: Sequence[str], num_hypotheses: int = 1) -> list[list[Filling]]:
        """Returns the best ways to fill the masks of each text, best first.

        The masks of a text are predicted independently of each other: a filling's probability is
        the product of theirs.

        Args:
            texts: The texts, each with one or more masks: `<mask>`, or the vocabulary's own.
            num_hypotheses: How many fillings of each text.

        Returns:
            Fillings of each text. Their texts are as given, with the masks replaced; a mask beyond
            `max_text_length` stays.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings, or `num_hypotheses` is
                no integer.
            ValueError: A text is longer than `max_text_length`, or the model has another head, or a
                text has no mask; the message has its index.
            RuntimeError: The encoder is closed.
        """
        require_head(self.config.head, "masked_lm", "pretraining")
        check_size("num_hypotheses", num_hypotheses)
        texts = check_texts(texts)
        rows = self._rows.of_texts(texts)
        mask, forbidden = self._special_ids.mask, self._special_ids.without_text
        places = [[i for i, token in enumerate(row.token_ids) if token == mask] for row in rows]
        for index, found in enumerate(places):
            if not found:
                raise MissingMaskError(index, self.mask_piece)
        fillings = []
        logits = self._engine.head(rows, places)
        for text, row, masked, values in zip(texts, rows, places, logits, strict=True):
            placed, begin = self._rows.placed(text), self._rows.place(row)[0]
            masks = [placed[place - begin] for place in masked]
            best = best_fillings(values, forbidden, num_hypotheses)
            fillings.append([self._filling(text, masks, *one) for one in best])
        return fillings

    def find_spans(
        self, questions: Sequence[str], texts: Sequence[str], longest: int | None = None
    ) -> list[Span]:
        """Returns the part of each text that answers its question.

        Args:
            questions: A question for each text, the first text of the pair.
            texts: The texts.
            longest: Most tokens of a span, at least 1; no limit if None.

        Raises:
            TypeError: `texts` is one string, or holds anything but strings, or `longest` is no
                integer.
            ValueError: A text is longer than `max_text_length`, or the model has another head, or
                `longest` is below 1.
            RuntimeError: The encoder is closed.
        """
        require_head(self.config.head, "spans")
        if longest is not None:
            check_size("longest", longest)
        texts = check_texts(texts, "second_texts")
        rows = self._rows.of_texts(questions, texts)
        spans = []
        for text, row, logits in zip(texts, rows, self._engine.head(rows), strict=True):
            begin = list(row.token_ids).index(self._special_ids.eos) + self.config.pair_separators
            end = self._rows.place(row)[1]
            if begin == end:
                spans.append(Span("", 0, 0, float("-inf")))
                continue
            first, last, score = best_span(logits[begin:end], longest)
            placed = self._rows.placed(text)
            part = text[placed[first].start : placed[last].end].strip()
            spans.append(Span(part, first, last, score))
        return spans

    def _paths(self, logits: Sequence[Array]) -> Iterator[TagPath]:
        """Yields the tags of each text's words from their logits, `(words, labels)`."""
        chained = [one for one in logits if self.config.crf and len(one)]
        found = iter(self._engine.tag_paths(chained) if chained else [])
        for one in logits:
            yield next(found) if self.config.crf and len(one) else independent_tags(one)

    def _filling(
        self, text: str, masks: Sequence[Placed], tokens: Sequence[int], score: float
    ) -> Filling:
        filled = filled_text(text, masks, tokens, self._text_ids)
        return Filling(filled, self._text_ids.decode_parts([[token] for token in tokens]), score)


def _as_vectors(rows: Sequence[Array], width: int) -> Array:
    return np.array(rows, np.float32).reshape(-1, width)
