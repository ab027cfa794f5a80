"""Takes a Keras model of any family and returns graphs of onnxruntime's fused operators, emitted
block by block, that compute the model's numbers.
"""

from functools import partial
from typing import Any

import numpy as np
import onnx

from keras_transformer.artefact.families import SHORTLIST
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.readers import (
    DecoderParts,
    EncoderParts,
    decoder_parts,
    encoder_parts,
    single_head,
)
from keras_transformer.export.onnx.graphs.specs import LOGITS, Listing, graph_specs
from keras_transformer.export.onnx.heads import candidates, listed
from keras_transformer.export.onnx.heads.of_encoders import emit_head, rows_that_are_read
from keras_transformer.export.onnx.heads.screening import is_worth_screening, screened_best_token
from keras_transformer.export.onnx.heads.vocabulary import (
    vocabulary_matrix,
    vocabulary_product,
)
from keras_transformer.export.onnx.layers.attention.kinds import is_fused, named
from keras_transformer.export.onnx.layers.attention.sequences import (
    prefill_attention,
    sequence_attention,
    visible_attention,
)
from keras_transformer.export.onnx.layers.attention.steps import (
    cached_attention,
    cross_attention,
    source_attention,
)
from keras_transformer.export.onnx.layers.embedding import embed_sequences, embed_step
from keras_transformer.export.onnx.layers.linear import Linear, source_projection
from keras_transformer.export.onnx.layers.recurrence import recurrent_sequence, recurrent_step
from keras_transformer.export.onnx.layers.stack import (
    EmitAttention,
    Parts,
    first_bias,
    run_sub_layers,
)
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer


