"""`OnnxGenerator`: continuations of texts with an exported decoder."""

import os
from collections.abc import Mapping, Sequence
from functools import partial

from keras_transformer.config.family import DECODER
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.runtime.generator_engine import OnnxGenerationEngine
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.opening import OpenedArtefact
from keras_transformer.search.model_limits import LongTexts
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH


class OnnxGenerator(OpenedArtefact[OnnxGenerationEngine], TextGenerator):
    """Continues texts with a decoder alone that `export_onnx` wrote; needs no TensorFlow.

    Any number of threads may share one. It is a context manager that closes itself.

    Args:
        directory: The artefact. Its files are read once and checked against the manifest's hashes;
            what happens to them later changes nothing.
        threads: Threads for the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded tokens at once, new ones included, counted for every beam or
            sample; chosen for the model's size if None.
        max_cache_bytes: Most memory for the keys and values of what is decoded at once; no limit
            if None. `peak_cache_bytes` tells how much they have taken.
        max_text_length: Most tokens of a prompt or a text, unless the model allows fewer; None for
            no other limit than the model's.
        long_texts: What to do with longer ones: "refuse" raises `LongTextError`, which has the
            index; "cut" drops the beginning of a prompt, and the end of a text to be scored.
        providers: onnxruntime's execution providers, best first: names, or tuples of a name and its
            options; the CPU if None.
        target: Which of the artefact's graphs to run, "native" or "onnxruntime"; those that are
            fastest here if None.
        prefix_cache_tokens: Most tokens of prompts whose keys and values are kept, for later
            prompts that begin alike.
        adapters: For each name the file of a low-rank adapter (`save_lora_weights`) that prompts
            may have beside the model's weights (`adapted`); for artefacts exported with
            `adapters=True`. None for none.
        mmap: Map the file of weights instead of reading it, so that processes share its memory; a
            change to the file then changes the answers.

    Attributes:
        manifest: The artefact's contract.
        config: The model's config.
        max_text_length: Most tokens of a prompt or a text; None if there is no limit.
        search: Fields of `SearchOptions` that hold where a call gives none: the artefact's.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: The manifest or a file is damaged, foreign, or of an unknown version; the model
            is of another family; a provider is missing or cannot run the artefact; it has no
            graphs for the target; or prefixes are to be kept and it cannot read on behind them.

    Example:
        >>> generator = OnnxGenerator("exported/gpt")  # doctest: +SKIP
        >>> generator.generate(["A man in"], max_length=20)  # doctest: +SKIP
        ['A man in a red shirt is sitting on a bench.']
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        threads: int | None = None,
        *,
        batch_tokens: int | None = None,
        max_cache_bytes: int | None = None,
        max_text_length: int | None = MAX_TEXT_LENGTH,
        long_texts: LongTexts = "refuse",
        providers: Sequence[Provider] | None = None,
        target: str | None = None,
        mmap: bool = False,
        prefix_cache_tokens: int = 0,
        adapters: Mapping[str, str | os.PathLike[str]] | None = None,
    ) -> None:
        engine = partial(
            OnnxGenerationEngine,
            threads=threads,
            batch_tokens=batch_tokens,
            max_cache_bytes=max_cache_bytes,
            providers=providers,
            prefix_cache_tokens=prefix_cache_tokens,
            adapters=adapters,
        )
        OpenedArtefact.__init__(self, directory, DECODER, engine, target=target, mmap=mmap)
        [text_ids] = self.text_ids
        TextGenerator.__init__(
            self, self.engine, text_ids, max_text_length, long_texts, self.manifest.search
        )

    def adapted(self, name: str) -> TextGenerator:
        """Returns what continues prompts with an adapter, while this generator is open.

        Raises:
            ValueError: There is no adapter of that name.

        Example:
            `generator.adapted("pirate").generate(["Where is"])`
        """
        [text_ids] = self.text_ids
        engine = self.engine.adapted(name)
        return TextGenerator(engine, text_ids, self.max_text_length, self._long_texts, self.search)

    @property
    def peak_cache_bytes(self) -> int:
        """Most memory that the keys and values of a batch have taken so far, in bytes."""
        return self.engine.peak_cache_bytes
