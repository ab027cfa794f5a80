"""The corpus that the data flags name: the demo, parallel files, TSV, a TFDS data set, or shards
written by `prepare`.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from keras_transformer.cli.flags.text_files import TextFiles
from keras_transformer.cli.parser import flag_of, flags_in_errors
from keras_transformer.data.prepared.record import CorpusRecord
from keras_transformer.data.sources.corpus import Corpus, Pairs
from keras_transformer.data.sources.mixing import check_share, mixed
from keras_transformer.files.formats import FormatName
from keras_transformer.files.pairs import translated_pairs

if TYPE_CHECKING:
    from keras_transformer.data.prepared.corpus import PreparedCorpus

# The demo's sentences have about 3,000 different pieces; fewer are learnt faster.
_DEMO_VOCAB_SIZE = 2_000
_CATALOGUES: tuple[FormatName, ...] = ("po", "xliff", "tmx")


@dataclass(frozen=True, kw_only=True)
class DataOptions(TextFiles):
    """Which sentence pairs to train on.

    Args:
        data: Kind of data: the built-in English-Spanish "demo", parallel text "files", "tsv" files,
            files that hold texts beside their translations ("po", "xliff", "tmx"), a "tfds"
            translation data set, or what `keras-transformer prepare` wrote ("prepared").
        tfds_name: Name of the data set, such as ted_hrlr_translate/pt_to_en (tfds).
        tfds_dir: Directory of TensorFlow Datasets' data; its own default if not given (tfds).
        tfds_download: Download the data set if it is not on disk yet (tfds).
        prepared: Directory that `keras-transformer prepare` wrote (prepared).
        demo_size: Number of sentence pairs, 100 to 40,000 (demo).
        general_source: Source text of which a sample is mixed into the training pairs, so that a
            fine-tuned model (--init) does not forget (files, tsv).
        general_target: Target text, line by line with it, as many files.
        general_share: Fraction of the training pairs that this sample makes up.
        **file_fields: Fields of `TextFiles`, which name files of parallel text (files, tsv).
    """

    data: Literal["demo", "files", "tsv", "po", "xliff", "tmx", "tfds", "prepared"] = "demo"
    tfds_name: str | None = None
    tfds_dir: Path | None = None
    tfds_download: bool = False
    prepared: Path | None = None
    demo_size: int = 40_000
    general_source: list[Path] = field(default_factory=list)
    general_target: list[Path] = field(default_factory=list)
    general_share: float = 0.5

    def __post_init__(self) -> None:
        needed: dict[str, tuple[str, ...]] = {
            "demo": (),
            "files": ("train_source", "train_target"),
            "tsv": ("train_tsv",),
            **dict.fromkeys(_CATALOGUES, ("train_files",)),
            "tfds": ("tfds_name",),
            "prepared": ("prepared",),
        }
        for name in needed[self.data]:
            if not getattr(self, name):
                raise ValueError(f"--data {self.data} needs {flag_of(name)}.")
        if bool(self.valid_source) != bool(self.valid_target):
            raise ValueError("--valid-source and --valid-target go together: give both or none.")
        if bool(self.general_source) != bool(self.general_target):
            raise ValueError(
                "--general-source and --general-target go together: give both or none."
            )
        if self.general_source and self.data not in ("files", "tsv"):
            raise ValueError(
                f"--general-source needs --data files or tsv, but --data is {self.data}."
            )
        with flags_in_errors(DataOptions):
            check_share(self.general_share)
        self._refuse_flags_of_other_kinds()

    @property
    def has_valid(self) -> bool:
        """Whether the corpus is known to have validation pairs before it is read."""
        return bool(self.valid_source or self.valid_tsv or self.valid_files) or self.data == "demo"

    def _refuse_flags_of_other_kinds(self) -> None:
        """Raises an error that names a flag which would have no effect."""
        owners = {
            "train_source": "files",
            "train_target": "files",
            "valid_source": "files",
            "valid_target": "files",
            "train_tsv": "tsv",
            "valid_tsv": "tsv",
            "train_files": " or ".join(_CATALOGUES),
            "valid_files": " or ".join(_CATALOGUES),
            "tfds_name": "tfds",
            "tfds_dir": "tfds",
            "tfds_download": "tfds",
            "prepared": "prepared",
            "demo_size": "demo",
            "source_column": "tsv",
            "target_column": "tsv",
        }
        for name, owner in owners.items():
            if getattr(self, name) != flag_default(name) and self.data not in owner.split(" or "):
                raise ValueError(
                    f"{flag_of(name)} belongs to --data {owner}, but --data is {self.data}."
                )
        if self.general_share != flag_default("general_share") and not self.general_source:
            raise ValueError(
                "--general-share belongs to --general-source and --general-target, which are not "
                "given."
            )


def flag_default(name: str) -> Any:
    """Returns the value of a field of `DataOptions` whose flag is not given."""
    return getattr(DataOptions, name, [])  # a class has no attribute for a default that is a list


def default_vocab_size(options: DataOptions) -> int | None:
    """Returns the default number of pieces of a vocabulary; None for what the corpus can teach."""
    return _DEMO_VOCAB_SIZE if options.data == "demo" else None


def open_corpus(options: DataOptions) -> "Corpus | PreparedCorpus":
    """Opens a prepared corpus, or reads another one with `read_corpus`, whose errors it raises."""
    if options.data == "prepared" and options.prepared:
        return open_prepared(options.prepared)
    return read_corpus(options)


def open_prepared(directory: Path) -> "PreparedCorpus":
    """Opens a prepared corpus; errors are those of `PreparedCorpus.load`."""
    # Missing files are reported before the class below loads TensorFlow.
    CorpusRecord.load(directory)
    from keras_transformer.data.prepared.corpus import PreparedCorpus

    return PreparedCorpus.load(directory)


def read_corpus(options: DataOptions) -> Corpus:
    """Reads the pairs that the options name.

    Raises:
        FileNotFoundError: A file is missing.
        ValueError: A file's content is not usable (the message names file and line), or the corpus
            is prepared and has no text.
    """
    if options.data == "prepared":
        raise ValueError(
            "a prepared corpus holds ids instead of text: give the text that it was made from."
        )
    if options.data == "demo":
        from keras_transformer.data.sources.demo import demo_corpus

        return demo_corpus(size=options.demo_size)
    if options.data == "tfds" and options.tfds_name:
        from keras_transformer.data.sources.tfds import load_tfds

        return load_tfds(
            options.tfds_name,
            data_dir=options.tfds_dir,
            download=options.tfds_download,
        )
    if options.data in _CATALOGUES:
        return _read_catalogues(options)
    corpus = _read_tsv(options) if options.data == "tsv" else _read_files(options)
    if not options.general_source:
        return corpus
    from keras_transformer.data.sources.files import read_parallel

    general = read_parallel(options.general_source, options.general_target)
    return replace(corpus, train=mixed(corpus.train, general, options.general_share))


def _read_files(options: DataOptions) -> Corpus:
    from keras_transformer.data.sources.files import read_parallel

    train = read_parallel(options.train_source, options.train_target)
    valid = None
    if options.valid_source:
        valid = read_parallel(options.valid_source, options.valid_target)
    return Corpus(train=train, valid=valid, test=None)


def _read_tsv(options: DataOptions) -> Corpus:
    from keras_transformer.data.sources.tsv import read_tsv

    columns = {"source_column": options.source_column, "target_column": options.target_column}
    train = read_tsv(options.train_tsv, **columns)
    valid = read_tsv(options.valid_tsv, **columns) if options.valid_tsv else None
    return Corpus(train=train, valid=valid, test=None)


def _read_catalogues(options: DataOptions) -> Corpus:
    return Corpus(
        train=read_catalogues(options.train_files, options.data),
        valid=read_catalogues(options.valid_files, options.data) if options.valid_files else None,
    )


def read_catalogues(paths: Sequence[Path], name: Any) -> Pairs:
    """Reads the pairs of files of one format that hold texts beside their translations.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file is of another format, or holds no translation.
    """
    pairs = [pair for path in paths for pair in translated_pairs(path, name)]
    source, target = zip(*pairs, strict=True)
    return Pairs(source, target, ", ".join(map(str, paths)))
