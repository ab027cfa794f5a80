"""Transformer models: Keras training, ONNX export, decoding without Keras.

The public names below are loaded on first use, so importing the package costs no TensorFlow; the
classes that saved models name are registered with Keras even so, and what dependencies would
report to their makers is switched off. What writes artefacts lives in `keras_transformer.export`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from keras_transformer.distribution import install_command
from keras_transformer.serializable import register_with_keras
from keras_transformer.suggestions import did_you_mean, suggests_arguments
from keras_transformer.telemetry import silence

if TYPE_CHECKING:
    from keras_transformer.config.decoder_only import DecoderConfig
    from keras_transformer.config.encoder_only import EncoderConfig
    from keras_transformer.config.transformer import TransformerConfig
    from keras_transformer.data.batching.batches import (
        batches_per_epoch,
        evaluation_batches,
        training_batches,
    )
    from keras_transformer.data.encoding.encode import encode_pairs
    from keras_transformer.data.sources.corpus import Corpus, Pairs
    from keras_transformer.data.sources.demo import demo_corpus
    from keras_transformer.data.sources.files import read_lines, read_parallel
    from keras_transformer.data.sources.tables.labelled import read_labelled
    from keras_transformer.data.sources.texts import (
        LabelledCorpus,
        LabelledTexts,
        ScoredCorpus,
        TextCorpus,
        Texts,
        read_texts,
    )
    from keras_transformer.data.sources.tfds import load_tfds
    from keras_transformer.data.sources.tsv import read_tsv
    from keras_transformer.decoding.encoder import TextEncoder
    from keras_transformer.decoding.generator import Generator
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.evaluation import corpus_scores
    from keras_transformer.export.pretrained.export import to_keras_hub
    from keras_transformer.features.feature_runs import RunFeatures
    from keras_transformer.models.decoder_only import DecoderOnly, build_decoder
    from keras_transformer.models.encoder_only import EncoderOnly, build_encoder
    from keras_transformer.models.transformer import Transformer, build_transformer
    from keras_transformer.pretrained.recognise import from_keras_hub, from_pretrained
    from keras_transformer.runs.finished_run import load_run
    from keras_transformer.runs.run_directory import load_min_score, load_search, load_training_text
    from keras_transformer.runtime.encoder import OnnxEncoder
    from keras_transformer.runtime.generator import OnnxGenerator
    from keras_transformer.runtime.translator import OnnxTranslator
    from keras_transformer.search.options import SearchOptions
    from keras_transformer.text.graph_tokenizer import GraphTokenizer
    from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
    from keras_transformer.text.training_text import TrainingText
    from keras_transformer.training.loss.label_smoothing import SmoothedCrossEntropy
    from keras_transformer.training.loss.metrics import Perplexity, TokenAccuracy
    from keras_transformer.training.optimizer.schedule import WarmupSchedule
    from keras_transformer.training.run.options import TrainOptions
    from keras_transformer.training.run.train import train
    from keras_transformer.training.texts.train import train_texts
    from keras_transformer.translation.by_sentence import SentenceTranslator

__version__ = "0.2.0"

__all__ = [
    "Corpus",
    "DecoderConfig",
    "DecoderOnly",
    "EncoderConfig",
    "EncoderOnly",
    "Generator",
    "GraphTokenizer",
    "LabelledCorpus",
    "LabelledTexts",
    "OnnxEncoder",
    "OnnxGenerator",
    "OnnxTranslator",
    "Pairs",
    "Perplexity",
    "RunFeatures",
    "ScoredCorpus",
    "SearchOptions",
    "SentenceTranslator",
    "SmoothedCrossEntropy",
    "TextCorpus",
    "TextEncoder",
    "Texts",
    "TokenAccuracy",
    "Tokenizer",
    "TrainOptions",
    "TrainingText",
    "Transformer",
    "TransformerConfig",
    "Translator",
    "WarmupSchedule",
    "batches_per_epoch",
    "build_decoder",
    "build_encoder",
    "build_transformer",
    "corpus_scores",
    "demo_corpus",
    "encode_pairs",
    "evaluation_batches",
    "from_keras_hub",
    "from_pretrained",
    "load_min_score",
    "load_run",
    "load_search",
    "load_tfds",
    "load_training_text",
    "read_labelled",
    "read_lines",
    "read_parallel",
    "read_texts",
    "read_tsv",
    "to_keras_hub",
    "train",
    "train_texts",
    "train_tokenizer",
    "training_batches",
]

_HOMES = {
    "Corpus": "data.sources.corpus",
    "DecoderConfig": "config.decoder_only",
    "DecoderOnly": "models.decoder_only",
    "EncoderConfig": "config.encoder_only",
    "EncoderOnly": "models.encoder_only",
    "Generator": "decoding.generator",
    "GraphTokenizer": "text.graph_tokenizer",
    "LabelledCorpus": "data.sources.texts",
    "LabelledTexts": "data.sources.texts",
    "OnnxEncoder": "runtime.encoder",
    "OnnxGenerator": "runtime.generator",
    "OnnxTranslator": "runtime.translator",
    "Pairs": "data.sources.corpus",
    "Perplexity": "training.loss.metrics",
    "RunFeatures": "features.feature_runs",
    "ScoredCorpus": "data.sources.texts",
    "SearchOptions": "search.options",
    "SentenceTranslator": "translation.by_sentence",
    "SmoothedCrossEntropy": "training.loss.label_smoothing",
    "TextCorpus": "data.sources.texts",
    "TextEncoder": "decoding.encoder",
    "Texts": "data.sources.texts",
    "TokenAccuracy": "training.loss.metrics",
    "Tokenizer": "text.tokenizer",
    "TrainOptions": "training.run.options",
    "TrainingText": "text.training_text",
    "Transformer": "models.transformer",
    "TransformerConfig": "config.transformer",
    "Translator": "decoding.translator",
    "WarmupSchedule": "training.optimizer.schedule",
    "batches_per_epoch": "data.batching.batches",
    "build_decoder": "models.decoder_only",
    "build_encoder": "models.encoder_only",
    "build_transformer": "models.transformer",
    "corpus_scores": "evaluation",
    "demo_corpus": "data.sources.demo",
    "encode_pairs": "data.encoding.encode",
    "evaluation_batches": "data.batching.batches",
    "from_keras_hub": "pretrained.recognise",
    "from_pretrained": "pretrained.recognise",
    "load_min_score": "runs.run_directory",
    "load_search": "runs.run_directory",
    "load_run": "runs.finished_run",
    "load_tfds": "data.sources.tfds",
    "load_training_text": "runs.run_directory",
    "read_labelled": "data.sources.tables.labelled",
    "read_lines": "data.sources.files",
    "read_parallel": "data.sources.files",
    "read_texts": "data.sources.texts",
    "read_tsv": "data.sources.tsv",
    "to_keras_hub": "export.pretrained.export",
    "train": "training.run.train",
    "train_texts": "training.texts.train",
    "train_tokenizer": "text.tokenizer",
    "training_batches": "data.batching.batches",
}


register_with_keras()
silence()


def __getattr__(name: str) -> object:
    """Import the module that defines the public name `name` and keep the value here."""
    if name not in _HOMES:
        hint = did_you_mean(name, _HOMES)
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}{hint}")
    # Here, since importing the package alone needs none of it.
    from keras_transformer.messages import without_start_messages

    try:
        with without_start_messages():
            found = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    except ModuleNotFoundError as error:
        if (error.name or "").startswith(__name__):
            raise
        raise ImportError(
            f"{__name__}.{name} needs {error.name}: install it with `{install_command('train')}`."
        ) from error
    value = suggests_arguments(found)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not, for completion."""
    return sorted({*globals(), *__all__})
