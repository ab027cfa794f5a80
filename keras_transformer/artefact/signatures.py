"""The signatures of a served model: what each function takes and returns. Our server describes them
to its clients, and a SavedModel's graph is traced from them. The batch is axis 0.
"""

import dataclasses
import functools
from typing import Literal

import numpy as np

Dtype = Literal["string", "int32", "float32", "bool"]
DEFAULT_SIGNATURE = "serving_default"
# The score of what is missing: JSON has no infinity.
LOWEST = float(np.finfo(np.float32).min)


@dataclasses.dataclass(frozen=True)
class TensorSpec:
    """One input or output.

    Args:
        name: Its name in requests and answers.
        dtype: "string" (an object array of bytes), "int32", "float32" or "bool".
        shape: Its sizes; None if a request decides.
        description: What it is, for readers of the documentation.
        least: The least number that the server takes; None for any.
        has_default: Whether our server has a value for it where a request leaves it out; a
            SavedModel has none.
    """

    name: str
    dtype: Dtype
    shape: tuple[int | None, ...]
    description: str = ""
    least: int | None = None
    has_default: bool = False


@dataclasses.dataclass(frozen=True)
class Signature:
    """One function of a served model.

    Args:
        name: What a request calls it by.
        inputs: What it takes, in the order of documentation.
        outputs: What it returns, in the order of documentation.
        description: What it does, for readers of the documentation.
        more: Inputs that only our server takes; a request may leave out each.
    """

    name: str
    inputs: tuple[TensorSpec, ...]
    outputs: tuple[TensorSpec, ...]
    description: str = ""
    more: tuple[TensorSpec, ...] = ()

    @functools.cached_property
    def required(self) -> tuple[TensorSpec, ...]:
        """The inputs that every request to our server has."""
        return tuple(spec for spec in self.inputs if not spec.has_default)

    @functools.cached_property
    def optional(self) -> tuple[TensorSpec, ...]:
        """The inputs that a request to our server may leave out."""
        return (*(spec for spec in self.inputs if spec.has_default), *self.more)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerSizes:
    """The sizes that the outputs' shapes depend on; None if a size is not known.

    Args:
        num_hypotheses: Hypotheses of each source.
        max_length: Most tokens of a translation.
        model_dim: Width of the encoder's states.
        has_min_score: Whether the threshold of low confidence is known.
        has_languages: Whether requests may choose languages.
    """

    num_hypotheses: int | None = None
    max_length: int | None = None
    model_dim: int | None = None
    has_min_score: bool = False
    has_languages: bool = False


def text_signatures(sizes: AnswerSizes) -> dict[str, Signature]:
    """Returns the signatures from text to text by name, and `translate_ids`.

    They are those of the server and of a SavedModel that holds its tokenizers. `translate_between`
    is there for models of several languages.
    """
    text = strings("text", "The source text.")
    prefix = option(strings("target_prefix", "What the translation begins with, whole words."))
    translation = (strings("translation", "The best translation."), _SCORE)
    pair = (strings("source", "A text."), strings("target", "A translation of it."))
    return by_name(
        Signature(DEFAULT_SIGNATURE, (text,), translation, _BEST),
        Signature("translate_n_best", (text,), _text_hypotheses(sizes), _N_BEST),
        Signature("score", pair, (_SCORE, _LOG_PROBABILITY), _SCORES),
        Signature("encode", (text,), states_of(sizes.model_dim), _STATES),
        _translate_ids(sizes, "translate_ids"),
        Signature("translate_with_options", (text, *_OPTIONS, prefix), translation, _OWN_OPTIONS),
        *_between(sizes, text, translation),
    )


def server_signatures(sizes: AnswerSizes) -> dict[str, Signature]:
    """Returns the signatures of the server: `text_signatures`, and those that only it has.

    `translate_sentences` splits texts, which a graph cannot.
    """
    each = dataclasses.replace(sizes, num_hypotheses=None)
    sentences = Signature(
        "translate_sentences",
        (strings("text", "The source text."),),
        (
            TensorSpec("count", "int32", (None,), "How many sentences the text has."),
            TensorSpec("sources", "string", (None, None), "Each of them."),
            TensorSpec("starts", "int32", (None, None), "Where it begins, in characters."),
            *_text_hypotheses(each),
            TensorSpec("ids", "int32", (None, None, None), "Ids of each translation, padded."),
        ),
        "Translates each text sentence by sentence and lists the sentences.",
    )
    return {**text_signatures(sizes), **by_name(sentences)}