class OnnxRuntime:
    """The target "onnxruntime"; see `target.Target`.

    Args:
        kernels: How linear layers and embeddings are stored and multiplied.
        has_shortlist: Whether graphs choose among the ids of a shortlist.
    """

    listing: Listing = "gathered"

    def __init__(self, kernels: Kernels, *, has_shortlist: bool = False) -> None:
        self.kernels = kernels
        self.has_shortlist = has_shortlist

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Emits a graph; see `Target.graph`."""
        inputs, outputs = graph_specs(model.config, self.listing if self.has_shortlist else None)[
            name
        ]
        graph = GraphBuilder(inputs, opset)
        emit = {
            "encoder": self._emit_encoder,
            "head": self._emit_head,
            "next_sentence": self._emit_head,
            "decoder": self._emit_decoder,
            "greedy": self._emit_greedy,
            "greedy_scores": self._emit_greedy_scores,
            "scorer": self._emit_scorer,
            "prefill": self._emit_prefill,
            SHORTLIST: self._emit_shortlist,
        }
        emit[name](graph, single_head(model, name))
        return graph.finish(outputs)

    def _emit_encoder(self, graph: GraphBuilder, model: Transformer | EncoderOnly) -> None:
        """Emits ids → states, and cross-attention keys and values of every decoder block."""
        parts = encoder_parts(model)
        states, mask, own, rows = self.enter_encoder(graph, parts)
        states = self.run(graph, parts.stack, states, {"own": own})
        if rows is not None:
            graph.output("states", rows.padded(states, model.config.model_dim))
            return
        attentions = [block.cross_attention for block in model.decoder_stack.blocks]
        projected = self.kernels.linear(graph, states, source_projection(attentions))
        names = [name for number in range(len(attentions)) for name in named("cross", number)]
        graph.outputs(names, self.split_source(graph, projected, attentions, mask))
        whole = self.unpacked(graph, states, mask, model.config.model_dim)
        graph.output("encoder_states", whole)

    def _emit_head(self, graph: GraphBuilder, model: EncoderOnly) -> None:
        """Emits ids → what the encoder's head or its pooler makes of the states."""
        parts = encoder_parts(model)
        states, _, own, rows = self.enter_encoder(graph, parts)
        if rows is None:
            raise RuntimeError("an encoder alone drops the padding of its texts.")
        pick = rows_that_are_read(graph, model, rows)

        def attend(layer: Any, number: int) -> Parts:
            found = own(layer, number)
            # What follows in the last block is computed for these rows only.
            is_last = number == len(parts.stack.blocks) - 1
            return found.of_rows(pick) if is_last and pick is not None else found

        states = self.run(graph, parts.stack, states, {"own": attend})
        emit_head(graph, self.kernels, model, states, rows)

    def _emit_decoder(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits one decoder step: newest tokens and caches → candidates and extended caches."""
        parts = decoder_parts(model)
        states = self.step_states(graph, parts, ("beam_size", "cache_beams"))
        states, matrix = vocabulary_product(graph, parts, states)
        if not self.has_shortlist:
            logits, (ids, *others) = self.best_continuations(graph, states, matrix)
        else:
            logits = self.listed_logits(graph, states, matrix)
            chosen, *others = self.ranked(graph, logits, None)
            ids = self.ids_at(graph, chosen)
        graph.outputs(("candidate_ids", "candidate_values", "candidate_beams"), (ids, *others))
        graph.output(LOGITS, logits)

    def _emit_greedy(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits the decoder step of greedy search, which needs neither beams nor a softmax."""
        parts = decoder_parts(model)
        states = self.step_states(graph, parts, ())
        states, matrix = vocabulary_product(graph, parts, states)
        if not self.has_shortlist:
            ids = self.best_token(graph, states, matrix)
        else:
            places = self.largest(graph, self.listed_logits(graph, states, matrix), None)
            ids = self.next_ids_at(graph, places)
        graph.output("next_ids", ids)

    def _emit_greedy_scores(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits the decoder step of greedy search with scores."""
        parts = decoder_parts(model)
        states, matrix = vocabulary_product(graph, parts, self.step_states(graph, parts, ()))
        if not self.has_shortlist:
            logits = self.logits(graph, states, matrix)
            ids = places = self.largest(graph, logits, len(matrix))
        else:
            logits = self.listed_logits(graph, states, matrix)
            places = self.largest(graph, logits, None)
            ids = self.next_ids_at(graph, places)
        candidates.output_scored(graph, logits, places, ids)

    def _emit_shortlist(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the ids of a batch's shortlist → their weights."""
        matrix = vocabulary_matrix(decoder_parts(model))
        listed.output_weights(graph, self.kernels, matrix)

    def _emit_scorer(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits given texts → their tokens' log-probabilities, and attention to the source.

        Padding must stand on the right.
        """
        parts, weights = decoder_parts(model), list[str]()
        # Padding comes after all real tokens, which look back only: it needs no mask.
        given = {"ids": parts.ids, "mask": None}
        attend: dict[str, EmitAttention] = {
            "own": partial(_own_attention, graph, stack=parts.stack, given=given),
            "source": partial(visible_attention, graph, weights=weights),
            "recurrence": partial(recurrent_sequence, graph, ids=parts.ids),
        }
        states = self._embed_given(graph, parts)
        states = self.run(graph, parts.stack, states, attend)
        graph.output("log_probabilities", self._label_scores(graph, parts, states))
        if weights:
            mean = graph.op("Mul", graph.op("Sum", *weights), np.float32(1 / len(weights)))
            graph.output("attention", mean)

    def _emit_prefill(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits prompts of one length → caches with their keys and values.

        Of a translation these are prefixes, whose tokens' log-probabilities count.
        """
        parts, is_scored = decoder_parts(model), isinstance(model, Transformer)

        def own(attention: Any, number: int) -> Parts:
            may_group = number < len(parts.stack.blocks) - 1 and not is_scored
            flags: dict[str, Any] = {"may_group": may_group}
            flags["relative"] = parts.stack.relative_of(number)
            return prefill_attention(graph, attention, number, parts.ids, **flags)

        shape = partial(graph.extended_shape, parts.ids)
        source = partial(source_attention, graph, shape=shape)
        states = self._embed_given(graph, parts)
        recurrence = partial(recurrent_sequence, graph, ids=parts.ids, fills_cache=True)
        attend: dict[str, EmitAttention] = {
            "own": own,
            "source": source,
            "recurrence": recurrence,
        }
        states = self.run(graph, parts.stack, states, attend)
        if is_scored:
            first = first_places(graph, parts, states)
            graph.output("log_probabilities", self._label_scores(graph, parts, first))
        # What the last block computes beyond its keys and values is not needed.
        graph.drop_unread()

    def _label_scores(self, graph: GraphBuilder, parts: DecoderParts, states: str) -> str:
        """Returns the log-probabilities of labels, in their shape, from a state for each."""
        states, matrix = vocabulary_product(graph, parts, states)
        if not self.has_shortlist:
            logits = self.logits(graph, states, matrix)
        else:
            logits = self.listed_logits(graph, states, matrix)
        found = candidates.log_probabilities_of_labels(
            graph, logits, graph.reshape("labels", -1, 1)
        )
        return graph.op("Reshape", found, graph.extended_shape("labels"))

    def _embed_given(self, graph: GraphBuilder, parts: DecoderParts) -> str:
        """Embeds whole sequences without padding on the left."""
        stack, ids = parts.stack, parts.ids
        return embed_sequences(graph, self.kernels, parts.embeddings, ids, first_bias(stack))

    # The methods that `Native` overrides.

    def enter_encoder(
        self, graph: GraphBuilder, parts: EncoderParts
    ) -> tuple[str, str, EmitAttention, TokenRows | None]:
        """Embeds ids.

        Returns:
            States `(rows, model_dim)`, the mask for self-attention, what emits self-attention, and
            the tokens that the rows stand for; None if all places do.
        """
        ids = parts.ids
        keep = graph.op("Not", graph.op("Equal", ids, np.int32(parts.pad)))
        mask = graph.cast(keep, "int32")
        rows = TokenRows.of(graph, mask) if parts.drops_padding else None
        embedded = (ids, first_bias(parts.stack), mask, parts.token_types, rows)
        states = embed_sequences(graph, self.kernels, parts.embeddings, *embedded)
        given = {"ids": ids, "mask": mask, "rows": rows}
        own = partial(_own_attention, graph, stack=parts.stack, given=given)
        return states, mask, own, rows

    def run(
        self, graph: GraphBuilder, stack: Any, states: str, attend: dict[str, EmitAttention]
    ) -> str:
        """Runs a stack's sub-layers on states `(rows, model_dim)`."""
        return run_sub_layers(graph, self.kernels, stack, states, attend)

    def split_source(
        self, graph: GraphBuilder, projected: str, attentions: list[Any], mask: str
    ) -> list[str]:
        """Returns each block's keys and values of the source: `(batch, heads, length, width)`.

        Args:
            graph: The graph.
            projected: The outputs of `source_projection`.
            attentions: The blocks' cross-attention layers.
            mask: As `enter_encoder` returns it.
        """
        heads, count = attentions[0].num_key_value_heads, 2 * len(attentions)
        widths = [attentions[0].key_dim, attentions[0].value_dim] * len(attentions)
        if is_fused(attentions[0]):
            shape = graph.extended_shape("source_ids", count, heads, widths[0])
            parts = graph.op("Reshape", projected, shape)
            parts = graph.op("Transpose", parts, perm=[2, 0, 3, 1, 4])
            split = graph.ops("Split", parts, count=count, axis=0, num_outputs=count)
            return [graph.op("Squeeze", part, integers(0)) for part in split]
        sizes = integers(*(heads * width for width in widths))
        found = []
        for part, width in zip(
            graph.ops("Split", projected, sizes, count=count, axis=1), widths, strict=True
        ):
            part = graph.op("Reshape", part, graph.extended_shape("source_ids", heads, width))
            found.append(graph.op("Transpose", part, perm=[0, 2, 1, 3]))
        return found

    def unpacked(self, graph: GraphBuilder, states: str, mask: str, width: int) -> str:
        """Returns an encoder-decoder's states of the source: `(batch, length, width)`.

        What stands at padding depends on the target.
        """
        return graph.op("Reshape", states, graph.extended_shape("source_ids", width))

    def step_states(self, graph: GraphBuilder, parts: DecoderParts, beams: tuple[str, ...]) -> str:
        """Emits all of a decoder step but its head: float32 `(rows, model_dim)`.

        Unlike a model's `decode_step`, it writes the caches in place and reads each earlier token
        from the row named by `beams`, the inputs beam_size and cache_beams, so that no cache is
        ever copied or reordered. With one row a sentence, `beams` is empty.
        """

        def own(attention: Any, number: int) -> Parts:
            relative = parts.stack.relative_of(number)
            return cached_attention(graph, attention, number, parts.ids, beams, relative)

        attend: dict[str, EmitAttention] = {
            "own": own,
            "source": partial(cross_attention, graph, beams=beams),
            "recurrence": partial(recurrent_step, graph, ids=parts.ids, beams=beams),
        }
        bias = first_bias(parts.stack)
        states = embed_step(graph, self.kernels, parts.embeddings, parts.ids, bias)
        return self.run(graph, parts.stack, states, attend)

    def best_continuations(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray
    ) -> tuple[str, tuple[str, ...]]:
        """Returns logits, and the results of `candidates.best_continuations`."""
        logits = self.logits(graph, states, matrix)
        return logits, self.ranked(graph, logits, len(matrix))

    def ranked(
        self, graph: GraphBuilder, logits: str, vocabulary: int | None
    ) -> tuple[str, str, str]:
        """Returns the results of `candidates.best_continuations`."""
        return candidates.best_continuations(graph, logits, vocabulary, "num_candidates", "totals")

    def listed_logits(self, graph: GraphBuilder, states: str, matrix: np.ndarray) -> str:
        """Returns the logits of each row's ids on the shortlist; see `listed.logits_of_each`."""
        return listed.logits_of_each(graph, listed.logits_of_all(graph, states))

    def best_token(self, graph: GraphBuilder, states: str, matrix: np.ndarray) -> str:
        """Returns the id of each row's largest logit; the lowest id wins a tie."""
        if isinstance(self.kernels, Float32) and is_worth_screening(*matrix.shape):
            return screened_best_token(graph, states, matrix)
        logits = self.logits(graph, states, matrix, ranked=True)
        return self.largest(graph, logits, len(matrix))

    def largest(self, graph: GraphBuilder, logits: str, vocabulary: int | None) -> str:
        """Returns the place of each row's largest value; the lowest place wins a tie."""
        return candidates.best_token(graph, logits, vocabulary)

    def ids_at(self, graph: GraphBuilder, chosen: str) -> str:
        """Returns the ids of columns of a shortlist's logits; see `listed.ids_at`."""
        return listed.ids_at(graph, chosen)

    def next_ids_at(self, graph: GraphBuilder, chosen: str) -> str:
        """Returns the ids of one column of each sentence; see `listed.next_ids_at`."""
        return listed.next_ids_at(graph, chosen)

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns logits, the products of states with the rows of the vocabulary's matrix."""
        layer = Linear(matrix, transposed=True, ranked=ranked)
        return self.kernels.linear(graph, states, layer)


def _own_attention(
    graph: GraphBuilder, layer: Any, number: int, stack: Any, given: dict[str, Any]
) -> Parts:
    return sequence_attention(graph, layer, **given, relative=stack.relative_of(number))


def first_places(graph: GraphBuilder, parts: DecoderParts, states: str) -> str:
    """Takes the states of the places that have labels: `(labels, model_dim)`."""
    width = parts.embeddings.model_dim
    states = graph.op("Reshape", states, graph.extended_shape(parts.ids, width))
    scored = graph.op("Shape", "labels", start=1)
    return graph.reshape(graph.op("Slice", states, integers(0), scored, integers(1)), -1, width)
