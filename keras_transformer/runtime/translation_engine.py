"""The engine of an exported encoder-decoder: rows of source ids, in any number and order, to
candidates, alignments or encoder states. It knows nothing of text.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

import numpy as np
import numpy.typing as npt

from keras_transformer.runtime.engine import DecoderEngine
from keras_transformer.runtime.loop.batches import IdRows, plan_batches
from keras_transformer.runtime.loop.requests import DecodedRows
from keras_transformer.runtime.onnx_graphs.graphs import Sessions, batch_shortlist, pad_sources
from keras_transformer.runtime.onnx_graphs.listed import PLACES, WEIGHTS
from keras_transformer.search.model_limits import ModelLimits
from keras_transformer.search.options import Candidate, SearchOptions
from keras_transformer.search.phrases import Phrases
from keras_transformer.search.stops import Stops
from keras_transformer.translation.engine import Alignment, Attention

Pair = tuple[Sequence[int], Sequence[int]]


class Engine(DecoderEngine):
    """An opened artefact as a `TranslationEngine`; any number of threads may use it at once.

    Takes the arguments of `DecoderEngine`, of which `batch_tokens` counts source tokens, and has
    its attributes.

    Raises:
        ValueError: A number is below 1, or a graph does not match the manifest.
    """

    @cached_property
    def limits(self) -> ModelLimits:
        """What the model can take."""
        return ModelLimits.of(self.manifest.config, self.manifest.special_ids)

    @cached_property
    def model_dim(self) -> int:
        """Width of the encoder's states."""
        return int(self.manifest.config["model_dim"])

    def search(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None = None,
        *,
        with_scores: bool = True,
        stops: Stops | None = None,
        phrases: Sequence[Phrases] = (),
    ) -> list[list[Candidate]]:
        """As `TranslationEngine.search`; greedy search is faster without scores.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model.
            RuntimeError: The engine is closed.
        """
        rows = self._checked(sources, options, prefixes, phrases)
        return self._search(rows, with_scores, stops)

    def stream(
        self, source: Sequence[int], options: SearchOptions, prefix: Sequence[int] = ()
    ) -> Iterator[int]:
        """As `TranslationEngine.stream`.

        Raises:
            ValueError: A source, a prefix or an option does not fit the model; raised at once.
            RuntimeError: The engine is closed.
        """
        return self._stream(self._checked([source], options, [prefix]))

    def align(self, sources: IdRows, targets: IdRows) -> list[Alignment]:
        """As `TranslationEngine.align`.

        Raises:
            ValueError: The numbers of sources and targets differ, or an id is outside its
                vocabulary.
            RuntimeError: The engine is closed.
        """
        rows = self._forced(sources, targets, ("log_probabilities", "attention"))
        return [Alignment(*row) for row in rows]

    def attend(self, sources: IdRows, targets: IdRows) -> list[Attention]:
        """As `TranslationEngine.attend`: without the logits, which take most of the time.

        Raises:
            ValueError: As for `align`.
            RuntimeError: The engine is closed.
        """
        return [attention for (attention,) in self._forced(sources, targets, ("attention",))]

    def _forced(
        self, sources: IdRows, targets: IdRows, outputs: Sequence[str]
    ) -> list[tuple[npt.NDArray[np.float32], ...]]:
        """Returns outputs of the scorer for each pair, without its padding."""
        self.limits.check_pairs(sources, targets)
        opened = self._graphs.open("encoder", "scorer")
        lengths = [max(2, len(s) + 1, len(t) + 1) for s, t in zip(sources, targets, strict=True)]
        found: dict[int, tuple[npt.NDArray[np.float32], ...]] = {}
        for places in plan_batches(lengths, batch_tokens=self._batch_tokens):
            pairs = [(sources[place], targets[place]) for place in places]
            for place, *rows in zip(places, *self._run_scorer(opened, pairs, outputs), strict=True):
                # The axes of an output are those of the target and, with attention, the source.
                sides = len(targets[place]) + 1, len(sources[place]) + 1
                found[place] = tuple(row[tuple(map(slice, sides[: row.ndim]))] for row in rows)
        return [found[place] for place in range(len(lengths))]

    def _run_scorer(
        self, opened: Sessions, pairs: Sequence[Pair], outputs: Sequence[str]
    ) -> list[npt.NDArray[np.float32]]:
        """Runs one pass over all tokens of the pairs, teacher forcing."""
        ids = self.manifest.special_ids
        mask, cross = self._graphs.keys_values(opened["encoder"], [source for source, _ in pairs])
        labels = pad_sources([target for _, target in pairs], pad_id=ids.pad, ends=[ids.eos])
        target_ids = np.roll(labels, 1, axis=1)
        target_ids[:, 0] = ids.decoder_start
        inputs = {"target_ids": target_ids, "labels": labels, "source_mask": mask, **cross}
        if (shortlist := self._shortlist) is not None:
            # A pair's probabilities are those among its own ids and the target's.
            listed = shortlist.choose(*map(list, zip(*pairs, strict=True)))
            size = shortlist.target_vocab_size
            inputs[WEIGHTS] = batch_shortlist(opened, listed, size).weights
            inputs.update({"labels": listed.labels(labels), PLACES: listed.places})
        return opened["scorer"].outputs(outputs, inputs)

    def encoder_states(self, sources: IdRows) -> list[npt.NDArray[np.float32]]:
        """As `TranslationEngine.encoder_states`.

        Raises:
            ValueError: A source does not fit the model.
            RuntimeError: The engine is closed.
        """
        self.limits.check_sources(sources)
        encoder = self._graphs.open("encoder")["encoder"]
        # An empty text still has a state for eos; a length of 2 keeps it in the plan.
        lengths = [max(2, len(source) + 1) for source in sources]

        def run(places: list[int]) -> list[npt.NDArray[np.float32]]:
            return self._graphs.states(encoder, [sources[place] for place in places])

        batches = plan_batches(lengths, batch_tokens=self._batch_tokens)
        found = self._workers.by_place(run, batches, at_a_time=1)
        return [found[place] for place in range(len(sources))]

    def _checked(
        self,
        sources: IdRows,
        options: SearchOptions,
        prefixes: IdRows | None,
        phrases: Sequence[Phrases] = (),
    ) -> DecodedRows:
        options, limits, prefixes = self.limits.check_search(sources, options, prefixes)
        return DecodedRows(
            options=options,
            prefixes=prefixes,
            limits=limits,
            sources=sources,
            phrases=self.limits.check_phrases(phrases, sources, options, limits, prefixes),
        )
