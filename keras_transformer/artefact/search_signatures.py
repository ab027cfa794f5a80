"""The signatures of a served model that searches: those of a translator, and those of a generator,
which has no source. The batch is axis 0.
"""

import dataclasses

from keras_transformer.artefact.signatures import (
    DEFAULT_SIGNATURE,
    Signature,
    TensorSpec,
    by_name,
    ids_input,
    option,
    states_of,
    strings,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class AnswerSizes:
    """The sizes that the outputs' shapes depend on; None if a size is not known.

    Args:
        num_hypotheses: Hypotheses of each source, or continuations of each prompt.
        max_length: Most tokens of a translation, or most new tokens.
        model_dim: Width of the encoder's states.
        has_min_score: Whether the threshold of low confidence is known, of translations.
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
        Signature(DEFAULT_SIGNATURE, (text,), translation, "Translates each text."),
        Signature("translate_n_best", (text,), _text_hypotheses(sizes), _N_BEST),
        Signature("score", pair, (_SCORE, _LOG_PROBABILITY), _SCORES),
        Signature("encode", (text,), states_of(sizes.model_dim), _STATES),
        _translate_ids(sizes),
        Signature(
            "translate_with_options",
            (text, _MAX_LENGTH, _LENGTH_PENALTY, prefix),
            translation,
            _OWN_OPTIONS,
        ),
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
    translate = _translate_ids(sizes)
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
            (source, _MAX_LENGTH, _LENGTH_PENALTY, prefix),
            translate.outputs,
            _OWN_OPTIONS,
        ),
        *_between(sizes, source, translate.outputs),
    )


def generator_text_signatures(sizes: AnswerSizes) -> dict[str, Signature]:
    """Returns the signatures from text to text by name, and `generate_ids`.

    They are those of the server and of a SavedModel that holds its tokenizer.
    """
    prompt = strings("prompt", "The text to continue; empty for a text from its beginning.")
    best = (strings("text", "The prompt and its best continuation."), _SCORE)
    each = (None, sizes.num_hypotheses)
    texts = TensorSpec("texts", "string", each, "The prompt and each continuation, best first.")
    generate = Signature("generate", (prompt,), best, "Continues each prompt.")
    return by_name(
        dataclasses.replace(generate, name=DEFAULT_SIGNATURE),
        generate,
        Signature("generate_n_best", (prompt,), (texts, *_numbers(sizes)), _N_BEST_TEXTS),
        Signature(
            "generate_with_options",
            (prompt, _NEW_TOKENS, _LENGTH_PENALTY),
            best,
            _OWN_OPTIONS_OF_PROMPTS,
        ),
        Signature(
            "score",
            (strings("text", "The text."),),
            (_SCORE, _LOG_PROBABILITY, _PERPLEXITY),
            _SCORES_OF_TEXTS,
        ),
        _generate_ids(sizes),
    )


def generator_id_signatures(sizes: AnswerSizes) -> dict[str, Signature]:
    """Returns the signatures of a SavedModel without a tokenizer, from ids to ids, by name."""
    generate = _generate_ids(sizes)
    shape = (None, sizes.num_hypotheses, sizes.max_length)
    ids = TensorSpec("ids", "int32", shape, "New ids of each continuation, padded, best first.")
    text = ids_input("token_ids", "Ids of the text, without begin and end tokens, padded.")
    return by_name(
        dataclasses.replace(generate, name=DEFAULT_SIGNATURE),
        generate,
        Signature("generate_n_best", generate.inputs, (ids, *_numbers(sizes)), _N_BEST_TEXTS),
        Signature(
            "generate_with_options",
            (*generate.inputs, _NEW_TOKENS, _LENGTH_PENALTY),
            generate.outputs,
            _OWN_OPTIONS_OF_PROMPTS,
        ),
        Signature("score", (text,), (_SCORE, _LOG_PROBABILITY, _PERPLEXITY), _SCORES_OF_TEXTS),
    )


_N_BEST = "Gives the best hypotheses of each source."
_SCORES = "Scores given translations."
_STATES = "Gives the encoder's states of each source."
_OWN_OPTIONS = "Translates each source with options of its own."
_N_BEST_TEXTS = "Gives the best continuations of each prompt."
_SCORES_OF_TEXTS = "Tells how probable each text is."
_OWN_OPTIONS_OF_PROMPTS = "Continues each prompt with options of its own."

_SCORE = TensorSpec("score", "float32", (None,), "Log-probability over the length penalty.")
_LOG_PROBABILITY = TensorSpec(
    "log_probability", "float32", (None,), "In nats, the end token included."
)
_PERPLEXITY = TensorSpec("perplexity", "float32", (None,), "Of each token, the end token included.")
_NEW_TOKENS = option(TensorSpec("max_length", "int32", (None,), "Most new tokens.", 1))
_MAX_LENGTH = dataclasses.replace(_NEW_TOKENS, description="Most tokens of the translation.")
_LENGTH_PENALTY = option(
    TensorSpec("length_penalty", "float32", (None,), "Exponent of the length penalty.", 0)
)
_LANGUAGES = (
    strings("source_language", 'Code of the language of the text; "" for the default.'),
    strings("target_language", 'Code of the language to translate to; "" for the default.'),
)


def _between(
    sizes: AnswerSizes, source: TensorSpec, outputs: tuple[TensorSpec, ...]
) -> list[Signature]:
    """Returns the signature that takes languages from each row, if the model has some."""
    between = Signature(
        "translate_between",
        (source, *_LANGUAGES),
        outputs,
        "Translates each text between languages of its own.",
    )
    return [between] if sizes.has_languages else []


def _translate_ids(sizes: AnswerSizes) -> Signature:
    ids = TensorSpec("ids", "int32", (None, sizes.max_length), "Ids of the translation, padded.")
    return Signature(
        "translate_ids",
        (ids_input("source_ids", "Ids of the source, padded."),),
        (ids, _SCORE, _LOG_PROBABILITY),
        "Translates ids to ids.",
    )


def _generate_ids(sizes: AnswerSizes) -> Signature:
    prompt = ids_input("prompt_ids", "Ids of the prompt, padded.")
    ids = TensorSpec("ids", "int32", (None, sizes.max_length), "New ids, padded.")
    total = dataclasses.replace(
        _LOG_PROBABILITY, description="Of the new tokens and the end token, in nats."
    )
    return Signature("generate_ids", (prompt,), (ids, _SCORE, total), "Continues ids with ids.")


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
