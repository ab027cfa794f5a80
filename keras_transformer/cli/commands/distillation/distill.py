"""`keras-transformer distill`: knowledge distillation.

Translates training text with a finished model, trains a small one on the translations, and compares
the two.
"""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from jsonargparse import Namespace

from keras_transformer.cli.artefact import open_tokenizers
from keras_transformer.cli.commands.distillation.teacher import (
    GivenTeacher,
    TeachingOptions,
    export_fastest,
)
from keras_transformer.cli.corpora import DataOptions, read_corpus
from keras_transformer.cli.flags.training import (
    DEMO_MODEL,
    DEMO_TRAINING,
    MODEL_FIELDS,
    add_model_flags,
    add_recipe_flags,
    model_overrides,
    open_vocabularies,
)
from keras_transformer.cli.keras_side import (
    ThreadOptions,
    limit_threads,
    load_training,
    require_training,
)
from keras_transformer.cli.parser import CommandParser, flags_in_errors, read_fields
from keras_transformer.data.sources.corpus import Corpus
from keras_transformer.distillation.comparison import compare, table
from keras_transformer.distillation.targets import student_pairs
from keras_transformer.distillation.translations import Translations, share_of
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.training.recipes import RECIPES, WORD_LEVEL, Recipe
from keras_transformer.training.run.model_config import model_config, vocabulary_of
from keras_transformer.training.run.options import TrainOptions
from keras_transformer.training.run.resuming import as_begun, check_settings, refuse_to_overwrite
from keras_transformer.whole_files import check_output, write_text

RECORD = "distillation.json"
# What belongs to starting from trained weights, which a student does not.
_NOT_FOR_STUDENTS = ("freeze", "layer_decay", "unfreeze_steps", "lora_rank", "rehearsal")
# Compared on more, the speeds say no more.
_COMPARED_SENTENCES = 1_000


@dataclass(frozen=True, kw_only=True)
class StudentOptions:
    """The model to train, the student.

    Args:
        preset: Its size; if not given, student-tiny for a teacher of at most 256 features, else
            student. Single fields: --model.*.
        tokenizer: Vocabulary for both languages, or two, as for `train`; the teacher's if not
            given.
    """

    preset: Literal["tiny", "small", "base", "big", "student-tiny", "student"] | None = None
    tokenizer: list[Path] = field(default_factory=list)


def main(arguments: Sequence[str]) -> int:
    """Runs the subcommand; returns the exit code."""
    given = build_parser().parse(arguments)
    threads = read_fields(given, ThreadOptions).threads
    limit_threads(threads)
    data, teaching = read_fields(given, DataOptions), read_fields(given, TeachingOptions)
    student = read_fields(given, StudentOptions)
    teacher = GivenTeacher.open(given.run, teaching)
    teaching = replace(teaching, word_level=_word_level(given, teaching, teacher, student))
    preset = student.preset or teacher.student_preset
    recipe = _recipe(data, teaching, preset)
    options = read_fields(given, TrainOptions, skip=_NOT_FOR_STUDENTS)
    options = as_begun(RunDirectory(teaching.output), options, resume=True)
    options = options.filled(recipe.settings())
    overrides = {**(DEMO_MODEL if data.data == "demo" else {}), **model_overrides(given["model"])}
    if not student.tokenizer:
        options = options.with_spans_of(teacher.training_text)
    tokenizers = open_vocabularies(student.tokenizer) or open_tokenizers(given.run)
    with flags_in_errors(TeachingOptions, TrainOptions, model_fields=MODEL_FIELDS):
        _check_first(teaching, student, options)
        sizes = vocabulary_of(*tokenizers)
        config = model_config(preset, overrides, *sizes, max_length=options.max_length)
        _check_begun(teaching, {"config": config.to_dict(), "options": options.to_dict()})
    corpus = read_corpus(data)
    options.check_validation(has_valid=corpus.valid is not None)
    made_by = teacher.made_by(corpus, teaching)
    translations = _translate(teacher, corpus.train.source, made_by, teaching, threads)
    if translations is None:
        return 0
    pairs = student_pairs(
        corpus.train, translations, teaching.targets, keep_originals=teaching.keep_originals
    )
    with flags_in_errors(TeachingOptions, TrainOptions, model_fields=MODEL_FIELDS):
        model = (
            load_training()
            .train(
                Corpus(pairs, corpus.valid),
                teaching.output,
                preset=preset,
                overrides=overrides,
                tokenizers=tokenizers,
                teacher=given.run if teaching.word_level else None,
                word_level=teaching.word_level or WORD_LEVEL,
                options=options,
                recipe=recipe,
                resume=True,
            )
            .model
        )
    print(
        f"trained student: {teaching.output / 'model.keras'} ({model.count_params():,} parameters)"
    )
    record: dict[str, Any] = {
        "teacher": str(given.run),
        "translations": made_by,
        "targets": teaching.targets,
        "keep_originals": teaching.keep_originals,
        "word_level": teaching.word_level,
        "pairs": len(pairs),
    }
    if corpus.valid is not None:
        record["comparison"] = _compare(teacher, corpus, teaching)
    write_text(teaching.output / RECORD, json.dumps(record, indent=2) + "\n")
    return 0


