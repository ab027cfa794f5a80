"""The signatures of a served generator: continuations of prompts, and how probable texts are. The
batch is axis 0.
"""

import dataclasses

from keras_transformer.artefact.signatures import (
    DEFAULT_SIGNATURE,
    Signature,
    TensorSpec,
    by_name,
    ids_input,
    option,
    strings,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class GeneratorSizes:
    """The sizes that the outputs' shapes depend on; None for a size that is not known.

    Args:
        num_hypotheses: Continuations of each prompt.
        max_length: Most new tokens.
    """

    num_hypotheses: int | None = None
    max_length: int | None = None


def generator_text_signatures(sizes: GeneratorSizes) -> dict[str, Signature]:
    """Returns the signatures from text to text by name, and `generate_ids`.

    They are those of the server and of a SavedModel that holds its tokenizer.
    """
    prompt = strings("prompt", "The text to continue; empty for a text from its beginning.")
    best = (strings("text", "The prompt and its best continuation."), _SCORE)
    each = (None, sizes.num_hypotheses)
    texts = TensorSpec("texts", "string", each, "The prompt and each continuation, best first.")
    generate = Signature("generate", (prompt,), best, _BEST)
    return by_name(
        dataclasses.replace(generate, name=DEFAULT_SIGNATURE),
        generate,
        Signature("generate_n_best", (prompt,), (texts, *_numbers(sizes)), _N_BEST),
        Signature("generate_with_options", (prompt, *_OPTIONS), best, _OWN_OPTIONS),
        Signature("score", (strings("text", "The text."),), _PROBABLE, _SCORES),
        _generate_ids(sizes),
    )


def generator_id_signatures(sizes: GeneratorSizes) -> dict[str, Signature]:
    """Returns the signatures of a SavedModel without a tokenizer, from ids to ids, by name."""
    generate = _generate_ids(sizes)
    shape = (None, sizes.num_hypotheses, sizes.max_length)
    ids = TensorSpec("ids", "int32", shape, "New ids of each continuation, padded, best first.")
    text = ids_input("token_ids", "Ids of the text, without begin and end tokens, padded.")
    return by_name(
        dataclasses.replace(generate, name=DEFAULT_SIGNATURE),
        generate,
        Signature("generate_n_best", generate.inputs, (ids, *_numbers(sizes)), _N_BEST),
        Signature(
            "generate_with_options",
            (*generate.inputs, *_OPTIONS),
            generate.outputs,
            _OWN_OPTIONS,
        ),
        Signature("score", (text,), _PROBABLE, _SCORES),
    )


_BEST = "Continues each prompt."
_N_BEST = "Gives the best continuations of each prompt."
_OWN_OPTIONS = "Continues each prompt with options of its own."
_SCORES = "Tells how probable each text is."

_SCORE = TensorSpec("score", "float32", (None,), "Log-probability over the length penalty.")
_LOG_PROBABILITY = TensorSpec(
    "log_probability", "float32", (None,), "Of the new tokens and the end token, in nats."
)
_PROBABLE = (
    _SCORE,
    TensorSpec("log_probability", "float32", (None,), "In nats, the end token included."),
    TensorSpec("perplexity", "float32", (None,), "Of each token, the end token included."),
)
_OPTIONS = (
    option(TensorSpec("max_length", "int32", (None,), "Most new tokens.", 1)),
    option(TensorSpec("length_penalty", "float32", (None,), "Exponent of the length penalty.", 0)),
)


def _generate_ids(sizes: GeneratorSizes) -> Signature:
    prompt = ids_input("prompt_ids", "Ids of the prompt, padded.")
    ids = TensorSpec("ids", "int32", (None, sizes.max_length), "New ids, padded.")
    return Signature(
        "generate_ids", (prompt,), (ids, _SCORE, _LOG_PROBABILITY), "Continues ids with ids."
    )


def _numbers(sizes: GeneratorSizes) -> tuple[TensorSpec, ...]:
    each = (None, sizes.num_hypotheses)
    return (
        TensorSpec("scores", "float32", each, "The score of each."),
        TensorSpec("log_probabilities", "float32", each, "The log-probability of each."),
    )
