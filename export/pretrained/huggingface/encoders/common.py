"""The common part of the exports of encoders: heads, labels, tokenizers, and their choices."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.huggingface.architecture import THEIR_ACTIVATIONS
from keras_transformer.export.pretrained.huggingface.sentence_vectors import (
    activation_path,
    check_embedding,
    save_embedding,
)
from keras_transformer.export.pretrained.huggingface.vocabularies import (
    check_json_tokenizer,
    save_json_tokenizer,
    with_step,
)
from keras_transformer.export.pretrained.huggingface.xlm_roberta import (
    check_fairseq_ids,
    save_fairseq_tokenizer,
)
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.cross_encoders import ACTIVATION, SECTION, VALUE_ACTIVATIONS
from keras_transformer.pretrained.huggingface.encoder_vocabulary import pair_separators_of
from keras_transformer.pretrained.huggingface.json_vocabulary import PROCESSORS
from keras_transformer.text.tokenizer import Tokenizer

# Our head → the ending of the architecture's name.
ENDINGS = {
    None: "Model",
    "masked_lm": "ForMaskedLM",
    "pretraining": "ForPreTraining",
    "classification": "ForSequenceClassification",
    "regression": "ForSequenceClassification",
    "tagging": "ForTokenClassification",
    "spans": "ForQuestionAnswering",
    # Further files say how a vector is made of its states.
    "embedding": "Model",
}
# The models after BERT dropped its prediction of the next sentence.
LATER_HEADS = tuple(head for head in ENDINGS if head != "pretraining")
# A text's tokens have no types there, or one.
INPUTS = ("input_ids", "attention_mask")


def check_files(outgoing: Outgoing, name: str) -> None:
    """Raises a ValueError if an architecture, which is named, cannot have tokenizer or head."""
    check_embedding(outgoing.config)
    activation, masked = outgoing.config.activation, outgoing.config.masked_activation
    if masked not in (None, activation):
        raise ValueError(f"{name} needs masked_activation={activation!r}, got {masked!r}.")
    if is_sentencepiece(outgoing):
        check_fairseq_ids(outgoing, name)
    else:
        check_json_tokenizer(outgoing, name)


def is_sentencepiece(outgoing: Outgoing) -> bool:
    """Whether the vocabulary is a SentencePiece model's."""
    return outgoing.source.kind == "sentencepiece"


def labels_of(config: Any) -> dict[str, Any]:
    """Returns the fields that name classes or tags, if there are any."""
    labels: Sequence[str] = config.labels
    if config.head == "regression":
        labels = labels or ("LABEL_0",)
    if not labels:
        return {}
    problem: dict[str, Any] = {}
    if config.multi_label:
        problem = {"problem_type": "multi_label_classification"}
    if config.head == "regression":
        path = activation_path(config.value_activation, VALUE_ACTIVATIONS)
        problem = {SECTION: {ACTIVATION: path}}
    return {
        "id2label": {str(place): label for place, label in enumerate(labels)},
        "label2id": {label: place for place, label in enumerate(labels)},
        **problem,
    }


def save_tokenizer(outgoing: Outgoing, directory: Path, inputs: Sequence[str] = ()) -> None:
    """Writes the tokenizer, and what makes vectors of a model that embeds.

    Args:
        outgoing: The model.
        directory: Where to write.
        inputs: What the model reads of a text, by their names; if empty, tokens, their types where
            there are several, and the mask.
    """
    if not inputs and outgoing.config.num_token_types > 1:
        inputs = ("input_ids", "token_type_ids", "attention_mask")
    special = outgoing.config.special_ids
    if is_sentencepiece(outgoing):
        save_fairseq_tokenizer(outgoing, directory)
    else:
        roles = {"cls": special.bos, "sep": special.eos}
        longest = outgoing.config.max_row_length
        save_json_tokenizer(_paired(outgoing), directory, inputs, None, longest, **roles)
    save_embedding(outgoing.model, directory)


def _paired(outgoing: Outgoing) -> Tokenizer:
    """Returns the tokenizer, which puts as many separators between two texts as the model reads."""
    tokenizer, special = outgoing.source, outgoing.config.special_ids
    count = outgoing.config.pair_separators
    if special.bos is None or pair_separators_of(tokenizer.model) == count:
        return tokenizer
    kind = next(name for name, one in PROCESSORS.items() if one == count)
    cls, sep = ([tokenizer.subwords.piece(one), one] for one in (special.bos, special.eos))
    step = {"type": kind, "sep": sep, "cls": cls, "trim_offsets": True, "add_prefix_space": False}
    return with_step(tokenizer, step)


def save_without_types(outgoing: Outgoing, directory: Path) -> None:
    """As `save_tokenizer`, for a model whose tokens have no types, or one."""
    save_tokenizer(outgoing, directory, INPUTS)


# What they all can choose.
FREE: dict[str, Any] = {
    "activation": tuple(THEIR_ACTIVATIONS),
    "masked_activation": None,
    "max_positions": None,
    "labels": None,
    "pooling": None,
    "dense": None,
    "unit_vectors": None,
    "keep_pooler": None,
    "max_row_length": None,
    "prompts": None,
    "default_prompt": None,
    "multi_label": None,
    "value_activation": None,
    "pair_separators": None,
}
