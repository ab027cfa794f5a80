"""Translation as a task: parallel text, an encoder-decoder, validation by translating."""

from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Any

from keras_transformer.config import SpecialIds, TransformerConfig
from keras_transformer.config.sentence_marks import Begins
from keras_transformer.data.batching.batches import evaluation_batches
from keras_transformer.data.encoding.subword_regularization import segmentation_type
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.decoding.translator import Translator
from keras_transformer.layers.variants.activations import activation_named
from keras_transformer.models import Transformer, build_transformer
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.confidence import calibrated, token_score
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.text.tokenizer_files import Tokenizers
from keras_transformer.text.vocabulary_size import MOST_PIECES
from keras_transformer.training.loop.compiling import training_model
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.run.model_config import vocabulary_of
from keras_transformer.training.run.options import TrainOptions, TrainPlan
from keras_transformer.training.run.starting_point import StartingPoint
from keras_transformer.training.tasks.training_data import (
    TrainingData,
    Vocabulary,
    encode_corpus,
    open_prepared,
)
from keras_transformer.training.tasks.validation_translations import (
    ValidationTranslations,
    id_pairs,
    search_limits,
    spread,
    validation_translations,
)
from keras_transformer.training.transfer.initial_embeddings import InitialVectors
from keras_transformer.training.transfer.rehearsal import rehearsal_pairs
from keras_transformer.training.word_level.teacher_run import WordLevel


