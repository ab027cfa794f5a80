"""`Generator`: continuations of texts, with their scores, by a live Keras decoder."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import tensorflow as tf
from keras import ops

from keras_transformer.decoding.batches import pad, run_in_batches
from keras_transformer.decoding.candidates import with_seed
from keras_transformer.decoding.engine import SearchingEngine, SearchTask
from keras_transformer.decoding.parts import ROWS, SharedDecoder, as_graph
from keras_transformer.generation.engine import CheckedPrompts, check_prompts, check_texts_fit
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.keras_backend import require_tensorflow_backend
from keras_transformer.layers.decoder.memory import Memory
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.families import require_model
from keras_transformer.runs.finished_run import load_run
from keras_transformer.runs.run_directory import RunDirectory
from keras_transformer.search.grammars import GrammarState
from keras_transformer.search.model_limits import IdRows, LongTexts
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import Stops
from keras_transformer.search.text_limits import MAX_TEXT_LENGTH
from keras_transformer.tensors import Tensor
from keras_transformer.text.layout import decoder_row
from keras_transformer.text.tokenizer import Tokenizer
from keras_transformer.translation.text_ids import TextIds


class Generator(TextGenerator):
    """Greedy search, beam search and sampling with a live decoder.

    Args:
        model: A trained model.
        tokenizer: Its tokenizer.
        batch_tokens: Most padded tokens at once, new ones included, times the hypotheses that the
            search keeps for each prompt.
        max_text_length: Most tokens of a prompt or a text, unless the model allows fewer; None for
            no other limit than the model's.
        long_texts: What to do with longer ones: "refuse" raises `LongTextError`, which has the
            index; "cut" drops the beginning of a prompt, and the end of a text to be scored.
        search: Fields of `SearchOptions` that hold where a call gives none: what `load_search`
            reads of a run whose model was imported with some; None for none.

    Attributes:
        model: The model.
        tokenizer: Its tokenizer.
        config: The model's.
        max_text_length: Most tokens of a prompt or a text; None if there is no limit.
        search: Fields of `SearchOptions` that hold where a call gives none; {} for none.

    Example:
        `Generator(model, tokenizer).generate(["A man in"], max_length=20)`
    """

    def __init__(
        self,
        model: DecoderOnly,
        tokenizer: Tokenizer,
        batch_tokens: int = 4096,
        *,
        max_text_length: int | None = MAX_TEXT_LENGTH,
        long_texts: LongTexts = "refuse",
        search: Mapping[str, Any] | None = None,
    ) -> None:
        require_model(model, DecoderOnly)
        self.model = model
        self.tokenizer = tokenizer
        super().__init__(
            KerasGenerationEngine(model, batch_tokens),
            TextIds(tokenizer.subwords, model.config.special_ids),
            max_text_length,
            long_texts,
            search,
        )

    @classmethod
    def from_run(cls, directory: str | os.PathLike[str], **options: Any) -> "Generator":
        """Opens a finished run with the search that it records, as the commands do.

        Args:
            directory: The run.
            **options: Of the constructor, in place of what the run records.

        Raises:
            FileNotFoundError: A file is missing, or the run has not finished.
            TypeError: The model is no decoder.
            ValueError: A file is damaged.

        Example:
            `Generator.from_run("runs/gpt").generate(["A man in"], max_length=20)`
        """
        model, tokenizer, _ = load_run(directory)
        search = RunDirectory(Path(directory)).load_search()
        return cls(model, tokenizer, **{"search": search, **options})


class KerasGenerationEngine(SearchingEngine):
    """A live model as a `GenerationEngine`; changed weights take effect at once.

    Args:
        model: A trained model.
        batch_tokens: Most padded tokens in a batch, new ones included, times the beams or samples
            of a prompt.

    Attributes:
        config: The model's.
    """

    def __init__(self, model: DecoderOnly, batch_tokens: int) -> None:
        require_tensorflow_backend("Generator")
        super().__init__(model, SharedDecoder(model), batch_tokens)
        self.config = model.config
        self._score = as_graph(self._log_probabilities, ROWS, ROWS)
        self._read_on: Any = None

    def search(
        self,
        prompts: IdRows,
        options: SearchOptions,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
        grammar: GrammarState | None = None,
    ) -> list[list[Candidate]]:
        """As `GenerationEngine.search`; always computes the scores."""
        checked = check_prompts(self.config, prompts, options, phrases, grammar=grammar)
        task = _prompted(options, checked, grammar)
        found = self._candidates(task, dict(enumerate(checked.limits)), stops)
        return [found[place] for place in range(len(checked.prompts))]

    def stream(
        self,
        prompt: Sequence[int],
        options: SearchOptions,
        grammar: GrammarState | None = None,
    ) -> Iterator[int]:
        """As `GenerationEngine.stream`: calls a graph of one step for each token."""
        checked = check_prompts(self.config, [prompt], options, grammar=grammar)
        return self._tokens(_prompted(options, checked, grammar))

    def log_probabilities(self, texts: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `GenerationEngine.log_probabilities`."""
        check_texts_fit(self.config, texts)
        special, lengths = self._special_ids, [len(text) + 1 for text in texts]

        def run(places: list[int]) -> npt.NDArray[np.float32]:
            token_ids = pad([decoder_row(texts[place], special) for place in places], special.pad)
            labels = pad([[*texts[place], special.eos] for place in places], special.pad)
            return np.array(self._score(token_ids, labels))

        found = run_in_batches(lengths, self._batch_tokens, run)
        return [row[:length] for row, length in zip(found, lengths, strict=True)]

    def read_on(
        self, tokens: Sequence[int], before: Any = None
    ) -> tuple[npt.NDArray[np.float32], Any]:
        """As `GenerationEngine.read_on`: in segments as long as the memory."""
        length = self.config.check_memory()
        check_texts_fit(self.config, [tokens])
        last, memory = before or (self._special_ids.decoder_start, self._model.empty_memory(1))
        if self._read_on is None:
            of_memory = tf.nest.map_structure(tf.TensorSpec.from_tensor, memory)
            self._read_on = as_graph(self._read_segment, ROWS, ROWS, of_memory)
        read, found = [last, *tokens], [np.zeros(0, np.float32)]
        for begin in range(0, len(tokens), length):
            labels = np.array([tokens[begin : begin + length]], np.int32)
            token_ids = np.array([read[begin : begin + labels.size]], np.int32)
            values, memory = self._read_on(token_ids, labels, memory)
            found.append(np.array(values)[0])
        return np.concatenate(found), (read[-1], memory)

    def _read_segment(
        self, token_ids: Tensor, labels: Tensor, memory: Memory
    ) -> tuple[Tensor, Memory]:
        states, memory = self._model.read_on(token_ids, memory, training=False)
        # Without the feature of 1: the head adds its biases by itself.
        states = states[..., : self.config.model_dim]
        return _of_labels(self._model.head(states), labels), memory

    def _log_probabilities(self, token_ids: Tensor, labels: Tensor) -> Tensor:
        return _of_labels(self._model({"token_ids": token_ids}, training=False), labels)


def _prompted(
    options: SearchOptions, checked: CheckedPrompts, grammar: GrammarState | None
) -> SearchTask:
    return SearchTask(
        options=with_seed(options),
        limits=checked.limits,
        prefixes=checked.prompts,
        phrases=checked.phrases,
        starts=checked.starts,
        grammar=grammar,
    )


def _of_labels(logits: Tensor, labels: Tensor) -> Tensor:
    """Returns the log-probabilities of labels `(rows, length)`."""
    values = ops.log_softmax(ops.cast(logits, "float32"), axis=-1)
    return ops.take_along_axis(values, labels[:, :, None], axis=2)[:, :, 0]
