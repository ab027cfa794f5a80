"""The heads that each task needs; a model with another is refused."""

from keras_transformer.config.encoder_only import EncoderHead

# How a model with each head is trained.
TASKS = {
    "masked_lm": "masked-lm",
    "pretraining": "masked-lm --next-sentence",
    "classification": "classify",
    "regression": "rerank",
    "tagging": "tag",
    "embedding": "embed",
}


def require_head(found: EncoderHead | None, head: EncoderHead, *others: EncoderHead) -> None:
    """Raises `ValueError` unless a model has one of these heads.

    Args:
        found: The model's.
        head: The head that is needed, which the message names.
        *others: Others that will do.
    """
    if found in (head, *others):
        return
    has = "no head" if found is None else f"the head {found!r}"
    task = TASKS.get(head)
    mend = f": train one with `keras-transformer train --task {task}`" if task else ""
    raise ValueError(f"this needs a model with the head {head!r}, and the model has {has}{mend}.")