@dataclass(frozen=True)
class TranslationTask:
    """The task of `train`; `Task` describes the methods.

    Attributes:
        corpus: The pairs to learn from and, optionally, to validate on.
        starting_point: Existing tokenizers and weights to start from.
        vocabulary: The vocabulary to train if there are no tokenizers.
        model_config: Takes the vocabulary sizes of source and target, whether they share a
            vocabulary, and its special ids; returns the model's config.
        options: How to train.
        vectors: Word vectors that the embeddings begin as.
        word_level: The teacher of whose distributions the model learns, or None.
        transfer: What `build` took from models of other families, filled by it.
    """

    corpus: Corpus | PreparedCorpus
    starting_point: StartingPoint
    vocabulary: Vocabulary
    model_config: Callable[[tuple[int, int], bool, SpecialIds], TransformerConfig]
    options: TrainOptions
    vectors: InitialVectors = InitialVectors()
    word_level: WordLevel | None = None
    transfer: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Checks data, starting point and model against each other."""
        self.options.check_validation(has_valid=self.corpus.valid is not None)
        start = self.starting_point
        can_rehearse = start.run is not None and isinstance(self.corpus, Corpus)
        self.options.check_start(has_weights=start.has_weights, can_rehearse=can_rehearse)
        start.check_corpus(self.corpus)
        if isinstance(self.corpus, PreparedCorpus) and self.corpus.is_single:
            raise ValueError(
                "the corpus was prepared of single texts, and translation needs pairs: prepare "
                "them with --train-source and --train-target."
            )
        config = self._planned_config()
        if config.marks.begins() != Begins() and isinstance(self.corpus, PreparedCorpus):
            raise ValueError(
                "a prepared corpus has no marks of languages, which the model to start from reads "
                "before each text: train on the text files."
            )
        start.check_config(config)
        self.vectors.check(config)
        activation_named(config.activation)
        if self.word_level is not None:
            self.word_level.check(config, start.tokenizers, self.options)
        if start.tokenizers is not None:
            self._check_vocabulary(start.tokenizers[0])

    def _check_vocabulary(self, source: Tokenizer) -> None:
        """Checks what options ask of a vocabulary that exists."""
        if self.options.subword_sampling:
            segmentation_type(source)
        if self.options.has_slots and not source.special_ids.slots:
            raise ValueError(
                f"markup={self.options.markup!r} needs a vocabulary with slots, and the one to "
                "start from has none: leave markup out, or train without it (--init, --tokenizer)."
            )
        if self.options.soft_terms and not source.special_ids.term_marks:
            raise ValueError(
                f"soft_terms={self.options.soft_terms} needs a vocabulary with marks of terms, and "
                "the one to start from has none: leave soft_terms out, or train without it "
                "(--init, --tokenizer)."
            )

    def read(self, directory: RunDirectory) -> TrainingData:
        """Encodes the corpus, or opens the prepared one."""
        if isinstance(self.corpus, PreparedCorpus):
            return open_prepared(self.corpus, directory, self.options)
        config = self._planned_config()
        rehearsed, begun = None, self.starting_point.run
        if self.options.rehearsal and begun is not None:
            share = self.options.rehearsal
            rehearsed = rehearsal_pairs(directory, begun, self.corpus.train, share)
        return encode_corpus(
            self.corpus,
            directory,
            self.options,
            self.vocabulary,
            self.starting_point.tokenizers,
            rehearsed,
            special_ids=config.special_ids,
            begins=config.marks.begins(),
        )

    def config(self, data: TrainingData) -> TransformerConfig:
        """Returns the config for the vocabularies of the data."""
        return self._config_for((data.source_tokenizer, data.target_tokenizer))

    def start(self) -> dict[str, Any]:
        """Returns hashes of the tokenizers, the models and the vectors to start from."""
        teacher = self.word_level.record() if self.word_level else {}
        return {**self.starting_point.record(), **self.vectors.record(), **teacher}

    def build(self, config: TransformerConfig, data: TrainingData) -> Transformer:
        """Builds a Transformer, with the weights of the model to fine-tune if there is one."""
        model = build_transformer(config, self.options.dtype_policy)
        self.transfer.update(self.starting_point.load_weights(model))
        self.vectors.set_embeddings(model, data.source_tokenizer, data.target_tokenizer)
        return model

    def built(self) -> dict[str, Any]:
        """Returns what was taken from models of other families, and how the run's searches."""
        return {**self.transfer, **self.starting_point.search()}

    def to_train(self, model: Transformer, data: TrainingData, plan: TrainPlan) -> TrainingModel:
        """Adds label-smoothed cross-entropy, R-Drop, or the distance from a teacher."""
        del data
        teacher = self.word_level.teacher() if self.word_level else None
        return training_model(model, plan, self.fresh(), teacher)

    def fresh(self) -> Collection[str]:
        """Returns the weights that come from no run of another family."""
        return self.transfer.get("transfer", {}).get("fresh", ())

    def validation(
        self, model: Transformer, data: TrainingData, plan: TrainPlan
    ) -> ValidationTranslations | None:
        """Translates validation sentences for BLEU."""
        return validation_translations(model, data, plan)

    def calibrate(self, model: Transformer, data: TrainingData, plan: TrainPlan) -> float | None:
        """Scores translations of validation sentences."""
        if data.valid is None or not plan.bleu_sentences:
            return None
        batches = evaluation_batches(data.valid, plan.batch_tokens)
        pairs = id_pairs(batches, model.config.special_ids)
        sources = [source for source, _ in spread(pairs, plan.bleu_sentences)]
        tokenizers = data.source_tokenizer, data.target_tokenizer
        translator = Translator(model, *tokenizers, max_source_length=None)
        found = translator.translate_ids(sources, **search_limits(sources))
        return calibrated(token_score(ids, total) for [(ids, _, total)] in found)

    def _planned_config(self) -> TransformerConfig:
        """Returns the config before the data is read; raises `ValueError` for invalid fields."""
        known = self.starting_point.tokenizers
        if known is None and isinstance(self.corpus, PreparedCorpus):
            known = self.corpus.source_tokenizer, self.corpus.target_tokenizer
        if known is not None:
            return self._config_for(known)
        # A vocabulary that is yet to be trained will have exactly the requested size, if any.
        size = self.vocabulary.size or MOST_PIECES
        return self.model_config((size, size), self.vocabulary.is_joint, SpecialIds())

    def _config_for(self, tokenizers: Tokenizers) -> TransformerConfig:
        return self.model_config(*vocabulary_of(*tokenizers))
