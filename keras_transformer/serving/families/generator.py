"""A served generator: continuations of prompts, and scores of texts."""

import copy
import dataclasses
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from keras_transformer.artefact.entries import StoredFile
from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.search_signatures import AnswerSizes, generator_text_signatures
from keras_transformer.artefact.signatures import DEFAULT_SIGNATURE, Signature, TensorSpec
from keras_transformer.generation.chat_template import ChatTemplate
from keras_transformer.generation.engine import check_generation
from keras_transformer.generation.text_generator import TextGenerator
from keras_transformer.runtime.engine import reads_on
from keras_transformer.runtime.generator import OnnxGenerator
from keras_transformer.runtime.onnx_graphs.providers import parse_providers
from keras_transformer.runtime.prompts import PromptContinuer
from keras_transformer.search.confidence import perplexity
from keras_transformer.search.grammars import GRAMMARS, UnfinishedError
from keras_transformer.search.keywords import search_options
from keras_transformer.search.model_limits import HypothesisSize
from keras_transformer.search.options import Hypothesis
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.families.completions import Completions
from keras_transformer.serving.models.arrays import check_lengths, texts_of
from keras_transformer.serving.models.outputs import Outputs, floats, grids, scores, strings
from keras_transformer.serving.models.rows import (
    GRAMMAR_INPUTS,
    NUM_HYPOTHESES,
    SAMPLING,
    STOP,
    Arrays,
    Own,
    Request,
    groups_of,
    length_options,
    most_hypotheses,
    own_options,
    placed,
    with_more,
)
from keras_transformer.serving.models.served import Run
from keras_transformer.serving.settings import ServeOptions
from keras_transformer.text.passage import Passage

# Most tokens of prompts that a server keeps unless it is told otherwise.
_PREFIX_TOKENS = 2048
_INCLUDE_PROMPT = TensorSpec(
    "include_prompt", "bool", (None,), "Whether the text begins with the prompt."
)
_MORE = (*SAMPLING, STOP, *GRAMMAR_INPUTS, _INCLUDE_PROMPT)
_STOP_REASON = TensorSpec(
    "stop_reason",
    "string",
    (None,),
    'Why the text ended: "stop", "eos", or "length" for its limit.',
)


class PromptRow(NamedTuple):
    """A prompt, with options of its own.

    Attributes:
        prompt: The text to continue.
        max_length: Most new tokens, the end token included.
        length_penalty: Exponent of the length penalty.
        own: Fields of `SearchOptions` that the request sets for this row, and their values.
        include_prompt: Whether its text begins with the prompt.
        adapter: The adapter that it is continued with; None for none.
    """

    prompt: str
    max_length: int
    length_penalty: float
    own: Own = ()
    include_prompt: bool = True
    adapter: str | None = None

    @property
    def shows_prompt(self) -> bool:
        """Whether its text begins with the prompt: one that follows a grammar never does."""
        return self.include_prompt and not any(name in GRAMMARS for name, _ in self.own)


