"""TensorFlow Serving's classify and regress calls for both protocols: texts to labels with scores,
or to numbers.
"""

from typing import Any, Literal

import numpy.typing as npt

from keras_transformer.serving.errors import refusal
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import LoadedVersion

Judgement = Literal["classify", "regress"]


async def judge(
    service: Service,
    loaded: LoadedVersion,
    kind: Judgement,
    texts: npt.NDArray[Any],
    signature_name: str = "",
    **options: Any,
) -> list[Any]:
    """Classifies texts, or gives a number to each.

    Args:
        service: Answers requests.
        loaded: The version that `Service.find` returned.
        kind: "classify" or "regress".
        texts: Objects of bytes `(texts,)`.
        signature_name: The signature; it must be the model's only one for this, or "".
        **options: Keyword arguments of `Service.predict`.

    Returns:
        For each text pairs (label, probability), in the order of the model's labels; or a number.

    Raises:
        ServingError: There is no result; the model may have no such head.
    """
    if kind not in loaded.model.signatures:
        names = ", ".join(loaded.model.signatures)
        raise refusal(f"{loaded.name} does not {kind}: call :predict with one of {names}.")
    if signature_name not in ("", "serving_default", kind):
        raise refusal(f"{kind} has the signature {kind!r}, got {signature_name!r}.")
    found = await service.predict(loaded, loaded.model.signatures[kind], {"text": texts}, **options)
    if kind == "regress":
        return found["value"].tolist()
    labels = [[label.decode() for label in row] for row in found["labels"].tolist()]
    pairs = zip(labels, found["probabilities"].tolist(), strict=True)
    return [[list(pair) for pair in zip(*row, strict=True)] for row in pairs]
