"""Training from start to end: a corpus becomes a run directory and a model of the task that the
corpus is for.
"""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import keras

from keras_transformer.config.checks import check_choice
from keras_transformer.data.prepared.corpus import PreparedCorpus
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.data.sources.tagged import TaggedCorpus
from keras_transformer.data.sources.texts import LabelledCorpus, ScoredCorpus, TextCorpus
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.text.tokenizer import ModelType, Tokenizer
from keras_transformer.text.tokenizer_files import Tokenizers
from keras_transformer.training.recipes import WORD_LEVEL, Recipe
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.training_run import Verbose
from keras_transformer.training.run.translation import train_translation
from keras_transformer.training.texts.options import TextOptions
from keras_transformer.training.texts.tasks import KINDS, AnyCorpus, TextTaskName
from keras_transformer.training.texts.train import train_texts

TaskName = Literal["translation"] | TextTaskName
TRANSLATION = "translation"
# The task of each corpus that is for one alone if none is named.
_TASKS: dict[type, str] = {
    Corpus: TRANSLATION,
    LabelledCorpus: "classify",
    ScoredCorpus: "rerank",
    TaggedCorpus: "tag",
}
# What arguments for some tasks alone are if they are not given; None if nothing else is said.
_DEFAULTS = {"joint_vocabulary": True, "word_level": WORD_LEVEL}
_INSTEAD = {
    "tokenizer": "give tokenizers=(source, target)",
    "tokenizers": "give tokenizer, one for all texts",
}
# The tasks that plain texts are for.
_PLAIN = {name: kind for name, kind in KINDS.items() if kind.corpus is TextCorpus}


def train(
    corpus: AnyCorpus,
    directory: str | os.PathLike[str],
    *,
    task: TaskName | None = None,
    preset: str | None = None,
    overrides: dict[str, Any] | None = None,
    vocab_size: int | None = None,
    tokenizer_type: ModelType = "unigram",
    joint_vocabulary: bool = True,
    tokenizers: Tokenizers | None = None,
    tokenizer: Tokenizer | None = None,
    init: str | os.PathLike[str] | None = None,
    init_decoder: str | os.PathLike[str] | None = None,
    init_vectors: str | os.PathLike[str] | None = None,
    init_target_vectors: str | os.PathLike[str] | None = None,
    teacher: str | os.PathLike[str] | None = None,
    word_level: float = WORD_LEVEL,
    options: TrainOptions | None = None,
    recipe: Recipe | None = None,
    text_options: TextOptions | None = None,
    resume: bool = False,
    dry_run: bool = False,
    callbacks: list[keras.callbacks.Callback] | None = None,
    verbose: Verbose = "auto",
) -> keras.callbacks.History:
    """Trains a model on a corpus: a translation on pairs, other tasks on single texts.

    Args:
        corpus: Training texts and, optionally, validation texts: a `Corpus` of pairs, a
            `TextCorpus`, a `LabelledCorpus`, a `ScoredCorpus` or a `TaggedCorpus`. Those of a
            `PreparedCorpus` are streamed from disk, and its vocabularies are used.
        directory: Run directory, created if missing; `docs/concepts.md` lists its files.
        task: "translation", or a task of `train_texts`. If None, the corpus's: "translation" for
            pairs, "classify" for labelled texts, "rerank" for scored ones, "tag" for tagged ones;
            for plain texts that which `text_options` are for, or that of the family of `preset` or
            `init`: "masked-lm" for an encoder, "causal-lm" for a decoder, "denoising" for an
            encoder-decoder.
        preset: A size that the task's family knows; that of `init`, or the smallest, if None.
        overrides: Fields of the config that replace the preset's.
        vocab_size: Number of pieces in the vocabulary (in each, if there are two); if None, as many
            as the corpus can teach, 8,000 at most.
        tokenizer_type: "unigram", "bpe" or "char".
        joint_vocabulary: Whether a translation's source and target share a vocabulary.
        tokenizers: Existing tokenizers of a translation's source and target, the same object twice
            for a shared vocabulary; None to train them on the corpus.
        tokenizer: The same of a task on single texts, one tokenizer.
        init: Directory of a finished run to fine-tune, whose weights and tokenizers are used.
            `preset` and `overrides`, if given, must be those it was trained with, except for
            dropout rates.
            Or of a run of an encoder alone: it becomes the encoder, with its vocabulary, sizes and
            choices, from which `preset`, if given, must not differ. Weights are taken where layer
            path and shape are the same; what does not fit is listed in print and in
            `training.json`. Other tasks take the weights of a run of any of them so.
        init_decoder: Directory of a finished run of a decoder alone, which becomes the decoder in
            the same way.
        init_vectors: File of word vectors of word2vec, GloVe or fastText that the source's
            embeddings begin as, and the target's if they are the same.
        init_target_vectors: File of those that the target's embeddings begin as.
        teacher: Directory of a finished run of the same vocabularies, whose distributions the model
            learns from, too (word-level distillation); `tokenizers` are then given.
        word_level: Share of the loss that these distributions have, in (0, 1].
        options: How to train, as far as it is asked for.
        recipe: What decides the rest; if None, that of fine-tuning a translation's run, or of the
            preset and the task.
        text_options: What is made of single texts; the defaults of `TextOptions` if None.
        resume: Whether to resume from the newest checkpoint in `directory`; if there is none,
            training starts from the beginning.
        dry_run: Whether to print the plan and to make ten updates, for its minutes and memory, and
            to leave nothing behind. With `verbose=0` it only plans.
        callbacks: Additional Keras callbacks.
        verbose: As of Keras's `fit`; 0 prints nothing, the plan included.

    Returns:
        Keras's `History`: `history` has the figures of all rounds, those before a resumption
        included, and `model` is the finished model, as saved in `model.keras`. Of a dry run
        `params` has the settled `options` and `config` instead, as `training.json` has them.

    Raises:
        FileExistsError: The directory holds a run already and `resume` is False, a finished model
            without a checkpoint to resume from, or files that no run writes.
        FileNotFoundError: `init` or `teacher` holds no finished run, or a file of vectors is
            missing.
        ImportError: There are word vectors, and gensim is not installed.
        TypeError: `corpus` is not a corpus, or not the task's, or `tokenizers` are not two
            tokenizers.
        ValueError: No task is named and several are for the corpus, an argument is for another
            task, Keras runs on another backend than TensorFlow, the run to resume was started
            with other settings, an option needs validation pairs and there are none, a model of
            this config cannot take the weights of `init` or the vectors, or the teacher has another
            vocabulary.
        DamagedCheckpointError: None of the run's checkpoints can be read.
        FloatingPointError: A loss or the weights became NaN or Inf; the message names the batch.
        OSError: The disk is full; the checkpoints so far are intact.
        ConnectionError: Another worker is gone.

    Example:
        `train(TextCorpus(texts), "runs/bert", preset="bert-tiny").model`
    """
    require_tensorflow_backend("train")
    # Either of the two checks that the corpus is for its task.
    texts: Any = corpus
    chosen: Any = task or _task_of(corpus, text_options, preset, init)
    check_choice("task", chosen, [TRANSLATION, *KINDS])
    of_translation: dict[str, Any] = {
        "joint_vocabulary": joint_vocabulary,
        "tokenizers": tokenizers,
        "init_decoder": init_decoder,
        "init_target_vectors": init_target_vectors,
        "teacher": teacher,
        "word_level": word_level,
    }
    of_texts: dict[str, Any] = {"tokenizer": tokenizer, "text_options": text_options}
    shared: dict[str, Any] = {
        "preset": preset,
        "overrides": overrides,
        "vocab_size": vocab_size,
        "tokenizer_type": tokenizer_type,
        "init": init,
        "init_vectors": init_vectors,
        "options": options,
        "recipe": recipe,
        "resume": resume,
        "dry_run": dry_run,
        "callbacks": callbacks,
        "verbose": verbose,
    }
    if chosen == TRANSLATION:
        _refuse_given(of_texts, "tasks on single texts", chosen)
        return train_translation(texts, directory, **shared, **of_translation)
    _refuse_given(of_translation, TRANSLATION, chosen)
    return train_texts(chosen, texts, directory, **shared, **of_texts)


