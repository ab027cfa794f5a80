"""Translates validation sentences during training: BLEU for the logs and samples to read."""

from collections.abc import Iterable
from typing import Any, TypeVar

import numpy as np

from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.data.batching.batches import evaluation_batches
from keras_transformer.decoding.translator import Translator
from keras_transformer.evaluation import corpus_scores
from keras_transformer.models import Transformer
from keras_transformer.training.loop.progress import SampledValidation
from keras_transformer.training.run.options import TrainPlan
from keras_transformer.training.tasks.training_data import TrainingData

Pair = TypeVar("Pair")
IdPairs = list[tuple[list[int], list[int]]]
# A model that has learnt little may never end a sentence; these limits end it.
_MOST_TOKENS, _MOST_TOKENS_PER_SOURCE_TOKEN = 128, 2
# Rows of the table of samples.
_SHOWN = 5


class ValidationTranslations(SampledValidation):
    """Translates the same sentences after each round, by greedy search, and logs BLEU and chrF.

    References are the validation targets as the tokenizer decodes them, or as they are where slots
    stand for spans. So BLEU may differ a little from that of `keras-transformer evaluate`, also
    because of the search and the sentences left out.

    Args:
        transformer: The model whose weights are being trained.
        data: The tokenizers of source and target, and validation pairs whose spans are lifted out.
        batches: Validation batches, as returned by `evaluation_batches`.
        sentences: How many to translate; they are spread evenly over all lengths.

    Attributes:
        sources: The sentences.
        references: Their translations in the corpus.
        translations: Their translations after the newest round; empty before the first.
    """

    def __init__(
        self,
        transformer: Transformer,
        data: TrainingData,
        batches: Iterable[Any],
        sentences: int,
    ) -> None:
        super().__init__()
        source, target = data.source_tokenizer, data.target_tokenizer
        self._translator = Translator(
            transformer,
            source,
            target,
            max_source_length=None,
            training_text=data.training_text,
        )
        self._has_text = data.valid_text is not None
        if data.valid_text is not None:
            texts = zip(data.valid_text.source, data.valid_text.target, strict=True)
            chosen = spread(list(texts), sentences)
            self.sources, self.references = map(list, zip(*chosen, strict=True))
            self._source_ids = source.encode(self.sources)
        else:
            pairs = spread(id_pairs(batches, transformer.config.special_ids), sentences)
            self._source_ids = [ids for ids, _ in pairs]
            self.sources = source.decode(self._source_ids)
            self.references = target.decode([ids for _, ids in pairs])
        self._limits = search_limits(self._source_ids)
        self._target_tokenizer = target
        self.translations: list[str] = []

    def on_epoch_end(self, epoch: int, logs: dict[str, Any] | None = None) -> None:
        """Translates and writes `val_bleu` and `val_chrf` into the logs."""
        if self._has_text:
            self.translations = self._translator.translate(self.sources, **self._limits)
        else:
            found = self._translator.translate_ids(self._source_ids, **self._limits)
            self.translations = self._target_tokenizer.decode([best[0][0] for best in found])
        if logs is not None:
            scores = corpus_scores(self.translations, self.references)
            logs.update(val_bleu=scores.bleu, val_chrf=scores.chrf)

    def table(self) -> str:
        """Returns some of the sentences with their reference and their newest translation."""
        lines = ["| source | reference | translation |", "|---|---|---|"]
        texts = (self.sources, self.references, self.translations)
        step = max(1, len(self.sources) // _SHOWN)
        for row in list(zip(*texts, strict=True))[::step][:_SHOWN]:
            lines.append("| " + " | ".join(text.replace("|", "\\|") for text in row) + " |")
        return "\n".join(lines)


def validation_translations(
    transformer: Transformer, data: TrainingData, options: TrainPlan
) -> ValidationTranslations | None:
    """Returns the callback that translates validation sentences, or None if there are none."""
    if data.valid is None or not options.bleu_sentences:
        return None
    return ValidationTranslations(
        transformer,
        data,
        evaluation_batches(data.valid, options.batch_tokens),
        options.bleu_sentences,
    )


def search_limits(sources: list[list[int]]) -> dict[str, Any]:
    """Returns the search options that end every translation of these ids, however bad the model."""
    longest = max(len(source) + 1 for source in sources)
    return {
        "max_length_ratio": float(_MOST_TOKENS_PER_SOURCE_TOKEN),
        # The search's graph grows with it, so it is no longer than the longest sentence needs.
        "max_length": min(_MOST_TOKENS, _MOST_TOKENS_PER_SOURCE_TOKEN * longest),
    }


def id_pairs(batches: Iterable[Any], special_ids: SpecialIds) -> IdPairs:
    """Returns the pairs of some batches as ids, without begin, end and padding ids."""
    return [
        (_plain(source, special_ids), _plain(target, special_ids))
        for inputs, labels, _ in batches
        for source, target in zip(np.asarray(inputs["source_ids"]), np.asarray(labels), strict=True)
    ]


def spread(pairs: list[Pair], count: int) -> list[Pair]:
    """Returns `count` evenly spaced pairs, or all if there are no more."""
    if len(pairs) <= count:
        return pairs
    return [pairs[number * len(pairs) // count] for number in range(count)]


def _plain(ids: np.ndarray, special_ids: SpecialIds) -> list[int]:
    return ids[(ids != special_ids.pad) & (ids != special_ids.eos)].tolist()