def _check_first(teaching: TeachingOptions, student: StudentOptions, options: TrainOptions) -> None:
    """Refuses settings before a line is translated."""
    require_training()
    check_output(teaching.output, is_directory=True)
    refuse_to_overwrite(RunDirectory(teaching.output), resume=True)
    if not teaching.word_level:
        return
    options.check_word_level()
    if student.tokenizer:
        raise ValueError(
            "--word-level needs a student with the teacher's vocabulary, but --tokenizer gives "
            "it another one: leave one of the two out."
        )


def _check_begun(teaching: TeachingOptions, settings: dict[str, Any]) -> None:
    """Checks, before a line is translated, that a run in the output directory can be continued."""
    run = RunDirectory(teaching.output)
    if not run.has_checkpoints:
        return
    if not teaching.folder.exists() and not (teaching.output / RECORD).exists():
        raise FileExistsError(
            f"{run.path} holds a run that was not started by `distill`: choose another directory "
            "for the student (--output)."
        )
    check_settings(run, settings)


def _word_level(
    given: Namespace, teaching: TeachingOptions, teacher: GivenTeacher, student: StudentOptions
) -> float:
    """Returns the share that was given, or the usual one unless another flag forbids it."""
    if teaching.word_level is not None:
        return teaching.word_level
    excluded = student.tokenizer or given["r_drop"] or given["strategy"]
    return WORD_LEVEL if teacher.is_run and not excluded else 0.0


def _translate(
    teacher: GivenTeacher,
    sources: Sequence[str],
    made_by: dict[str, Any],
    teaching: TeachingOptions,
    threads: int | None,
) -> list[list[str]] | None:
    """Returns the translations of the training sources; None after a part of them."""
    folder = teaching.folder / "translations"
    shards = Translations(folder, sources, made_by, teaching.shard_lines)
    with flags_in_errors(TeachingOptions):
        missing = shards.missing()
    if teaching.shard is not None:
        missing = share_of(missing, teaching.shard)
    if missing:
        from keras_transformer.runtime.translator import OnnxTranslator

        teacher.export()
        with OnnxTranslator(teacher.artefact, threads) as translator:
            shards.make(missing, translator, teaching.search, _say)
    if teaching.shard is not None:
        print(f"{len(shards) - len(shards.missing())} of {len(shards)} shards are translated")
        return None
    found = shards.read()
    untranslated = sum(not texts for texts in found)
    print(f"translations: {len(found) - untranslated:,} of {len(found):,} lines")
    return found


def _compare(
    teacher: GivenTeacher, corpus: Corpus, teaching: TeachingOptions
) -> list[dict[str, Any]]:
    """Prints and returns BLEU and speed of teacher and student on the validation pairs."""
    from keras_transformer.runtime.translator import OnnxTranslator

    student = teaching.folder / "student"
    teacher.export()
    export_fastest(teaching.output, student, overwrite=True)
    pairs = zip(corpus.valid.source, corpus.valid.target, strict=True)  # type: ignore[union-attr]
    sources, references = zip(*list(pairs)[:_COMPARED_SENTENCES], strict=True)
    with ExitStack() as stack:
        translators = {
            name: stack.enter_context(OnnxTranslator(path, threads=1, long_texts="cut"))
            for name, path in (("teacher", teacher.artefact), ("student", student))
        }
        search = {**teaching.search, "num_hypotheses": 1}
        found = compare(translators, sources, references, search)
    print(f"{len(sources):,} validation sentences, one thread:\n{table(found)}")
    return [asdict(one) for one in found]


def _recipe(data: DataOptions, teaching: TeachingOptions, preset: str) -> Recipe:
    """Returns what decides the training options that are not given."""
    own: dict[str, Any] = dict(DEMO_TRAINING) if data.data == "demo" else {}
    if teaching.word_level:
        own["r_drop"] = 0.0
    return replace(RECIPES[preset], **own)


def build_parser() -> CommandParser:
    """Returns the subcommand's parser, without importing TensorFlow."""
    parser = CommandParser(
        "distill", "Train a small, fast model on the translations of a trained one."
    )
    parser.add_positional("run", "The teacher: a finished training run, or an exported artefact.")
    parser.add_fields(DataOptions, title="data")
    parser.add_fields(TeachingOptions, title="teaching")
    parser.add_fields(StudentOptions, title="student")
    parser.add_fields(ThreadOptions, title="machine")
    add_recipe_flags(parser, _NOT_FOR_STUDENTS)
    add_model_flags(parser)
    return parser


def _say(line: str) -> None:
    print(line, flush=True)
