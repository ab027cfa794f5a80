"""The flags that name single texts to train on, and the corpus that each task reads from them."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from keras_transformer.cli.corpora import open_prepared
from keras_transformer.cli.parser import flag_of
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.data.sources.json_lines import (
    read_json_labelled,
    read_json_pairs,
    read_json_tagged,
    read_json_texts,
)
from keras_transformer.data.sources.tables.labelled import read_labelled
from keras_transformer.data.sources.tagged import TaggedCorpus, read_tagged
from keras_transformer.data.sources.texts import (
    LabelledCorpus,
    ScoredCorpus,
    TextCorpus,
    read_texts,
)
from keras_transformer.data.sources.tsv import read_tsv

if TYPE_CHECKING:
    from keras_transformer.data.prepared.corpus import PreparedCorpus

# The kinds of data that one flag names.
_NAMED = {"tfds": "tfds_name", "prepared": "prepared"}
AnyCorpus = TextCorpus | LabelledCorpus | ScoredCorpus | TaggedCorpus | Corpus
Reader = Callable[[list[Path]], Any]


class _Form(NamedTuple):
    """How a task's texts are written.

    Attributes:
        corpus: Takes what was read for training and for validation.
        files: "text" or "tsv": the flags of its files beside those of JSON lines.
        read: Reads these files.
        read_json: Reads files of JSON lines.
        tfds: Name of the function that loads a TFDS data set; None if there is none.
    """

    corpus: Callable[[Any, Any], AnyCorpus]
    files: str
    read: Reader
    read_json: Reader
    tfds: str | None


_PLAIN = _Form(TextCorpus, "text", read_texts, read_json_texts, "load_tfds_texts")
_FORMS = {
    "classify": _Form(
        LabelledCorpus, "tsv", read_labelled, read_json_labelled, "load_tfds_labelled"
    ),
    "rerank": _Form(ScoredCorpus, "tsv", read_labelled, read_json_labelled, None),
    "embed": _Form(Corpus, "tsv", read_tsv, read_json_pairs, "load_tfds_pairs"),
    "tag": _Form(TaggedCorpus, "text", read_tagged, read_json_tagged, None),
}


@dataclass(frozen=True, kw_only=True)
class PlainText:
    """Files of single texts.

    Args:
        train_text: Training text, one text a line, plain or .gz, one or many files (masked-lm,
            permutation-lm, causal-lm); lines of word/TAG word/TAG for tag.
        valid_text: Validation text.
        train_jsonl: Training files with a JSON object a line, plain or .gz, instead: {"text"}; for
            classify {"label", "text"}, and "second_text" for pairs; for embed {"text",
            "second_text"}; for tag {"words", "tags"}.
        valid_jsonl: Validation files with a JSON object a line.
        multi_label: Whether a text has any number of labels (classify, in --train-tsv): commas
            separate them, and a text without a label begins with the tab.
    """

    train_text: list[Path] = field(default_factory=list)
    valid_text: list[Path] = field(default_factory=list)
    train_jsonl: list[Path] = field(default_factory=list)
    valid_jsonl: list[Path] = field(default_factory=list)
    multi_label: bool = False


@dataclass(frozen=True, kw_only=True)
class TextFlags(PlainText):
    """The flags that name single texts to train on.

    Args:
        train_tsv: Training files of labelled or paired text.
        valid_tsv: Validation files of labelled or paired text.
        data: "tfds" for a data set by name, "prepared" for shards; files if it is not given.
        tfds_name: Name of the data set.
        tfds_dir: Directory of TensorFlow Datasets' data.
        tfds_download: Whether to download the data set if it is not on disk yet.
        prepared: Directory that `keras-transformer prepare` wrote.
        **plain: Fields of `PlainText`, which name files of plain text.
    """

    train_tsv: list[Path] = field(default_factory=list)
    valid_tsv: list[Path] = field(default_factory=list)
    data: str = "demo"
    tfds_name: str | None = None
    tfds_dir: Path | None = None
    tfds_download: bool = False
    prepared: Path | None = None

    def check(self, task: str) -> None:
        """Raises `ValueError` if the text of a task is missing, or that of another task is
        given.
        """
        form = _FORMS.get(task, _PLAIN)
        if self.multi_label and (task != "classify" or not self.train_tsv or self.valid_jsonl):
            raise ValueError("--multi-label is for --task classify with --train-tsv.")
        owners = dict.fromkeys(("tfds_name", "tfds_dir", "tfds_download"), "tfds")
        for name, owner in (owners | {"prepared": "prepared"}).items():
            if getattr(self, name) and self.data != owner:
                raise ValueError(f"{flag_of(name)} belongs to --data {owner}.")
        if self.data in _NAMED:
            self._check_named(task, form)
            return
        other = "text" if form.files == "tsv" else "tsv"
        for use in ("train", "valid"):
            if getattr(self, f"{use}_{other}"):
                raise ValueError(
                    f"--{use}-{other} is not for --task {task}, which reads --{use}-{form.files}."
                )
            if getattr(self, f"{use}_{form.files}") and getattr(self, f"{use}_jsonl"):
                raise ValueError(f"--{use}-jsonl replaces --{use}-{form.files}: give one of them.")
            for path in getattr(self, f"{use}_{form.files}"):
                if path.name.removesuffix(".gz").endswith(".jsonl"):
                    raise ValueError(
                        f"--{use}-{form.files} {path} holds JSON lines by its name: give it to "
                        f"--{use}-jsonl, or call it otherwise if JSON is what to learn."
                    )
        if not getattr(self, f"train_{form.files}") and not self.train_jsonl:
            raise ValueError(f"--task {task} needs --train-{form.files} or --train-jsonl.")

    def read(self, task: str) -> "AnyCorpus | PreparedCorpus":
        """Reads the files or the data set; errors are those of the functions that read them."""
        form = _FORMS.get(task, _PLAIN)
        if self.data == "prepared" and self.prepared:
            return open_prepared(self.prepared)
        if self.data == "tfds" and form.tfds:
            from keras_transformer.data.sources import named_texts

            load = getattr(named_texts, form.tfds)
            return load(self.tfds_name, self.tfds_dir, self.tfds_download)
        train, valid = (self._read_files(use, form) for use in ("train", "valid"))
        return form.corpus(train, valid)

    def _read_files(self, use: str, form: _Form) -> Any:
        json_lines = getattr(self, f"{use}_jsonl")
        files = json_lines or getattr(self, f"{use}_{form.files}")
        if not files:
            return None
        if self.multi_label:
            return read_labelled(files, multi_label=True)
        return form.read_json(files) if json_lines else form.read(files)

    def _check_named(self, task: str, form: _Form) -> None:
        if form.tfds is None or (self.data == "prepared" and form is not _PLAIN):
            raise ValueError(f"--data {self.data} is not for --task {task}: give --train-jsonl.")
        needed = _NAMED[self.data]
        if not getattr(self, needed):
            raise ValueError(f"--data {self.data} needs {flag_of(needed)}.")
        for kind in ("text", "tsv", "jsonl"):
            for use in ("train", "valid"):
                if getattr(self, f"{use}_{kind}"):
                    raise ValueError(f"--{use}-{kind} is not for --data {self.data}: leave it out.")