class ServedGenerator:
    """The `Served` of a decoder alone; it streams, too.

    Args:
        files: The artefact's files, which are in memory.
        options: The server's options.
        given: Fields of `SearchOptions` for every continuation; others are the model's own or
            defaults.

    Attributes:
        search: The search of every continuation.
        signatures: What requests may call, by name.
        graphs: Which of the artefact's graphs run, and why.
        full_answer: The signature, and its output, that give the whole of a streamed answer.
        completions: What completes prompts of texts, ids or chats.

    Raises:
        FileNotFoundError: The directory or one of its files is missing.
        ValueError: A file is damaged, or the search does not fit the model.
    """

    full_answer = ("generate_with_options", "text")

    def __init__(
        self, files: ArtefactFiles, options: ServeOptions, given: Mapping[str, Any]
    ) -> None:
        search, adapters = search_options(files.manifest.search, given), options.adapters
        check_generation(search)
        kept = options.prefix_cache_tokens
        if kept is None:
            kept = _PREFIX_TOKENS if reads_on(files.manifest) else 0
        self._generator = OnnxGenerator(
            files,
            options.threads,
            max_text_length=options.max_source_length,
            providers=parse_providers(options.provider),
            prefix_cache_tokens=kept,
            adapters=adapters,
        )
        self._adapter: str | None = None
        # Copies share them, and so their batches.
        self._runs: dict[str, Run] = {"score": self._score, "generate_n_best": self._generate}
        self._run_best: Run = self._generate_best
        self._generators: dict[str | None, TextGenerator] = {
            None: self._generator,
            **{name: self._generator.adapted(name) for name in adapters},
        }
        HypothesisSize.of(vars(self._generator.config)).check(search)
        self.graphs = self._generator.describe()
        self.search = search
        # What is shorter leaves room for the shortest continuation that may be returned.
        shortest = dataclasses.replace(search, max_length=max(1, search.min_length))
        self._longest_prompt = self._generator.longest_prompt(shortest)
        [text_ids] = self._generator.text_ids
        self.completions = Completions(
            PromptContinuer(self._generator.engine, text_ids),
            search,
            self._generator.search,
            self._longest_prompt,
            _chat_template(files, self._generator.manifest.chat),
            tuple(adapters),
        )
        declared = generator_text_signatures(AnswerSizes(max_length=search.max_length))
        # The rows of all requests are texts.
        self.signatures = {name: one for name, one in declared.items() if not name.endswith("_ids")}
        own = self.signatures["generate_with_options"]
        own = dataclasses.replace(own, outputs=(*own.outputs, _STOP_REASON))
        self.signatures[own.name] = with_more(own, *_MORE)
        several = self.signatures["generate_n_best"]
        self.signatures[several.name] = with_more(several, NUM_HYPOTHESES, *_MORE)
        self._writers: dict[str, Callable[[Sequence[Any]], Outputs]] = {
            DEFAULT_SIGNATURE: _write_best,
            "generate": _write_best,
            "generate_with_options": _write_best_and_reason,
            "score": _write_scores,
        }

    def adapted(self, name: str) -> "ServedGenerator":
        """As `Adapting.adapted`."""
        found = copy.copy(self)
        found._adapter = name
        return found

    def close(self) -> None:
        """Releases the graphs; what is running finishes."""
        self._generator.close()

    def warm_up(self) -> None:
        """As `Served.warm_up`."""
        row = PromptRow("", min(self.search.max_length, 2), self.search.length_penalty)
        # One text and several take different paths through the engine.
        for rows in ([row], [row] * 2):
            self._generate(rows)
        self._score([""])
        self.completions.warm_up()
        self.stream(row, lambda piece: True)

    @property
    def counts(self) -> dict[str, int]:
        """As `Streaming.counts`."""
        return self._generator.engine.counts

    @property
    def joining(self) -> int:
        """As `Streaming.joining`."""
        return self._generator.engine.joining

    def read(self, signature: Signature, inputs: Arrays) -> Request:
        """As `Served.read`: a row is a `PromptRow`, or a text to be scored."""
        if signature.name == "score":
            if self._adapter is not None:
                raise refusal("texts are scored without adapters: ask the model itself.")
            texts = texts_of(inputs, "text")
            self._check_lengths("text", texts, self._generator.max_text_length)
            return Request(texts)
        prompts = texts_of(inputs, "prompt")
        self._check_lengths("prompt", prompts, self._longest_prompt)
        own = length_options(inputs, self.search, len(prompts))
        rows = [
            PromptRow(prompt, *row, adapter=self._adapter)
            for prompt, row in zip(prompts, own, strict=True)
        ]
        options = own_options(inputs, self.search, len(rows))
        included = [True] * len(rows)
        if "include_prompt" in inputs:
            included = inputs["include_prompt"].tolist()
        for given in dict.fromkeys(options):
            self._check_grammar(given)
        places = range(len(rows))
        return Request(
            [
                row._replace(own=placed(one, place), include_prompt=with_prompt)
                for row, one, place, with_prompt in zip(
                    rows, options, places, included, strict=True
                )
            ]
        )

    def read_text(
        self,
        text: str,
        target_prefix: str = "",
        languages: tuple[str, str] = ("", ""),
        own: Mapping[str, Any] = MappingProxyType({}),
    ) -> Request:
        """As `Streaming.read_text`; the text is a prompt, so a prefix is refused."""
        if target_prefix:
            raise refusal("target_prefix is for translations: append it to the text instead.")
        if any(languages):
            raise refusal("languages are for translations: leave them out.")
        self._check_lengths("text", [text], self._longest_prompt)
        search = self.search
        row = PromptRow(text, search.max_length, search.length_penalty, adapter=self._adapter)
        return Request([row], [Passage.whole(text)])

    def run(self, signature: Signature) -> Run:
        """As `Served.run`."""
        return self._runs.get(signature.name, self._run_best)

    def write(self, signature: Signature, request: Request, results: Sequence[Any]) -> Outputs:
        """As `Served.write`."""
        if signature.name == "generate_n_best":
            return grids("texts", results, most_hypotheses(request.rows, self.search))
        return self._writers[signature.name](results)

    def stream(self, row: PromptRow, emit: Callable[[str], bool]) -> None:
        """As `Streaming.stream`."""
        self._check_grammar(row.own)
        options = {**self._options(row), "beam_size": 1, "num_hypotheses": 1}
        generator = self._generators[row.adapter]
        pieces = generator.stream(row.prompt, include_prompt=row.include_prompt, **options)
        try:
            for piece in pieces:
                if not emit(piece):
                    return
        except UnfinishedError as error:
            raise refusal(str(error)) from error

    def _check_grammar(self, own: Own) -> None:
        try:
            self._generator.check_grammar(dataclasses.replace(self.search, **dict(own)))
        except (ValueError, ImportError) as error:
            raise refusal(str(error)) from error

    def _check_lengths(self, name: str, texts: Sequence[str], limit: int | None) -> None:
        check_lengths(name, self._generator.text_lengths(texts), limit)

    def _options(self, row: PromptRow) -> dict[str, Any]:
        return {
            **dataclasses.asdict(self.search),
            "max_length": row.max_length,
            "min_length": min(self.search.min_length, row.max_length),
            "length_penalty": row.length_penalty,
            **dict(row.own),
        }

    def _generate_best(self, rows: Sequence[PromptRow]) -> list[list[Hypothesis]]:
        return self._generate(rows, num_hypotheses=1)

    def _generate(
        self, rows: Sequence[PromptRow], num_hypotheses: int | None = None
    ) -> list[list[Hypothesis]]:
        found: dict[int, list[Hypothesis]] = {}
        for places in groups_of(rows):
            prompts = [rows[place].prompt for place in places]
            options = self._options(rows[places[0]])
            if num_hypotheses is not None:
                options["num_hypotheses"] = num_hypotheses
            generator = self._generators[rows[places[0]].adapter]
            results = generator.generate_n_best(prompts, include_prompt=False, **options)
            for place, own in zip(places, results, strict=True):
                # Every vocabulary's texts go on behind their prompts without more ado.
                lead = rows[place].prompt if rows[place].shows_prompt else ""
                found[place] = [dataclasses.replace(one, text=lead + one.text) for one in own]
        return [found[place] for place in range(len(rows))]

    def _score(self, rows: Sequence[str]) -> list[Hypothesis]:
        search = self.search
        return self._generator.score(
            rows,
            length_penalty=search.length_penalty,
            length_penalty_type=search.length_penalty_type,
        )


def _chat_template(files: ArtefactFiles, entry: StoredFile | None) -> ChatTemplate | None:
    if entry is None:
        return None
    try:
        return ChatTemplate.from_json(files.content(entry))
    except ValueError as error:
        raise ValueError(f"{files.directory / entry.file}: {error}") from error


def _write_best(results: Sequence[list[Hypothesis]]) -> Outputs:
    best = [found[0] for found in results]
    return {"text": strings([one.text for one in best]), "score": floats([o.score for o in best])}


def _write_best_and_reason(results: Sequence[list[Hypothesis]]) -> Outputs:
    reasons = [found[0].stop_reason or "" for found in results]
    return {**_write_best(results), _STOP_REASON.name: strings(reasons)}


def _write_scores(results: Sequence[Hypothesis]) -> Outputs:
    # JSON has no infinity.
    most = float(np.finfo(np.float32).max)
    perplexities = [min(perplexity(one.log_probability, len(one.ids) + 1), most) for one in results]
    return {**scores(results), "perplexity": floats(perplexities)}
