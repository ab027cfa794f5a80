"""The signature that a request asks for, by its name."""

from collections.abc import Mapping

from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature
from keras_transformer.serving.errors import Code, ServingError


def signature_of(signatures: Mapping[str, Signature], name: str) -> Signature:
    """Returns a signature by name, the default one if the name is "".

    Raises:
        ServingError: There is no signature of that name.
    """
    try:
        return signatures[name or DEFAULT_SIGNATURE]
    except KeyError:
        raise ServingError(
            Code.INVALID_ARGUMENT,
            f'Serving signature name: "{name}" not found in signature def; there are '
            f"{', '.join(signatures)}.",
        ) from None