def id_signatures(sizes: AnswerSizes) -> dict[str, Signature]:
    """Returns the signatures of a SavedModel without tokenizers, from ids to ids, by name."""
    source = ids_input("source_ids", "Ids of the source, padded.")
    target = ids_input("target_ids", "Ids of its translation, padded.")
    prefix = option(ids_input("target_prefix", "Ids that the translation begins with, padded."))
    translate = _translate_ids(sizes, "translate_ids")
    shape = (None, sizes.num_hypotheses, sizes.max_length)
    hypotheses = (
        TensorSpec("ids", "int32", shape, "Ids of each hypothesis, padded, best first."),
        *_numbers(sizes),
    )
    return by_name(
        dataclasses.replace(translate, name=DEFAULT_SIGNATURE),
        translate,
        Signature("translate_n_best", (source,), hypotheses, _N_BEST),
        Signature("score", (source, target), (_SCORE, _LOG_PROBABILITY), _SCORES),
        Signature("encode", (source,), states_of(sizes.model_dim), _STATES),
        Signature(
            "translate_with_options",
            (source, *_OPTIONS, prefix),
            translate.outputs,
            _OWN_OPTIONS,
        ),
        *_between(sizes, source, translate.outputs),
    )


_BEST = "Translates each text."
_N_BEST = "Gives the best hypotheses of each source."
_SCORES = "Scores given translations."
_STATES = "Gives the encoder's states of each source."
_BETWEEN = "Translates each text between languages of its own."
_OWN_OPTIONS = "Translates each source with options of its own."


def strings(name: str, description: str) -> TensorSpec:
    """Returns the spec of a string for each row."""
    return TensorSpec(name, "string", (None,), description)


def ids_input(name: str, description: str) -> TensorSpec:
    """Returns the spec of rows of ids."""
    return TensorSpec(name, "int32", (None, None), description)


def option(spec: TensorSpec) -> TensorSpec:
    """Returns the spec of an input for which our server has a value."""
    return dataclasses.replace(spec, has_default=True)


_SCORE = TensorSpec("score", "float32", (None,), "Log-probability over the length penalty.")
_LOG_PROBABILITY = TensorSpec(
    "log_probability", "float32", (None,), "In nats, the end token included."
)
_OPTIONS = (
    option(TensorSpec("max_length", "int32", (None,), "Most tokens of the translation.", 1)),
    option(TensorSpec("length_penalty", "float32", (None,), "Exponent of the length penalty.", 0)),
)

_LANGUAGES = (
    strings("source_language", 'Code of the language of the text; "" for the default.'),
    strings("target_language", 'Code of the language to translate to; "" for the default.'),
)


def _between(
    sizes: AnswerSizes, source: TensorSpec, outputs: tuple[TensorSpec, ...]
) -> list[Signature]:
    """Returns the signature that takes languages from each row, if the model has some."""
    between = Signature("translate_between", (source, *_LANGUAGES), outputs, _BETWEEN)
    return [between] if sizes.has_languages else []


def _translate_ids(sizes: AnswerSizes, name: str) -> Signature:
    ids = TensorSpec("ids", "int32", (None, sizes.max_length), "Ids of the translation, padded.")
    return Signature(
        name,
        (ids_input("source_ids", "Ids of the source, padded."),),
        (ids, _SCORE, _LOG_PROBABILITY),
        "Translates ids to ids.",
    )


def _text_hypotheses(sizes: AnswerSizes) -> tuple[TensorSpec, ...]:
    shape = (None, sizes.num_hypotheses)
    texts = TensorSpec("translations", "string", shape, "Each hypothesis, best first.")
    return (texts, *_numbers(sizes))


def _numbers(sizes: AnswerSizes) -> tuple[TensorSpec, ...]:
    shape = (None, sizes.num_hypotheses)
    flag = TensorSpec("low_confidence", "bool", shape, "Whether confidence in it is low.")
    return (
        TensorSpec("scores", "float32", shape, "The score of each."),
        TensorSpec("log_probabilities", "float32", shape, "The log-probability of each."),
        *([flag] if sizes.has_min_score else []),
    )


def states_of(model_dim: int | None) -> tuple[TensorSpec, ...]:
    """Returns the specs of an encoder's states."""
    shape = (None, None, model_dim)
    return (
        TensorSpec("encoder_states", "float32", shape, "The states, zeros at padding."),
        TensorSpec("mask", "bool", (None, None), "True at a token, the end token included."),
    )


def by_name(*signatures: Signature) -> dict[str, Signature]:
    """Returns signatures by their names."""
    return {signature.name: signature for signature in signatures}
