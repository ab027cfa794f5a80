"""Compares every output of an artefact's graphs with that of the Keras model."""

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.check.running import Comparison
from keras_transformer.export.onnx.check.single_stack import check_encoder, check_generation
from keras_transformer.export.onnx.check.translation import check_translation
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly


def check_numbers(
    model: AnyModel, manifest: Manifest, files: ArtefactFiles, tolerance: float
) -> float:
    """Compares all graphs with the model they were made from.

    Args:
        model: The float32 model.
        manifest: The artefact's contract.
        files: Its files.
        tolerance: Largest absolute difference to accept.

    Returns:
        The largest absolute difference over all outputs.

    Raises:
        ValueError: A difference is above `tolerance` or not finite; the message names the output.
    """
    compare = Comparison(tolerance)
    if isinstance(model, EncoderOnly):
        check_encoder(model, manifest, files, compare)
    elif isinstance(model, DecoderOnly):
        check_generation(model, manifest, files, compare)
    else:
        check_translation(model, manifest, files, compare)
    return compare.largest
