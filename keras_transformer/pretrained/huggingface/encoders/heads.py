"""The heads of Hugging Face's encoders: which of ours an architecture's is, and its labels."""

from typing import Any

import numpy as np

from keras_transformer.pretrained.errors import ImportRefusedError
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.tensor_files import Tensors

# The ending of an architecture's name → our head.
HEADS = {
    "Model": None,
    "ForMaskedLM": "masked_lm",
    "ForPreTraining": "pretraining",
    "ForSequenceClassification": "classification",
    "ForTokenClassification": "tagging",
    "ForQuestionAnswering": "spans",
}


# What a head for masked tokens may hold, and what of the model it must equal.
_EMBEDDINGS = ("embeddings.word_embeddings.weight", "embeddings.tok_embeddings.weight")
_TIED = {
    "decoder.weight": _EMBEDDINGS,
    "vocab_projector.weight": _EMBEDDINGS,
    "generator_lm_head.weight": _EMBEDDINGS,
    "predictions.decoder.bias": ("predictions.bias",),
    "lm_head.decoder.bias": ("lm_head.bias",),
}
# Biases by which a file of a head for masked tokens is known if its config names none.
_BIASES = ("cls.predictions.bias", "lm_head.bias", "vocab_projector.bias", "predictions.bias")
# BERT's head for next sentences, and what it reads.
_NEXT_SENTENCE, _BERT_POOLER = "cls.seq_relationship.weight", "bert.pooler.dense.weight"


def head_fields(fields: Fields, tensors: Tensors, name: str) -> dict[str, Any]:
    """Returns the fields of our head; of a config that names no architecture the file tells.

    So are Google's small BERTs published, with the heads of their pretraining.
    """
    told = f"{name}ForMaskedLM" if {*_BIASES} & {*tensors} else f"{name}Model"
    architecture = fields.first_text("architectures", told)
    ending = next((end for end in HEADS if architecture.endswith(end)), None)
    if ending is None:
        raise ImportRefusedError(
            f"{fields.path} is of a {architecture}: of the encoders, those ending with "
            f"{', '.join(HEADS)} are supported."
        )
    head = HEADS[ending]
    if head in ("masked_lm", "pretraining"):
        _check_tied(fields, tensors)
    if head == "masked_lm" and {_NEXT_SENTENCE, _BERT_POOLER} <= {*tensors}:
        # Such as bert-base-uncased, whose config names one of the two heads in its file.
        head = "pretraining"
    if head == "classification":
        return classifier_fields(fields)
    return {"head": head, "labels": label_names(fields) if head == "tagging" else ()}


def classifier_fields(fields: Fields) -> dict[str, Any]:
    """Returns the head of a `ForSequenceClassification`; what it was trained for tells which."""
    labels, problem = label_names(fields), fields.get("problem_type", None)
    if problem == "multi_label_classification":
        return {"head": "classification", "labels": labels, "multi_label": True}
    if len(labels) == 1:
        fields.require(problem_type="regression")
        return {"head": "regression", "labels": ()}
    if problem not in (None, "single_label_classification"):
        raise ImportRefusedError(
            f"{fields.path} has problem_type: {problem!r} and {len(labels)} labels, and only "
            "'single_label_classification' and 'multi_label_classification' are supported."
        )
    return {"head": "classification", "labels": labels}


def label_names(fields: Fields) -> tuple[str, ...]:
    """Returns the names of classes or tags, in the order of their numbers."""
    named = fields.mapping("id2label", None)
    if named is None:
        return tuple(f"LABEL_{number}" for number in range(fields.integer("num_labels", 2)))
    for number in named.values:
        if not number.isdecimal():
            raise ImportRefusedError(f"{named.origin} has {number!r}, which is not a number.")
    return tuple(named.text(number) for number in sorted(named.values, key=int))


def _check_tied(fields: Fields, tensors: Tensors) -> None:
    """Refuses a head for masked tokens whose matrix is not that of the embeddings, as ours is."""
    own = [name for name in tensors if name.endswith(tuple(_TIED))]
    for name in own:
        tied = next(one for ending, one in _TIED.items() if name.endswith(ending))
        other = next((one for one in tensors if one.endswith(tied)), None)
        if other is not None and not np.array_equal(tensors[name], tensors[other]):
            raise ImportRefusedError(
                f"{tensors.origin} holds {name}, which differs from {other}: a head that is not "
                "tied to the embeddings is not supported."
            )
    if not any(name.endswith(".weight") for name in own):
        fields.require(tie_word_embeddings=True)
