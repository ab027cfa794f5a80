"""A served encoder: vectors and states of texts, and the outputs of its head."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.artefact.encoder_signatures import (
    PAIR_FUNCTIONS,
    EncoderSizes,
    encoder_text_signatures,
)
from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, LOWEST, Signature
from keras_transformer.runtime.encoder import OnnxEncoder
from keras_transformer.runtime.onnx_graphs.providers import parse_providers
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.models.arrays import check_lengths, texts_of
from keras_transformer.serving.models.outputs import Outputs, check_states, filled, floats, strings
from keras_transformer.serving.models.rows import Arrays, Request
from keras_transformer.serving.models.served import Run
from keras_transformer.serving.settings import ServeOptions
from keras_transformer.text.layout import encoder_row
from keras_transformer.translation.results import pad_states

# Fillings of each text, if the server's search does not ask for several hypotheses.
NUM_FILLINGS = 5
# The functions of two texts a row.
_OF_PAIRS = {"find_span", *PAIR_FUNCTIONS.values()}


class ServedEncoder:
    """The `Served` of an encoder.

    Args:
        files: The artefact's files, which are in memory.
        options: The server's options; `long_texts` cuts texts and says so in the log, or refuses
            them.
        given: Fields of `SearchOptions`: `num_hypotheses` fillings of each text with masks, or
            `NUM_FILLINGS` if 1.

    Attributes:
        signatures: What requests may call, by name.
        graphs: Which of the artefact's graphs run, and why.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: A file is damaged.
    """

    def __init__(
        self, files: ArtefactFiles, options: ServeOptions, given: Mapping[str, Any]
    ) -> None:
        self._cuts = options.long_texts == "cut"
        self._encoder = OnnxEncoder(
            files,
            options.threads,
            max_text_length=options.max_source_length,
            long_texts="cut" if self._cuts else "refuse",
            providers=parse_providers(options.provider),
        )
        self.graphs = self._encoder.describe()
        config = self._encoder.config
        most = len(config.special_ids.text_ids(config.vocab_size))
        num_hypotheses = given.get("num_hypotheses", 1)
        self._fillings = min(num_hypotheses if num_hypotheses > 1 else NUM_FILLINGS, most)
        declared = encoder_text_signatures(
            EncoderSizes(
                head=config.head,
                num_labels=len(config.labels),
                model_dim=config.model_dim,
                vector_dim=config.vector_dim,
                has_prompts=bool(config.prompts),
                multi_label=config.multi_label,
                num_hypotheses=self._fillings,
            )
        )
        # The rows of all requests are texts.
        self.signatures = {name: one for name, one in declared.items() if not name.endswith("_ids")}
        main = next(name for name in self.signatures if name != DEFAULT_SIGNATURE)
        self._functions = {name: name for name in self.signatures} | {DEFAULT_SIGNATURE: main}
        self._runs: dict[str, Run] = {
            "embed": self._embed,
            "embed_with_prompt": self._embed,
            "encode": self._states,
            "classify": self._encoder.classify,
            "classify_pairs": lambda rows: self._encoder.classify(*zip(*rows, strict=True)),
            "regress": self._regress,
            "regress_pairs": lambda rows: self._regress(*zip(*rows, strict=True)),
            "next_sentence": self._follow,
            "tag": self._encoder.tag,
            "fill_mask": self._fill_mask,
            "find_span": self._find_spans,
        }
        self._writers: dict[str, Callable[[Sequence[Any]], Outputs]] = {
            "embed": self._write_vectors,
            "embed_with_prompt": self._write_vectors,
            "encode": self._write_states,
            "classify": self._write_classes,
            "classify_pairs": self._write_classes,
            "regress": _write_values,
            "regress_pairs": _write_values,
            "next_sentence": lambda results: {"probability": floats(results)},
            "tag": _write_tags,
            "fill_mask": self._write_fillings,
            "find_span": _write_spans,
        }

    def close(self) -> None:
        """Releases the graphs; what is running finishes."""
        self._encoder.close()

    def warm_up(self) -> None:
        """As `Served.warm_up`."""
        for name in set(self._functions.values()):
            text = self._encoder.mask_piece if name == "fill_mask" else ""
            row = (text, text) if name in _OF_PAIRS else text
            for rows in ([row], [row] * 2):
                self._runs[name](rows)

    def read(self, signature: Signature, inputs: Arrays) -> Request:
        """As `Served.read`: a row is a text, or two."""
        name = self._functions[signature.name]
        if name in _OF_PAIRS:
            first, second = (spec.name for spec in signature.inputs)
            return self._pairs(first, second, inputs)
        texts = texts_of(inputs, "text")
        if name == "embed":
            texts = self._encoder.prompted(texts)
        elif name == "embed_with_prompt":
            texts = self._prompted(texts, texts_of(inputs, "prompt_name"))
        # A tagger reads word by word, which may take more tokens.
        count = self._encoder.tag_lengths if name == "tag" else self._encoder.text_lengths
        lengths, limit = count(texts), self._encoder.max_text_length
        cuts = _cuts_of("text", lengths, limit)
        if not self._cuts:
            check_lengths("text", lengths, limit)
        if name == "encode":
            read = lengths if limit is None else [min(length, limit) for length in lengths]
            check_states(read, self._encoder.config.model_dim)
        if name == "fill_mask":
            mask = self._encoder.mask_piece
            for number, masks in enumerate(self._encoder.mask_counts(texts)):
                if not masks:
                    raise refusal(
                        f"row {number} of text has no {mask}: write {mask} where a word is missing."
                    )
        return Request(texts, cuts=cuts)

    def run(self, signature: Signature) -> Run:
        """As `Served.run`."""
        return self._runs[self._functions[signature.name]]

    def write(self, signature: Signature, request: Request, results: Sequence[Any]) -> Outputs:
        """As `Served.write`."""
        return self._writers[self._functions[signature.name]](results)

    def count_tokens(self, rows: Sequence[Any]) -> int:
        """As `Reading.count_tokens`."""
        texts = [text for row in rows for text in ((row,) if isinstance(row, str) else row)]
        ends = len(encoder_row([], None, self._encoder.config.special_ids)[0])
        more = self._encoder.config.pair_separators if len(texts) > len(rows) else 0
        lengths = iter(self._encoder.text_lengths(texts))
        limit = self._encoder.max_text_length
        total = 0
        for row in rows:
            length = sum(next(lengths) for _ in ((row,) if isinstance(row, str) else row)) + more
            total += ends + (length if limit is None else min(length, limit))
        return total

    @property
    def labels(self) -> tuple[str, ...]:
        """As `Reading.labels`."""
        return self._encoder.config.labels

    @property
    def gives_shares(self) -> bool:
        """As `Reading.gives_shares`."""
        return self._encoder.config.value_activation == "sigmoid"

    def _prompted(self, texts: Sequence[str], names: Sequence[str]) -> list[str]:
        found = []
        for number, (text, name) in enumerate(zip(texts, names, strict=True)):
            try:
                found += self._encoder.prompted([text], name)
            except ValueError as error:
                raise refusal(f"row {number}: {error}") from error
        return found

    def _pairs(self, first: str, second: str, inputs: Arrays) -> Request:
        texts = texts_of(inputs, first), texts_of(inputs, second)
        rows, limit = list(zip(*texts, strict=True)), self._encoder.max_text_length
        if limit is None:
            return Request(rows)
        counted = map(self._encoder.text_lengths, texts)
        lengths = [sum(pair) for pair in zip(*counted, strict=True)]
        # Between the two there are further end tokens.
        limit -= self._encoder.config.pair_separators
        cuts = _cuts_of(f"{first} and {second}", lengths, limit)
        if not self._cuts:
            check_lengths(f"{first} and {second}", lengths, limit)
        return Request(rows, cuts=cuts)

    def _embed(self, rows: Sequence[str]) -> list[Any]:
        # A prompt is part of the text by now.
        return list(self._encoder.embed(rows, prompt_name=""))

    def _states(self, rows: Sequence[str]) -> list[npt.NDArray[np.float32]]:
        states, mask = self._encoder.states(rows)
        lengths = mask.sum(axis=1)
        return [row[:length] for row, length in zip(states, lengths, strict=True)]

    def _regress(self, rows: Sequence[str], seconds: Sequence[str] | None = None) -> list[float]:
        return self._encoder.regress(rows, seconds).tolist()

    def _follow(self, rows: Sequence[tuple[str, str]]) -> list[float]:
        return self._encoder.next_sentences(*zip(*rows, strict=True)).tolist()

    def _fill_mask(self, rows: Sequence[str]) -> list[Any]:
        return self._encoder.fill_mask(rows, self._fillings)

    def _find_spans(self, rows: Sequence[tuple[str, str]]) -> list[Any]:
        questions, texts = zip(*rows, strict=True)
        return self._encoder.find_spans(questions, texts)

    def _write_vectors(self, results: Sequence[Any]) -> Outputs:
        width = self._encoder.config.vector_dim
        return {"vector": np.array(results, np.float32).reshape(-1, width)}

    def _write_states(self, results: Sequence[Any]) -> Outputs:
        states, mask = pad_states(results, self._encoder.config.model_dim)
        return {"encoder_states": states, "mask": mask}

    def _write_classes(self, results: Sequence[Any]) -> Outputs:
        labels = self._encoder.config.labels
        probabilities = [one.probabilities for one in results]
        return {
            "label": strings([one.label for one in results]),
            "probability": floats([one.probability for one in results]),
            "labels": _grid([labels] * len(results), len(labels)),
            "probabilities": np.array(probabilities, np.float32).reshape(-1, len(labels)),
        }

    def _write_fillings(self, results: Sequence[Sequence[Any]]) -> Outputs:
        count = self._fillings
        masks = max((len(one.tokens) for row in results for one in row), default=0)
        tokens = [filled([one.tokens for one in row], count, []) for row in results]
        flat = [words for row in tokens for words in row]
        scores = [filled([one.score for one in row], count, LOWEST) for row in results]
        return {
            "texts": _grid([[one.text for one in row] for row in results], count),
            "tokens": _grid(flat, masks).reshape(len(results), count, masks),
            "scores": np.array(scores, np.float32).reshape(-1, count),
        }


def _write_values(results: Sequence[float]) -> Outputs:
    return {"value": np.array(results, np.float32)}


def _write_tags(results: Sequence[Sequence[Any]]) -> Outputs:
    columns = max(map(len, results), default=0)
    probabilities = [filled([one.probability for one in row], columns, 0.0) for row in results]
    return {
        "tokens": _grid([[one.word for one in row] for row in results], columns),
        "tags": _grid([[one.tag for one in row] for row in results], columns),
        "probabilities": np.array(probabilities, np.float32).reshape(len(results), columns),
    }


def _write_spans(results: Sequence[Any]) -> Outputs:
    # A text without a token has no span.
    lasts = [one.last if one.score > -np.inf else -1 for one in results]
    return {
        "answer": strings([one.text for one in results]),
        "first": np.array([one.first for one in results], np.int32),
        "last": np.array(lasts, np.int32),
        "score": np.array([max(one.score, LOWEST) for one in results], np.float32),
    }


def _cuts_of(name: str, lengths: Sequence[int], limit: int | None) -> list[str]:
    """Returns the log's messages about texts that are cut; arguments are as for
    `check_lengths`.
    """
    return [
        f"row {number} of {name} was cut: it has {length} tokens, {limit} are read."
        for number, length in enumerate(lengths)
        if limit is not None and length > limit
    ]


def _grid(rows: Sequence[Sequence[str]], columns: int) -> npt.NDArray[np.object_]:
    """Returns rows of texts as an array of bytes `(rows, columns)`, filled up with empty ones."""
    flat = [text for row in rows for text in filled(row, columns, "")]
    return strings(flat).reshape(len(rows), columns)
