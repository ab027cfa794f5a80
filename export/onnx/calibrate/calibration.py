"""Calibration of an export on texts: the float32 model reads them, weights are quantised for what
its layers read there, and the exported graphs read the same texts.
"""

import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import numpy as np

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.calibrate.gptq import gptq
from keras_transformer.export.onnx.calibrate.loss import Loss, measure_loss
from keras_transformer.export.onnx.calibrate.observed import ObservedGraphs
from keras_transformer.export.onnx.calibrate.rows import answer, text_rows
from keras_transformer.export.onnx.graphs.specs import graph_specs
from keras_transformer.export.onnx.quantize.int4 import Int4Matrices
from keras_transformer.export.onnx.quantize.int4_blocks import Int4Blocks
from keras_transformer.export.onnx.settings import Int4Form
from keras_transformer.text.tokenizer import Tokenizer


class Calibration:
    """A float32 model's results on calibration texts.

    Args:
        model: The model.
        source: The tokenizer of texts, or of a translation's source.
        target: That of translations.
        texts: Texts; for a translation model a source and its translation, with a tab between.
        opset: Version of the standard operators.

    Raises:
        ValueError: No text gives a token, or one of a translation model has no tab.
    """

    def __init__(
        self,
        model: AnyModel,
        source: Tokenizer,
        target: Tokenizer,
        texts: Iterable[str],
        opset: int,
    ) -> None:
        self._config, specs = model.config, graph_specs(model.config)
        self._rows = text_rows(model.config, source, target, texts)
        with tempfile.TemporaryDirectory() as directory:
            self._observed = ObservedGraphs(model, opset, Path(directory))
            run = self._observed.run
            self._exact = [answer(model.config, specs, run, row) for row in self._rows]
            self._observed.close()

    def matrices(self, form: Int4Form) -> Int4Matrices:
        """Returns the model's matrices in 4 bits, rounded by GPTQ where a layer read the texts."""
        return Int4Matrices(form, partial(self._quantize, form=form))

    def loss(self, manifest: Manifest, files: ArtefactFiles) -> Loss:
        """Returns the loss of an artefact of the model on the texts."""
        return measure_loss(self._config, manifest, files, self._rows, self._exact)

    def _quantize(self, lines: np.ndarray, form: Int4Form) -> Int4Blocks:
        moments = self._observed.moments(lines)
        if moments is None:
            return Int4Blocks.nearest(lines, form)
        return gptq(lines, moments, form)
