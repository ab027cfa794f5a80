"""`OnnxTranslator`: translation of texts with an exported artefact."""

import os
from collections.abc import Sequence
from functools import partial

from keras_transformer.config.family import ENCODER_DECODER
from keras_transformer.config.sentence_marks import SentenceMarks
from keras_transformer.markup.casing import Casing
from keras_transformer.markup.profiles import Profile
from keras_transformer.markup.required import text_lifter
from keras_transformer.markup.terms import Glossary, TermUse
from keras_transformer.runtime.onnx_graphs.providers import Provider
from keras_transformer.runtime.opening import OpenedArtefact
from keras_transformer.runtime.translation_engine import Engine
from keras_transformer.search.confidence import check_min_score
from keras_transformer.search.model_limits import MAX_SOURCE_LENGTH, LongTexts, SourceLimit
from keras_transformer.text.letterless import Letterless
from keras_transformer.translation.translator import TextTranslator


class OnnxTranslator(OpenedArtefact[Engine], TextTranslator):
    """Translates with an artefact that `export_onnx` wrote; needs no TensorFlow.

    Any number of threads may share one translator. It is a context manager that closes itself.

    Args:
        directory: The artefact. Its files are read once and checked against the manifest's hashes;
            what happens to them later changes nothing.
        threads: Threads for the graphs; one for each core that the process may use if None.
        batch_tokens: Most padded source tokens in a batch, counted for every beam or sample; chosen
            for the model's size if None.
        max_cache_bytes: Most memory for the keys and values of what is decoded at once; no limit
            if None. `peak_cache_bytes` tells how much they have taken.
        max_source_length: Most tokens of a source, or fewer if the model allows fewer; no limit
            if None.
        long_texts: What to do with longer sources: "refuse" raises `TooLongError`, which has the
            index; "cut" drops their ends. `SentenceTranslator` splits them instead.
        min_score: Log-probability a token below which a hypothesis has `low_confidence`; the
            artefact's if None.
        letterless: What has no letter (numbers alone, marks of lists, runs of symbols) is copied
            around the model ("copy") or translated by it ("translate"); "auto" copies what was not
            in one of a hundred of the model's training lines, and everything if that is unknown.
            Words in letters that the vocabulary lacks are copied, too, unless all is translated.
        markup: Profile of the spans that translations keep as they are (`docs/markup.md`); the one
            that the model was trained with if None.
        glossary: Terms that are translated as they say (`docs/terms.md`); None for none.
        terms: Whether translations hold the terms ("hard"), the model reads them beside the words
            and may inflect them ("soft"), or both; "hard" if None.
        casing: A text in capitals is translated as a sentence, and its translation put in
            capitals ("recase"), or as it is ("keep"), or ("auto") as it is if one in a hundred of
            the model's training lines was in capitals.
        providers: onnxruntime's execution providers for the graphs, best first: names, or tuples
            of a name and its options, as onnxruntime takes them; the CPU if None. Providers other
            than the CPU need an artefact exported with target="portable".
        target: Which of the artefact's graphs to run, "native" or "onnxruntime"; those that are
            fastest here if None.
        mmap: Map the file of weights instead of reading it, so that processes share its memory. A
            change to the file then changes the answers, and truncating it ends the process.

    Attributes:
        manifest: The artefact's contract.
        max_source_length: Most tokens of a source; None if there is no limit.
        training_text: What the model's training lines looked like; None if that is unknown.
        min_score: The threshold of low confidence; None if neither argument nor artefact gives one.
        search: Fields of `SearchOptions` that hold where a call gives none: the artefact's.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: The manifest or a file is damaged, foreign, or of an unknown version; a provider
            is missing or cannot run the artefact; or it has no graphs for the target.

    Example:
        >>> translator = OnnxTranslator("exported/demo")  # doctest: +SKIP
        >>> translator.translate(["Hello, how are you?"], beam_size=4)  # doctest: +SKIP
        ['Hola, ¿cómo estás?']
    """

    def __init__(
        self,
        directory: str | os.PathLike[str],
        threads: int | None = None,
        *,
        batch_tokens: int | None = None,
        max_cache_bytes: int | None = None,
        max_source_length: int | None = MAX_SOURCE_LENGTH,
        long_texts: LongTexts = "refuse",
        min_score: float | None = None,
        providers: Sequence[Provider] | None = None,
        target: str | None = None,
        letterless: Letterless = "auto",
        markup: Profile | None = None,
        glossary: Glossary | None = None,
        terms: TermUse | None = None,
        casing: Casing = "auto",
        mmap: bool = False,
    ) -> None:
        check_min_score(min_score)
        engine = partial(
            Engine,
            threads=threads,
            batch_tokens=batch_tokens,
            max_cache_bytes=max_cache_bytes,
            providers=providers,
        )
        OpenedArtefact.__init__(self, directory, ENCODER_DECODER, engine, target=target, mmap=mmap)
        manifest, (source, target_ids) = self.manifest, self.text_ids
        TextTranslator.__init__(
            self,
            self.engine,
            source,
            target_ids,
            SourceLimit(max_source_length, long_texts, self.engine.limits),
            SentenceMarks(**manifest.config.get("marks", {})),
            training_text=manifest.training_text,
            min_score=manifest.min_score if min_score is None else min_score,
            search=manifest.search,
            letterless=letterless,
            lift=text_lifter(
                manifest.special_ids,
                manifest.training_text,
                markup=markup,
                glossary=glossary,
                terms=terms,
                casing=casing,
            ),
        )

    @property
    def peak_cache_bytes(self) -> int:
        """Most memory that the keys and values of a batch have taken so far, in bytes."""
        return self.engine.peak_cache_bytes
