"""The teacher of a distillation, a run or an exported artefact, and the options of its
translations.
"""

import hashlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.artefact.manifest import MANIFEST_FILE, Manifest, sha256_of
from keras_transformer.cli.artefact import check_finished_run
from keras_transformer.cli.families import require_family
from keras_transformer.cli.keras_side import load_training
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.distillation.targets import Targets
from keras_transformer.distillation.translations import check_share
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.options import LengthPenaltyType, SearchOptions
from keras_transformer.text.training_text import TrainingText


@dataclass(frozen=True, kw_only=True)
class TeachingOptions:
    """What the teacher translates, and how.

    Args:
        output: Run directory of the student to write; a killed command continues when called again.
        beam_size: Hypotheses that the teacher's search keeps.
        length_penalty: Exponent of its length penalty.
        length_penalty_type: Divisor of its log-probabilities, as for `translate`.
        num_hypotheses: Translations kept for each source.
        targets: Which of these the student learns: the "best", "all", or the "closest" to the
            target in the training text by BLEU.
        keep_originals: The student learns the training pairs themselves, too.
        word_level: Share of the loss that measures the distance from the distributions of the
            teacher, which then reads every batch, too; 0 for none. It needs a teacher that is a
            run, with the student's vocabulary, and neither R-Drop nor a strategy; if these hold the
            default is 0.5, else 0.
        shard_lines: Lines that are translated and written at once.
        shard: "I/N": translate the shards I, I + N, … only, and end. N processes, on any machines
            that see the output directory, translate all of them; the same command without this
            flag then trains.
    """

    output: Path
    beam_size: int = 5
    length_penalty: float = 0.6
    length_penalty_type: LengthPenaltyType = "gnmt"
    num_hypotheses: int = 1
    targets: Targets = "best"
    keep_originals: bool = False
    word_level: float | None = None
    shard_lines: int = 2_000
    shard: str | None = None

    def __post_init__(self) -> None:
        if self.shard_lines < 1:
            raise ValueError(f"shard_lines must be at least 1, got {self.shard_lines}.")
        if self.word_level is not None and not 0 <= self.word_level <= 1:
            raise ValueError(f"word_level must lie in [0, 1], got {self.word_level}.")
        if self.targets != "best" and self.num_hypotheses == 1:
            raise ValueError(
                f"targets={self.targets!r} chooses among several translations: raise "
                "num_hypotheses."
            )
        if self.shard is not None:
            check_share(self.shard)
        SearchOptions(**self.search)

    @property
    def search(self) -> dict[str, Any]:
        """The fields of `SearchOptions`."""
        names = ("beam_size", "length_penalty", "length_penalty_type", "num_hypotheses")
        return {name: getattr(self, name) for name in names}

    @property
    def folder(self) -> Path:
        """Where shards and artefacts are kept in the student's run directory."""
        return self.output / "distillation"


@dataclass(frozen=True)
class GivenTeacher:
    """The model that teaches, a run or an artefact.

    Attributes:
        path: Its directory.
        digest: SHA-256 of its model, or of an artefact's manifest, which has those of its files.
        artefact: Directory of what translates.
        width: Its `model_dim`.
    """

    path: Path
    digest: str
    artefact: Path
    width: int

    @classmethod
    def open(cls, path: Path, teaching: TeachingOptions) -> "GivenTeacher":
        """Checks what is given, without loading it."""
        require_family(path, "encoder-decoder")
        manifest = path / MANIFEST_FILE
        if manifest.is_file():
            if teaching.word_level:
                raise ValueError(
                    f"--word-level needs the teacher's run, and {path} is an exported artefact: "
                    "give the run that it was exported from."
                )
            return cls(path, sha256_of(manifest), path, Manifest.read(path).config["model_dim"])
        check_finished_run(path)
        run = RunDirectory(path)
        digest = sha256_of(run.model)
        own = teaching.folder / f"teacher-{digest[:12]}"
        return cls(path, digest, own, run.load_config().model_dim)

    @property
    def is_run(self) -> bool:
        """Whether it is a run, whose distributions a student can learn from."""
        return self.artefact != self.path

    @property
    def training_text(self) -> TrainingText | None:
        """What its training lines looked like; None if unknown."""
        if self.is_run:
            return RunDirectory(self.path).load_training_text()
        return Manifest.read(self.path).training_text

    @property
    def student_preset(self) -> str:
        """The size of a student of this teacher."""
        return "student-tiny" if self.width <= 256 else "student"

    def made_by(self, corpus: Corpus, teaching: TeachingOptions) -> dict[str, Any]:
        """Returns what decides the translations of a corpus."""
        sources = hashlib.sha256("\n".join(corpus.train.source).encode("utf-8"))
        return {
            "teacher_sha256": self.digest,
            "sources_sha256": sources.hexdigest(),
            **teaching.search,
            "shard_lines": teaching.shard_lines,
        }

    def export(self) -> None:
        """Writes the artefact of a run that has none yet."""
        if not (self.artefact / MANIFEST_FILE).is_file():
            print(f"exporting {self.path}, to translate on onnxruntime", flush=True)
            # Another process that shares the work may have been faster.
            with suppress(FileExistsError):
                export_fastest(self.path, self.artefact, overwrite=False)


def export_fastest(run: Path, artefact: Path, *, overwrite: bool) -> None:
    """Writes a run's artefact that is the fastest on every machine that may run it."""
    load_training()
    from keras_transformer.export import export_run

    export_run(run, artefact, overwrite=overwrite)