def _task_of(
    corpus: object,
    options: TextOptions | None,
    preset: str | None,
    init: str | os.PathLike[str] | None,
) -> str:
    """Returns the task that a corpus is for, of plain texts by what else is given."""
    if isinstance(corpus, PreparedCorpus):
        if not corpus.is_single:
            return TRANSLATION
    elif not isinstance(corpus, TextCorpus):
        for corpus_class, task in _TASKS.items():
            if isinstance(corpus, corpus_class):
                return task
        raise TypeError(
            "corpus must be a Corpus, TextCorpus, LabelledCorpus, ScoredCorpus, TaggedCorpus or "
            "PreparedCorpus, "
            f"got {type(corpus).__name__}: wrap pairs as Corpus(train=pairs), texts as "
            "TextCorpus(train=texts)."
        )
    asked = options.owners().values() if options else ()
    owners = {task for tasks in asked for task in tasks if task in _PLAIN}
    family = None
    if preset is None and init is not None:
        run = RunDirectory(Path(init))
        run.check_finished()
        family = run.load_config().family
    for task, kind in _PLAIN.items():
        fits = preset in kind.family.presets or kind.family.family == family
        if task in owners or (not owners and fits):
            return task
    raise ValueError(
        f"task must be one of {', '.join(_PLAIN)} for plain texts, got None, and nothing else that "
        "is given tells which: name the task, or a preset of its family."
    )


def _refuse_given(arguments: Mapping[str, Any], owner: str, task: str) -> None:
    """Raises `ValueError` if an argument that another task has is given."""
    for name, value in arguments.items():
        if value != _DEFAULTS.get(name):
            is_plain = isinstance(value, int | float | str | os.PathLike)
            shown = str(value) if is_plain else f"a {type(value).__name__}"
            mend = _INSTEAD.get(name, "leave it out")
            raise ValueError(f"{name} is for {owner}, not for {task}, got {shown}: {mend}.")
