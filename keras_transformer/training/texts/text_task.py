"""Training on single texts as a task: plain or labelled text, one stack of blocks."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property, partial
from typing import Any

from keras_transformer.config import SpecialIds
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.data.encoding.lost_spaces import lost_spaces
from keras_transformer.data.encoding.single_texts import EncodedTexts
from keras_transformer.data.encoding.stream import EncodedStream
from keras_transformer.data.encoding.unlabelled import with_unlabelled
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.data.sources.digest import TEXT_SHA256, text_sha256
from keras_transformer.data.sources.tagged import TaggedCorpus, TaggedTexts
from keras_transformer.data.sources.texts import LabelledTexts, Texts
from keras_transformer.features.feature_runs import FeatureRun
from keras_transformer.layers.variants.activations import activation_named
from keras_transformer.models.families import AnyModel, build_model
from keras_transformer.noise.pairs import read_shares, with_noise
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import ModelType, Tokenizer, train_fitting_tokenizer
from keras_transformer.text.training_text import TrainingText
from keras_transformer.text.vocabulary_size import MOST_PIECES
from keras_transformer.training.loop.compiling import choose_trained_weights, training_model
from keras_transformer.training.loop.training_model import TrainingModel
from keras_transformer.training.plan.lines import count_tokens
from keras_transformer.training.recipes import piece_rule
from keras_transformer.training.run.options import TrainOptions, TrainPlan
from keras_transformer.training.run.starting_point import StartingPoint
from keras_transformer.training.tasks.training_data import TrainingData
from keras_transformer.training.texts.class_weights import balanced_weights, counted, listed
from keras_transformer.training.texts.cross_view_model import CrossViewModel
from keras_transformer.training.texts.doubtful_labels import label_warnings
from keras_transformer.training.texts.embedding_model import EmbeddingTrainingModel
from keras_transformer.training.texts.memory_model import MemoryTrainingModel
from keras_transformer.training.texts.multi_label_model import MultiLabelTrainingModel
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.prepared_texts import open_prepared_texts
from keras_transformer.training.texts.score_model import ScoreTrainingModel
from keras_transformer.training.texts.tasks import AnyCorpus, TextKind
from keras_transformer.training.transfer.initial_embeddings import InitialVectors
from keras_transformer.training.transfer.parts import paths_between, why_new
from keras_transformer.training.transfer.weights import take_from_run


@dataclass(frozen=True)
class TextTask:
    """A task of `train_texts`; `Task` describes the methods.

    Attributes:
        name: The task's name.
        kind: What the model learns.
        corpus: The texts to learn from and, optionally, to validate on.
        starting_point: Existing tokenizer and weights to start from.
        vocab_size: Size of the vocabulary to train if there is none; None for as many pieces as the
            corpus can teach.
        tokenizer_type: Its kind.
        model_config: Takes the vocabulary's size and special ids and returns the model's config.
        options: How to train.
        text_options: What is made of the texts.
        dropout: Takes the tokens of the training texts and returns the rate that suits them; None
            for the config's.
        vectors: Word vectors that the embeddings begin as.
        transfer: What `build` took from the starting point, filled by it.
    """

    name: str
    kind: TextKind
    corpus: AnyCorpus
    starting_point: StartingPoint
    vocab_size: int | None
    tokenizer_type: ModelType
    model_config: Callable[[int, SpecialIds], ModelConfig]
    options: TrainOptions
    text_options: TextOptions
    dropout: Callable[[int], float | None]
    vectors: InitialVectors = InitialVectors()
    transfer: dict[str, Any] = field(default_factory=dict)

    def check(self) -> None:
        """Checks data, starting point and model against each other."""
        self.text_options.check(self.name)
        self.text_options.check_texts(
            [one for one in (self.corpus.train, self.corpus.valid) if one]
        )
        self.options.check_validation(has_valid=self.corpus.valid is not None)
        self.options.check_start(has_weights=self.starting_point.has_weights)
        if self.kind.has_in_batch_negatives:
            self.options.check_own_loss("embed, which tells each text from all others of its batch")
        if self.kind.has_scores:
            self.options.check_own_loss("rerank, whose labels are scores", of_rows=True)
        if self.text_options.crf:
            self.options.check_own_loss("tags with crf", of_rows=True)
        if self.text_options.unlabelled_text is not None:
            self.options.check_own_loss("unlabelled_text")
            if self._is_multi_label or getattr(self.corpus.train, "second", None) is not None:
                raise ValueError(
                    "unlabelled_text is for single texts with one label each: leave it out."
                )
        if self._is_multi_label:
            self.options.check_own_loss("texts with any number of labels")
            if self.text_options.class_weights:
                raise ValueError(
                    "class_weights is for texts with one label each, and these have any number: "
                    "leave it out."
                )
        if self.options.subword_sampling:
            raise ValueError("subword_sampling is for translation: leave it out.")
        self.options.check_translations(self.name)
        if isinstance(self.corpus, PreparedCorpus):
            self.starting_point.check_corpus(self.corpus)
        known = self._known_tokenizer()
        if known is None:
            special_ids = SpecialIds(mask=_next_id(SpecialIds()) if self.kind.has_mask else None)
            config = self.model_config(self.vocab_size or MOST_PIECES, special_ids)
        else:
            config = self.model_config(known.vocab_size, known.special_ids)
        self.vectors.check(config)
        if self._goes_on(config):
            self.options.check_memory()
        if getattr(config, "cutoffs", ()):
            self.options.check_own_loss("a model with cutoffs", of_rows=True)
        activation_named(config.activation)

    def read(self, directory: RunDirectory) -> TrainingData:
        """Trains the tokenizer, unless there is one, and encodes the corpus, or opens it."""
        if isinstance(self.corpus, PreparedCorpus):
            data = open_prepared_texts(
                self.kind, self.corpus, directory, self.options, self.text_options, self._config_for
            )
            return replace(data, record={"task": self.name, **data.record})
        for use, texts in (("training", self.corpus.train), ("validation", self.corpus.valid)):
            for note in getattr(texts, "notes", ()):
                print(note)
            if isinstance(texts, LabelledTexts | TaggedTexts) and not self.kind.has_scores:
                print(f"{use} {self._labels_noun}: {counted(texts.label_counts)}", flush=True)
        if isinstance(self.corpus.train, LabelledTexts) and not self.kind.has_scores:
            for line in label_warnings(self.corpus.train):
                print(f"warning: {line}", flush=True)
        tokenizer = self._open_tokenizer(directory)
        config = self._config_for(tokenizer)
        # Once: each loads its model when the first word is read.
        runs = self.text_options.feature_runs
        if directory.is_chief:
            for number, run in enumerate(runs):
                run.copy_to(directory.path, number)
        writes = self.kind.family is DecoderConfig
        if writes and (lost := lost_spaces(_lines(self._train), tokenizer)):
            print(
                f"warning: {lost}; the model will not write them: give a tokenizer that keeps them "
                '(`docs/fine_tuning.md`, "Line breaks")'
            )
        train = self._encode(self._train, tokenizer, config, "training", directory, runs)
        valid = None
        if self.corpus.valid is not None:
            valid = self._encode(
                self.corpus.valid, tokenizer, config, "validation", directory, runs
            )
        lines, unlabelled = _lines(self._train), self.text_options.unlabelled
        if unlabelled:
            lines += unlabelled
            origin, longest = str(self.text_options.unlabelled_text), self.options.max_length
            train, report = with_unlabelled(train, unlabelled, origin, tokenizer, longest)
            print(f"unlabelled texts: {report}")
        return TrainingData(
            tokenizer,
            tokenizer,
            train,
            valid,
            {
                "task": self.name,
                **self.text_options.to_dict(),
                "origin": self.corpus.train.origin,
                TEXT_SHA256: text_sha256(self.corpus.train, self.corpus.valid),
                # As asked for: a resumed run has read its tokenizer from its directory.
                "vocab_size": self.vocab_size or tokenizer.vocab_size,
                "tokenizer_type": self.tokenizer_type,
                "train": asdict(train.report),
                "valid": asdict(valid.report) if valid else None,
            },
            TrainingText.from_lines(
                [lines[number] for number in train.line_numbers],
                longest_source=train.longest_text,
            ),
        )

    def config(self, data: TrainingData) -> ModelConfig:
        """Returns the config for the data's vocabulary."""
        config = self._config_for(data.source_tokenizer)
        rate = self.dropout(count_tokens(data.train))
        return config if rate is None else replace(config, dropout=rate)

    def start(self) -> dict[str, Any]:
        """Returns hashes of the tokenizer, the model and the vectors to start from."""
        return {**self.starting_point.record(), **self.vectors.record()}

    def build(self, config: ModelConfig, data: TrainingData) -> AnyModel:
        """Builds the model; takes what fits from the model to start from, and prints what not."""
        model = build_model(config, self.options.dtype_policy)
        if isinstance(config, DecoderConfig) and config.character_dim is not None:
            pieces = data.source_tokenizer.pieces(range(config.vocab_size))
            model.embeddings.tokens.spell(pieces)  # type: ignore[union-attr]
        run = self.starting_point.run
        if run is not None:
            configs = run.load_config(), config
            found = take_from_run(model, run, paths_between(*configs), why_new(*configs))
            print(f"from {run.path}: {found}")
            self.transfer.update(found.to_dict())
        self.vectors.set_embeddings(model, data.source_tokenizer, data.target_tokenizer)
        return model

    def built(self) -> dict[str, Any]:
        """Returns what was taken from the model to start from, and how it searches."""
        found = self.starting_point.search() if self.kind.family is DecoderConfig else {}
        return {"transfer": self.transfer, **found} if self.transfer else found

    def to_train(self, model: AnyModel, data: TrainingData, plan: TrainPlan) -> TrainingModel:
        """Adds cross-entropy over the head's choices or the batch's texts, or of each label or
        score, or R-Drop.
        """
        if self.kind.has_in_batch_negatives:
            choose_trained_weights(model, plan, self.fresh())
            return EmbeddingTrainingModel(model)
        if self.kind.has_scores:
            choose_trained_weights(model, plan, self.fresh())
            return ScoreTrainingModel(model)
        if self._is_multi_label:
            choose_trained_weights(model, plan, self.fresh())
            return MultiLabelTrainingModel(model)
        if isinstance(data.train, EncodedStream):
            choose_trained_weights(model, plan, self.fresh())
            streams = (data.train, data.valid)
            rows = [
                one.rows(plan.batch_tokens) if isinstance(one, EncodedStream) else 0
                for one in streams
            ]
            return MemoryTrainingModel(model, plan.label_smoothing, *rows)
        if self.text_options.unlabelled_text is not None:
            choose_trained_weights(model, plan, self.fresh())
            to_train: TrainingModel = CrossViewModel(model, plan.label_smoothing)
        else:
            to_train = training_model(model, plan, self.fresh())
        if self.text_options.class_weights and isinstance(data.train, EncodedTexts):
            labels = getattr(model.config, "labels", ())
            to_train.class_weights = balanced_weights(data.train.count_labels(len(labels)))
            print(f"class weights: {listed(labels, to_train.class_weights, '.3g')}")
        return to_train

    def fresh(self) -> Collection[str]:
        """Returns the weights that the model to start from does not have."""
        return self.transfer.get("fresh", ())

    def validation(self, model: AnyModel, data: TrainingData, plan: TrainPlan) -> None:
        """Returns None: the validation loss is all."""

    def calibrate(self, model: AnyModel, data: TrainingData, plan: TrainPlan) -> None:
        """Returns None: there are no translations to score."""

    def _goes_on(self, config: ModelConfig) -> bool:
        """Returns whether the model remembers, of a stream, what it read before."""
        remembers = getattr(config, "memory_length", None) is not None
        return remembers and self.text_options.packing == "stream"

    @cached_property
    def _train(self) -> Any:
        """The training texts, with noise if it is asked for."""
        texts = self.corpus.train
        if not self.options.noise or not isinstance(texts, LabelledTexts):
            return texts
        noise = partial(with_noise, shares=read_shares(self.options.noise), seed=self.options.seed)
        first = noise(texts.first, texts.first)[0]
        second = texts.second and noise(texts.second, texts.second)[0]
        return replace(texts, first=first, second=second)

    @property
    def _is_multi_label(self) -> bool:
        return getattr(self.corpus.train, "multi_label", False)

    @property
    def _labels_noun(self) -> str:
        return "tags" if self.kind.corpus is TaggedCorpus else "labels"

    def _config_for(self, tokenizer: Tokenizer) -> ModelConfig:
        return self.model_config(tokenizer.vocab_size, tokenizer.special_ids)

    def _known_tokenizer(self) -> Tokenizer | None:
        """Returns the tokenizer to start with; raises `ValueError` if it does not serve."""
        known = self.starting_point.tokenizers
        if isinstance(self.corpus, PreparedCorpus):
            known = self.corpus.source_tokenizer, self.corpus.target_tokenizer
        if known is None:
            return None
        first, second = known
        if first.model != second.model:
            raise ValueError(
                "a model of single texts has one vocabulary, and these are two: one for the source "
                "and one for the target."
            )
        if self.kind.has_mask and first.special_ids.mask is None:
            raise ValueError(
                f"the vocabulary has no <mask>, which {self.name} needs: "
                + self._remedy("", "masked-lm or denoising")
            )
        if self.text_options.num_sentinels and len(first.sentinel_ids) < 2:
            raise ValueError(
                "the vocabulary has no sentinels (<extra_id_0> and so on), which "
                "denoising='sentinels' needs: "
                + self._remedy(" --num-sentinels 100 and", "denoising='sentinels'")
            )
        return first

    def _remedy(self, with_flag: str, owner: str) -> str:
        """Returns how to get a vocabulary that has what this one lacks."""
        if isinstance(self.corpus, PreparedCorpus):
            how = f"prepare the corpus with{with_flag} no --tokenizer"
        else:
            how = "leave --init and --tokenizer out, so that training makes one that has"
        return f"{how}, or give the tokenizer of a run of {owner}."

    def _open_tokenizer(self, directory: RunDirectory) -> Tokenizer:
        if directory.has_checkpoints or not directory.is_chief:
            return directory.load_tokenizers()[0]
        tokenizer = self._known_tokenizer()
        if tokenizer is None:
            lines = [*_lines(self._train), *self.text_options.unlabelled]
            tokenizer = train_fitting_tokenizer(
                lines,
                self.vocab_size,
                self.tokenizer_type,
                rule=piece_rule(self.name),
                has_mask=self.kind.has_mask,
                num_sentinels=self.text_options.num_sentinels,
            )
        directory.save_tokenizers(tokenizer, tokenizer)
        start = self.starting_point.run
        if start is not None and self.kind.family is DecoderConfig:
            directory.save_chat_template(start.load_chat_template())
        return tokenizer

    def _encode(
        self,
        texts: Any,
        tokenizer: Tokenizer,
        config: ModelConfig,
        use: str,
        directory: RunDirectory,
        runs: Sequence[FeatureRun],
    ) -> Any:
        encoded: Any = self.kind.encode(
            texts, tokenizer, config, self.options.max_length, self.text_options
        )
        print(f"{use} texts: {encoded.report}")
        if encoded.report.too_long and self.kind.family is DecoderConfig:
            print("to keep long texts, in several rows: packing='documents' (--packing documents)")
        if not runs:
            return encoded
        words = _words(texts)
        print(f"{use} texts: states of {sum(map(len, words)):,} words by {len(runs)} runs")
        features = tuple(run.stored(words, directory.path) for run in runs)
        return replace(encoded, features=features)


def _lines(texts: Any) -> list[str]:
    """Returns all texts that the vocabulary should know, those of the rows first."""
    if isinstance(texts, Texts):
        return list(texts.lines)
    if isinstance(texts, TaggedTexts):
        return [" ".join(words) for words in texts.words]
    if isinstance(texts, Pairs):
        return [*texts.source, *texts.target]
    return [*texts.first, *(texts.second or ())]


def _words(texts: Any) -> list[Sequence[str]]:
    """Returns the words of all texts, and then of all second texts."""
    if isinstance(texts, TaggedTexts):
        return list(texts.words)
    return [text.split() for text in (*texts.first, *(texts.second or ()))]


def _next_id(special_ids: SpecialIds) -> int:
    return special_ids.highest + 1
