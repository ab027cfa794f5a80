"""Options of training on single texts, in addition to those of every training run."""

import dataclasses
import hashlib
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from keras_transformer.config.checks import check_declared, check_size
from keras_transformer.config.decoder_only import Direction
from keras_transformer.config.embedding import FeatureConfig
from keras_transformer.data.sources.files import read_phrases, require_files, require_rereadable
from keras_transformer.data.sources.texts import read_texts
from keras_transformer.features.feature_runs import FeatureRun
from keras_transformer.features.sizes import FeatureLayers
from keras_transformer.runs.run_directory import RunDirectory

# The tasks of each option.
_OWNERS = {
    "masking": ("masked-lm",),
    "phrases": ("masked-lm",),
    "packing": ("causal-lm",),
    "direction": ("causal-lm",),
    "next_sentence": ("masked-lm",),
    "partial_prediction": ("permutation-lm",),
    "denoising": ("denoising",),
    "class_weights": ("classify", "tag"),
    "crf": ("tag",),
    "features": ("classify", "tag"),
    "feature_layers": ("classify", "tag"),
    "unlabelled_text": ("classify", "tag"),
}
# Of a new vocabulary with sentinels, as T5 has them.
_NUM_SENTINELS = 100


@dataclasses.dataclass(frozen=True, kw_only=True)
class TextOptions:
    """How a model learns from plain text.

    Args:
        masking: Units that masked-lm hides: single "tokens", "whole-words", "spans" of three tokens
            on average, or "phrases" of a file, and words that are in none.
        phrases: File of phrases, one a line, for masking="phrases".
        packing: Whether causal-lm joins texts to rows of --max-length tokens: "none" for a row a
            text, "documents" for rows within a document, which an empty line ends, "stream" for
            rows across documents.
        direction: Whether causal-lm predicts each token from those before it ("forward") or reads
            texts from the end ("backward"). None: as the run to start from, else "forward".
        denoising: What denoising writes: "infilling" the whole text, in which a mask replaced each
            of some spans (BART), "sentinels" these spans alone, each after its sentinel (T5),
            "prefix" what follows a beginning of random length (prefix language modelling).
        next_sentence: Whether masked-lm also learns if a sentence follows another one, as in BERT:
            a line is a sentence, and an empty line ends a document.
        partial_prediction: permutation-lm predicts one in this many tokens: the K of XLNet.
        class_weights: "balanced" gives all labels of classify, or tags of tag, the same weight in
            the loss, however many texts have them: each text weighs n / (labels · count), with n
            texts and count of its label. Accuracies are unweighted. None: all texts weigh alike.
        crf: Whether tag also learns how tags follow each other, and finds the tags of a text
            together, with a conditional random field.
        features: Finished runs whose states classify and tag read for each word, beside its tokens:
            of causal-lm in either direction (ELMo, Flair), of encoders, or of translators, whose
            encoder is used (CoVe). Their weights stay fixed.
        feature_layers: "all" for a learned mix of the states of all layers (ELMo), "last" for the
            states of the last layer (Flair).
        unlabelled_text: File of texts without labels, one a line, from which classify and tag learn
            as well: predictions from parts of a text learn to match those from the whole text
            (cross-view training). Each update then costs about four.

    Raises:
        ValueError: A choice is unknown, or `partial_prediction` is below 2.
        TypeError: `next_sentence` or `crf` is not True or False, or `partial_prediction` is not an
            integer.
    """

    masking: Literal["tokens", "whole-words", "spans", "phrases"] = "tokens"
    phrases: Path | None = None
    packing: Literal["none", "documents", "stream"] = "none"
    direction: Direction | None = None
    denoising: Literal["infilling", "sentinels", "prefix"] = "infilling"
    next_sentence: bool = False
    partial_prediction: int = 6
    class_weights: Literal["balanced"] | None = None
    crf: bool = False
    features: tuple[Path, ...] = ()
    feature_layers: FeatureLayers = "all"
    unlabelled_text: Path | None = None

    def __post_init__(self) -> None:
        check_declared(self)
        check_size("partial_prediction", self.partial_prediction, least=2)

    def owners(self) -> dict[str, tuple[str, ...]]:
        """Returns the tasks of each option that is not the default."""
        return {
            name: tasks
            for name, tasks in _OWNERS.items()
            if getattr(self, name) != getattr(TextOptions, name)
        }

    def check(self, task: str) -> None:
        """Raises `ValueError` if an option is of another task."""
        for name, tasks in self.owners().items():
            if task not in tasks:
                value = getattr(self, name)
                shown = str(value) if isinstance(value, Path) else value
                raise ValueError(f"{name}={shown!r} is for {' and '.join(tasks)}, not for {task}.")
        if self.crf and self.class_weights is not None:
            raise ValueError(
                f"class_weights={self.class_weights!r} does not go with crf, for which all tags of "
                "a text have one loss: leave one of them out."
            )
        if self.crf and self.unlabelled_text is not None:
            raise ValueError(
                "unlabelled_text does not go with crf, whose tags have no probabilities one by "
                "one: leave one of them out."
            )
        if self.features and self.unlabelled_text is not None:
            raise ValueError("unlabelled_text does not go with features: leave one of them out.")
        if self.masking == "phrases" and self.phrases is None:
            raise ValueError("phrases must name a file, one phrase a line, for masking='phrases'.")
        if self.masking != "phrases" and self.phrases is not None:
            raise ValueError(f"phrases is for masking='phrases', not for {self.masking!r}.")
        self.read_phrases()
        self.feature_configs()
        _ = self.unlabelled

    @property
    def feature_runs(self) -> tuple[FeatureRun, ...]:
        """The runs whose states are features."""
        return tuple(
            FeatureRun(RunDirectory(Path(one)), self.feature_layers) for one in self.features
        )

    def feature_configs(self) -> tuple[FeatureConfig, ...]:
        """Returns what each of these runs gives for a word.

        Raises:
            FileNotFoundError: A directory holds no finished run.
            ValueError: A run's model itself reads features of others.
        """
        return tuple(one.config for one in self.feature_runs)

    @property
    def num_sentinels(self) -> int:
        """How many sentinels a new vocabulary gets."""
        return _NUM_SENTINELS if self.denoising == "sentinels" else 0

    def read_phrases(self) -> tuple[str, ...]:
        """Returns the phrases; errors are those of `read_phrases` of files."""
        return () if self.phrases is None else read_phrases(self.phrases)

    # Read once: it may be long.
    @cached_property
    def unlabelled(self) -> tuple[str, ...]:
        """The texts without labels; errors are those of `read_texts`, and of a pipe."""
        if self.unlabelled_text is None:
            return ()
        require_files([self.unlabelled_text])
        require_rereadable([self.unlabelled_text])
        return tuple(read_texts(self.unlabelled_text).lines)

    def check_texts(self, texts: Sequence[Any]) -> None:
        """Raises `ValueError` if texts lack what an option needs.

        Args:
            texts: Those to train on, and those to validate on.
        """
        for one in texts:
            if self.next_sentence and one.num_documents < 2:
                raise ValueError(
                    "next_sentence draws random sentences of other documents, and "
                    f"{one.origin} has one document only: separate documents by empty lines."
                )

    def check_prepared(self) -> None:
        """Raises `ValueError` if an option needs text, which a prepared corpus does not hold."""
        for name in ("packing", "next_sentence"):
            if (value := getattr(self, name)) != getattr(TextOptions, name):
                raise ValueError(
                    f"{name}={value!r} needs the text, and a prepared corpus holds rows: leave it "
                    "out, or train on the text files."
                )

    def to_dict(self) -> dict[str, Any]:
        """Returns the fields as plain JSON values; of files and runs what tells whether they
        changed.
        """
        files = {"phrases": self.read_phrases(), "unlabelled_text": self.unlabelled}
        hashes = {
            name: hashlib.sha256("\n".join(lines).encode()).hexdigest() if lines else None
            for name, lines in files.items()
        }
        features = [one.digest for one in self.feature_runs] or None
        fields = {**dataclasses.asdict(self), **hashes, "features": features}
        del fields["feature_layers"]  # Its digests tell it.
        return fields
