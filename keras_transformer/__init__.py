"""Transformer sequence-to-sequence models: Keras training, ONNX export, decoding without Keras.

The public names below are loaded on first use, so importing the package costs no TensorFlow; the
classes that saved models name are registered with Keras even so. What reads and writes exported
artefacts lives in `keras_transformer.export`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from keras_transformer.serializable import register_with_keras

if TYPE_CHECKING:
    from keras_transformer.config.transformer import TransformerConfig
    from keras_transformer.data.batching import (
        batches_per_epoch,
        evaluation_batches,
        training_batches,
    )
    from keras_transformer.data.corpus import Corpus, Pairs
    from keras_transformer.data.demo import demo_corpus
    from keras_transformer.data.encoding import encode_pairs
    from keras_transformer.data.files import read_lines, read_parallel
    from keras_transformer.data.tfds import load_tfds
    from keras_transformer.data.tsv import read_tsv
    from keras_transformer.decoding.translator import Translator
    from keras_transformer.evaluation import corpus_scores
    from keras_transformer.models.transformer import build_transformer
    from keras_transformer.search.by_sentence import SentenceTranslator
    from keras_transformer.search.options import SearchOptions
    from keras_transformer.text.graph_tokenizer import GraphTokenizer
    from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
    from keras_transformer.text.training_text import TrainingText
    from keras_transformer.training.loss import SmoothedCrossEntropy
    from keras_transformer.training.metrics import Perplexity, TokenAccuracy
    from keras_transformer.training.options import TrainOptions
    from keras_transformer.training.run import load_run, train
    from keras_transformer.training.run_directory import load_min_score, load_training_text
    from keras_transformer.training.schedule import WarmupSchedule

__version__ = "0.1.0"

__all__ = [
    "Corpus",
    "GraphTokenizer",
    "Pairs",
    "Perplexity",
    "SearchOptions",
    "SentenceTranslator",
    "SmoothedCrossEntropy",
    "TokenAccuracy",
    "Tokenizer",
    "TrainOptions",
    "TrainingText",
    "TransformerConfig",
    "Translator",
    "WarmupSchedule",
    "batches_per_epoch",
    "build_transformer",
    "corpus_scores",
    "demo_corpus",
    "encode_pairs",
    "evaluation_batches",
    "load_min_score",
    "load_run",
    "load_tfds",
    "load_training_text",
    "read_lines",
    "read_parallel",
    "read_tsv",
    "train",
    "train_tokenizer",
    "training_batches",
]

_HOMES = {
    "Corpus": "data.corpus",
    "GraphTokenizer": "text.graph_tokenizer",
    "Pairs": "data.corpus",
    "Perplexity": "training.metrics",
    "SearchOptions": "search.options",
    "SentenceTranslator": "search.by_sentence",
    "SmoothedCrossEntropy": "training.loss",
    "TokenAccuracy": "training.metrics",
    "Tokenizer": "text.tokenizer",
    "TrainOptions": "training.options",
    "TrainingText": "text.training_text",
    "TransformerConfig": "config.transformer",
    "Translator": "decoding.translator",
    "WarmupSchedule": "training.schedule",
    "batches_per_epoch": "data.batching",
    "build_transformer": "models.transformer",
    "corpus_scores": "evaluation",
    "demo_corpus": "data.demo",
    "encode_pairs": "data.encoding",
    "evaluation_batches": "data.batching",
    "load_min_score": "training.run_directory",
    "load_run": "training.run",
    "load_tfds": "data.tfds",
    "load_training_text": "training.run_directory",
    "read_lines": "data.files",
    "read_parallel": "data.files",
    "read_tsv": "data.tsv",
    "train": "training.run",
    "train_tokenizer": "text.tokenizer",
    "training_batches": "data.batching",
}


register_with_keras()


def __getattr__(name: str) -> object:
    """Import the module that defines the public name `name` and keep the value here."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, loaded or not, for completion."""
    return sorted({*globals(), *__all__})
