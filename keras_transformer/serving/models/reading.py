"""Reads requests: checks and tokenizes their inputs, and records them in the journal."""

import asyncio

from keras_transformer.artefact.signatures import Signature
from keras_transformer.serving.errors import Code, ServingError
from keras_transformer.serving.journal import Journal, JournalEntry
from keras_transformer.serving.models.inputs import check_inputs
from keras_transformer.serving.models.rows import Arrays, Request
from keras_transformer.serving.models.running import before
from keras_transformer.serving.models.served import Explaining, Served, Streaming

# Texts of more bytes are tokenized in a thread: in the event loop they would delay all others.
_LONG_BYTES = 1 << 15


class RequestReader:
    """Reads the requests of a server.

    Args:
        journal: Says whether texts are logged.
        max_sentences: The most sentences of a request.
    """

    def __init__(self, journal: Journal, max_sentences: int) -> None:
        self._journal, self._max_sentences = journal, max_sentences

    async def arrays(
        self,
        model: Served,
        signature: Signature,
        inputs: Arrays,
        entry: JournalEntry,
        until: float,
    ) -> Request:
        """Reads the inputs of a signature.

        Args:
            model: The model.
            signature: The signature.
            inputs: Arrays by name.
            entry: The request's entry in the journal.
            until: The event loop's time at which the request is given up.

        Raises:
            ServingError: They do not fit the signature, or are too many.
        """
        self._count(entry, check_inputs(signature, inputs))
        texts = [
            text
            for spec in signature.inputs
            if spec.dtype == "string" and spec.name in inputs
            for text in inputs[spec.name].tolist()
        ]
        if self._journal.log_text:
            entry.texts = [text.decode(errors="replace") for text in texts]
        if sum(map(len, texts)) > _LONG_BYTES:
            request = await before(until, asyncio.to_thread(model.read, signature, inputs))
        else:
            request = model.read(signature, inputs)
        entry.cuts = request.cuts
        self._count(entry, len(request.rows))
        return request

    async def text(
        self,
        model: Streaming | Explaining,
        text: str,
        target_prefix: str,
        languages: tuple[str, str],
        entry: JournalEntry,
    ) -> Request:
        """Reads one text; arguments as for `Service.stream`.

        Raises:
            ServingError: The text or a language is refused, or there are too many sentences.
        """
        if self._journal.log_text:
            entry.texts = [text, target_prefix] if target_prefix else [text]
        if len(text) + len(target_prefix) > _LONG_BYTES:
            request = await asyncio.to_thread(model.read_text, text, target_prefix, languages)
        else:
            request = model.read_text(text, target_prefix, languages)
        self._count(entry, len(request.rows))
        return request

    def _count(self, entry: JournalEntry, sentences: int) -> None:
        """Records how many sentences a request has; refuses too many."""
        entry.sentences = sentences
        if sentences > self._max_sentences:
            raise ServingError(
                Code.INVALID_ARGUMENT,
                f"a request may have {self._max_sentences} sentences, got {sentences}: send "
                "several requests.",
            )
