"""The signatures of a served encoder: states and vectors of texts, and what its head says of them.
The batch is axis 0.
"""

import dataclasses

from keras_transformer.artefact.signatures import (
    DEFAULT_SIGNATURE,
    Signature,
    TensorSpec,
    by_name,
    ids_input,
    states_of,
    strings,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EncoderSizes:
    """The sizes on which the signatures of an encoder depend; None for an unknown size.

    Args:
        head: The config's head.
        num_labels: Number of labels of a head that chooses among labels.
        model_dim: Width of states.
        vector_dim: Width of vectors.
        has_pooler: Whether a model without a head pools the state of the first token.
        num_hypotheses: Fillings of each text, if the head fills in masks.
        has_mask: Whether the vocabulary has a mask, without which a head has none to fill in.
        has_prompts: Whether a prompt can be chosen that goes before each text to embed.
        multi_label: Whether a text may have any number of the labels.
    """

    head: str | None = None
    num_labels: int | None = None
    model_dim: int | None = None
    vector_dim: int | None = None
    has_pooler: bool = False
    num_hypotheses: int | None = None
    has_mask: bool = True
    has_prompts: bool = False
    multi_label: bool = False


# What the function of two texts of a head that has one is called.
PAIR_FUNCTIONS = {
    "classification": "classify_pairs",
    "regression": "regress_pairs",
    "pretraining": "next_sentence",
}
# What the function of each head is called; without one of these, the model only embeds.
HEAD_FUNCTIONS = {
    "masked_lm": "fill_mask",
    "pretraining": "fill_mask",
    "classification": "classify",
    "regression": "regress",
    "tagging": "tag",
    "spans": "find_span",
}


def encoder_text_signatures(sizes: EncoderSizes) -> dict[str, Signature]:
    """Returns the signatures that take texts, by name, and that of the head that takes ids.

    They are those of the server and of a SavedModel that holds its tokenizer. The default is that
    of the head; without one it embeds.
    """
    main, text = _main(sizes, of_text=True), strings("text", "The text.")
    return by_name(
        dataclasses.replace(main, name=DEFAULT_SIGNATURE),
        main,
        *_pairs(sizes, of_text=True),
        *_common(text, sizes),
        *_prompted(text, sizes),
        *_by_ids(sizes),
    )


def encoder_id_signatures(sizes: EncoderSizes) -> dict[str, Signature]:
    """Returns the signatures of a SavedModel without a tokenizer, by name."""
    main, *pairs = _by_ids(sizes)
    return by_name(
        dataclasses.replace(main, name=DEFAULT_SIGNATURE),
        main,
        *pairs,
        *_common(_TOKEN_IDS, sizes),
    )


_TOKEN_IDS = ids_input("token_ids", "Ids of the text, without begin and end tokens, padded.")
_FOLLOWS = TensorSpec("probability", "float32", (None,), "The probability that it follows.")
_QUESTION = "A question that the text answers"
_WHAT = {
    "embed": "Gives one vector for each text.",
    "embed_with_prompt": "Gives one vector for each text, read behind a prompt.",
    "fill_mask": "Fills in the masks of each text, best fillings first.",
    "classify": "Chooses a label for each text.",
    "classify_pairs": "Chooses a label for each pair of texts.",
    "next_sentence": "Tells how probable it is that each second text follows the first.",
    "regress": "Gives a number for each text.",
    "regress_pairs": "Gives a number for each pair of texts.",
    "tag": "Chooses a label for each token of a text.",
    "find_span": "Finds the part of each text that answers its question.",
}


def _main(sizes: EncoderSizes, *, of_text: bool) -> Signature:
    name = HEAD_FUNCTIONS.get(sizes.head or "", "embed")
    if name == "fill_mask" and not sizes.has_mask:
        name = "embed"
    text = strings("text", "The text.") if of_text else _TOKEN_IDS
    inputs: tuple[TensorSpec, ...] = (text,)
    if name == "find_span":
        question = (
            strings("question", f"{_QUESTION}.")
            if of_text
            else ids_input("question_ids", f"Ids of {_QUESTION[0].lower()}{_QUESTION[1:]}, padded.")
        )
        inputs = (question, text)
    return Signature(name, inputs, _outputs(name, sizes, of_text=of_text), _WHAT[name])


def _pairs(sizes: EncoderSizes, *, of_text: bool) -> list[Signature]:
    """Returns the head's function of two texts, if it has one."""
    name = PAIR_FUNCTIONS.get(sizes.head or "")
    if name is None:
        return []
    second = (
        strings("second_text", "The text that follows.")
        if of_text
        else ids_input("second_ids", "Ids of the text that follows, padded.")
    )
    main = _main(sizes, of_text=of_text)
    outputs = (_FOLLOWS,) if name == "next_sentence" else main.outputs
    return [Signature(name, (*main.inputs, second), outputs, _WHAT[name])]


def _by_ids(sizes: EncoderSizes) -> list[Signature]:
    functions = (_main(sizes, of_text=False), *_pairs(sizes, of_text=False))
    return [dataclasses.replace(one, name=f"{one.name}_ids") for one in functions]


def _common(text: TensorSpec, sizes: EncoderSizes) -> list[Signature]:
    """Returns the functions that every encoder has."""
    vector = _outputs("embed", sizes, of_text=True)
    states = "Gives the encoder's states of each text."
    common = [
        Signature("embed", (text,), vector, _WHAT["embed"]),
        Signature("encode", (text,), states_of(sizes.model_dim), states),
    ]
    if sizes.has_pooler:
        pooled = TensorSpec("pooled", "float32", (None, sizes.model_dim), "The pooler's output.")
        common.append(Signature("pool", (text,), (pooled,), "Pools each text's first state."))
    return common


def _prompted(text: TensorSpec, sizes: EncoderSizes) -> list[Signature]:
    """Returns the function that embeds texts behind prompts of the request's choice."""
    if not sizes.has_prompts:
        return []
    prompt = strings("prompt_name", "Name of the prompt that goes before the text; empty for none.")
    vector, name = _outputs("embed", sizes, of_text=True), "embed_with_prompt"
    return [Signature(name, (text, prompt), vector, _WHAT[name])]


def _outputs(name: str, sizes: EncoderSizes, *, of_text: bool) -> tuple[TensorSpec, ...]:
    row, places = (None,), (None, None)
    if name == "fill_mask":
        return _fillings(sizes, of_text=of_text)
    if name == "classify":
        labels = (None, sizes.num_labels)
        each = "The probability of each"
        return (
            TensorSpec("label", "string", row, "The most probable label."),
            TensorSpec("probability", "float32", row, "Its probability."),
            TensorSpec("labels", "string", labels, "Every label."),
            TensorSpec(
                "probabilities",
                "float32",
                labels,
                f"{each}, whatever the others have." if sizes.multi_label else f"{each}.",
            ),
        )
    if name == "tag":
        tokens = TensorSpec("tokens", "string", places, "The text's tokens, then empty ones.")
        return (
            *([tokens] if of_text else []),
            TensorSpec("tags", "string", places, "The label of each token, empty after the last."),
            TensorSpec("probabilities", "float32", places, "Its probability, then zeros."),
        )
    if name == "find_span":
        answer = strings("answer", "That part of the text.")
        return (
            *([answer] if of_text else []),
            TensorSpec("first", "int32", row, "Its first token, counted in the text from 0."),
            TensorSpec("last", "int32", row, "Its last token, -1 in a text without one."),
            TensorSpec("score", "float32", row, "The sum of both tokens' logits."),
        )
    if name == "regress":
        return (TensorSpec("value", "float32", row, "The number."),)
    return (TensorSpec("vector", "float32", (None, sizes.vector_dim), "The vector."),)


def _fillings(sizes: EncoderSizes, *, of_text: bool) -> tuple[TensorSpec, ...]:
    each = (None, sizes.num_hypotheses)
    wide = (*each, None)
    score = "Log-probability of each filling's tokens, in nats."
    found = (
        (
            TensorSpec("texts", "string", each, "The text with its masks filled in, best first."),
            TensorSpec("tokens", "string", wide, "What each mask was filled with."),
        )
        if of_text
        else (
            TensorSpec("ids", "int32", wide, "Ids with the masks filled in, padded, best first."),
            TensorSpec("fillings", "int32", wide, "The id that each mask was filled with, padded."),
        )
    )
    return (*found, TensorSpec("scores", "float32", each, score))
