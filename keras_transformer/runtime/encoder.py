"""`OnnxEncoder`: vectors, classes, tags and filled masks of texts, with an exported encoder."""

import os
from collections.abc import Sequence
from functools import partial

from keras_transformer.config.family import ENCODER
from keras_transformer.runtime.encoder_engine import OnnxEncoderEngine
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.opening import OpenedArtefact
from keras_transformer.search.model_limits import LongTexts
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH
from keras_transformer.understanding.text_understanding import TextUnderstanding


class OnnxEncoder(OpenedArtefact[OnnxEncoderEngine], TextUnderstanding):
    """Reads texts with an encoder that `export_onnx` wrote; needs no TensorFlow.

    Any number of threads may share one. It is a context manager that closes itself.

    Args:
        directory: The artefact. Its files are read once and checked against the manifest's hashes;
            what happens to them later changes nothing.
        threads: Threads for the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded tokens that are read at once; chosen for the model's sizes if
            None.
        max_text_length: Most tokens of a text, unless the model allows fewer; None for no other
            limit than the model's.
        long_texts: What to do with longer texts: "refuse" raises `LongTextError`, which has the
            index; "cut" drops their ends.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.
        target: Which of the artefact's graphs to run, "native" or "onnxruntime"; those that are
            fastest here if None.
        mmap: Map the file of weights instead of reading it, so that processes share its memory; a
            change to the file then changes the answers.

    Attributes:
        manifest: The artefact's contract.
        config: The model's config.
        max_text_length: Most tokens of a text; None if there is no limit.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: The manifest or a file is damaged, foreign, or of an unknown version; the model
            is of another family; a provider is missing or cannot run the artefact; or it has no
            graphs for the target.

    Example:
        >>> encoder = OnnxEncoder("exported/bert")  # doctest: +SKIP
        >>> encoder.embed(["A man in a red shirt."]).shape  # doctest: +SKIP
        (1, 128)
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        threads: int | None = None,
        *,
        batch_tokens: int | None = None,
        max_text_length: int | None = MAX_TEXT_LENGTH,
        long_texts: LongTexts = "refuse",
        providers: Sequence[Provider] | None = None,
        target: str | None = None,
        mmap: bool = False,
    ) -> None:
        engine = partial(
            OnnxEncoderEngine, threads=threads, batch_tokens=batch_tokens, providers=providers
        )
        OpenedArtefact.__init__(self, directory, ENCODER, engine, target=target, mmap=mmap)
        [text_ids] = self.text_ids
        TextUnderstanding.__init__(self, self.engine, text_ids, max_text_length, long_texts)
