"""The flags of a training run: task, model size, vocabulary, starting point and directory."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from keras_transformer.cli.flags.products import Products
from keras_transformer.text.tokenizer import ModelType, check_vocab_size

TaskName = Literal[
    "translation",
    "masked-lm",
    "permutation-lm",
    "causal-lm",
    "classify",
    "rerank",
    "tag",
    "embed",
    "denoising",
]
Preset = Literal[
    "tiny",
    "small",
    "base",
    "big",
    "student-tiny",
    "student",
    "bert-tiny",
    "bert-base",
    "bert-large",
    "xlnet-tiny",
    "gpt2-tiny",
    "gpt2",
    "gpt2-medium",
    "llama-tiny",
    "lstm-tiny",
    "transformer-xl-tiny",
]


@dataclass(frozen=True, kw_only=True)
class RunOptions:
    """The model's size, its vocabulary and where the run is kept.

    Args:
        output: Run directory to write.
        task: What to train: "translation" of parallel text; on plain text (--train-text) an encoder
            that fills in hidden tokens ("masked-lm") or predicts some in random order
            ("permutation-lm"), or a decoder that continues texts ("causal-lm"); on labelled text
            (--train-tsv) an encoder that names the label of a text ("classify"); on queries and
            texts with scores (--train-tsv) one that scores such pairs ("rerank"); on pairs of texts
            that mean the same (--train-tsv) one that gives them similar vectors ("embed"); on words
            with tags (--train-text) one that tags words ("tag"); on plain text a translation's
            model that restores hidden spans ("denoising").
        preset: Model size: for translation tiny, small, base or big ("base" and "big" are the
            paper's), or student-tiny or student, which translate fastest; for masked-lm, classify,
            embed and tag bert-* and xlnet-tiny; for permutation-lm xlnet-tiny; for causal-lm gpt2*,
            llama-tiny, lstm-tiny and transformer-xl-tiny. If not given, that of --init, or the
            first of these. Single fields: --model.*.
        memory_length: Tokens before a row that a model with relative positions remembers, as
            --model.memory_length (causal-lm).
        cutoffs: Ids, in rising order, each of which begins a cluster of rarer ids with narrower
            embeddings (by --model.div-value), for adaptive input and softmax (causal-lm; default:
            one matrix of all ids).
        vocab_size: Pieces of the vocabulary, special ids included (default: one for each 300
            characters, 8000 at most; for the demo 2000).
        tokenizer_type: Kind of SentencePiece model; "char" has a piece for each character.
        joint_vocabulary: One vocabulary for both languages, or one for each (translation).
        tokenizer: Existing vocabulary for both languages, or two, the source's and the target's:
            SentencePiece models, or a tokenizer.json with byte-level BPE or WordPiece.
        init: Directory of a finished run to fine-tune: training starts from its weights, with its
            vocabulary and, for translation, its size; rates of dropout may differ. Other tasks take
            the weights that fit from any run, and list the others. A translator takes the encoder
            of a run of masked-lm or classify.
        init_decoder: Directory of a finished run of causal-lm, whose decoder a translator takes
            (translation).
        init_vectors: File of word vectors with which the embeddings of words begin (translation:
            the source's): text of word2vec, GloVe or fastText, plain or .gz; word2vec's binary; a
            model of fastText (.bin).
        init_target_vectors: The same for the target's embeddings (translation).
        products: The factors of matrix products: as they are ("float32"), or rounded to bfloat16,
            with sums in float32. "auto" rounds where the processor multiplies matrices of bfloat16
            much faster (Intel's with AMX).
        resume: Continue the run in the output directory where it stopped; start one if there is
            none.
        dry_run: Print the plan, with minutes and memory measured on ten updates, and write nothing.
        print_config: Print all options as YAML for --config, with the values that options which are
            not given have for this corpus, and write nothing.
    """

    output: Path
    task: TaskName = "translation"
    preset: Preset | None = None
    memory_length: int | None = None
    cutoffs: list[int] = field(default_factory=list)
    vocab_size: int | None = None
    tokenizer_type: ModelType = "unigram"
    joint_vocabulary: bool = True
    tokenizer: list[Path] = field(default_factory=list)
    init: Path | None = None
    init_decoder: Path | None = None
    init_vectors: Path | None = None
    init_target_vectors: Path | None = None
    products: Products = "auto"
    resume: bool = False
    dry_run: bool = False
    print_config: bool = False

    def __post_init__(self) -> None:
        if self.vocab_size is not None:
            check_vocab_size(self.vocab_size)

    def trial(self) -> dict[str, Any]:
        """Returns the arguments of `train` that say whether it only plans, and how loudly."""
        if self.print_config:
            return {"dry_run": True, "verbose": 0}
        return {"dry_run": self.dry_run}

    @property
    def whole_start(self) -> Path | None:
        """The run that a translation starts from, unless its decoder comes from another run."""
        return self.init if self.init_decoder is None else None
