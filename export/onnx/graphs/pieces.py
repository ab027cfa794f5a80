"""The parts that all emitted graphs consist of, in onnxruntime's fused operators; the target
"native" replaces some of them with our operators.
"""

from functools import partial
from typing import Any

import numpy as np

from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.readers import DecoderParts, EncoderParts
from keras_transformer.export.onnx.graphs.specs import Listing
from keras_transformer.export.onnx.heads import candidates, listed
from keras_transformer.export.onnx.heads.screening import is_worth_screening, screened_best_token
from keras_transformer.export.onnx.layers.activations import soft_capped
from keras_transformer.export.onnx.layers.attention.kinds import is_fused
from keras_transformer.export.onnx.layers.attention.sequences import sequence_attention
from keras_transformer.export.onnx.layers.attention.steps import cached_attention, cross_attention
from keras_transformer.export.onnx.layers.embedding import embed_sequences, embed_step
from keras_transformer.export.onnx.layers.linear import Linear
from keras_transformer.export.onnx.layers.recurrence import recurrent_step
from keras_transformer.export.onnx.layers.stack import (
    EmitAttention,
    Parts,
    first_bias,
    run_sub_layers,
)
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels


class Pieces:
    """Emits the parts of a graph.

    Args:
        kernels: How linear layers and embeddings are stored and multiplied.
        has_shortlist: Whether graphs choose among the ids of a shortlist.
    """

    listing: Listing = "gathered"

    def __init__(self, kernels: Kernels, *, has_shortlist: bool = False) -> None:
        self.kernels = kernels
        self.has_shortlist = has_shortlist

    def enter_encoder(
        self, graph: GraphBuilder, parts: EncoderParts
    ) -> tuple[str, str, EmitAttention, TokenRows | None]:
        """Embeds ids.

        Returns:
            States `(rows, model_dim)`, the mask for self-attention, the function that emits
            self-attention, and the tokens that the rows stand for; None if there is a row for every
            place.
        """
        ids = parts.ids
        keep = graph.op("Not", graph.op("Equal", ids, np.int32(parts.pad)))
        mask = graph.cast(keep, "int32")
        rows = TokenRows.of(graph, mask) if parts.drops_padding else None
        embedded = (ids, first_bias(parts.stack), mask, parts.token_types, rows)
        states = embed_sequences(graph, self.kernels, parts.embeddings, *embedded)
        given = {"ids": ids, "mask": mask, "rows": rows}
        own = partial(own_attention, graph, stack=parts.stack, given=given)
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
        heads, count = attentions[0].config.num_key_value_heads, 2 * len(attentions)
        widths = [attentions[0].config.key_dim, attentions[0].config.value_dim] * len(attentions)
        if is_fused(attentions[0].config):
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

        The values at padding depend on the target.
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

    def append_ones(self, graph: GraphBuilder, states: str, count: int) -> str:
        """Returns `(rows, width + count)`: states `(rows, width)` with ones behind each row."""
        return graph.op("Pad", states, integers(0, 0, 0, count), np.float32(1))

    def best_continuations(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, cap: float | None
    ) -> tuple[str, tuple[str, ...]]:
        """Returns logits, and the results of `candidates.best_continuations`."""
        logits = self.logits(graph, states, matrix, cap)
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
        """Returns the id of each row's largest logit, which a cap does not change.

        The lowest id wins a tie.
        """
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
        self,
        graph: GraphBuilder,
        states: str,
        matrix: np.ndarray,
        cap: float | None = None,
        *,
        ranked: bool = False,
    ) -> str:
        """Returns logits, the capped products of states with the rows of the head's matrix."""
        layer = Linear(matrix, transposed=True, ranked=ranked)
        found = self.kernels.linear(graph, states, layer)
        return found if cap is None else self.capped(graph, found, cap)

    def capped(self, graph: GraphBuilder, logits: str, cap: float) -> str:
        """Returns logits `(rows, ids)` that a cap bounds."""
        return soft_capped(graph, logits, cap)


def own_attention(
    graph: GraphBuilder, layer: Any, number: int, stack: Any, given: dict[str, Any]
) -> Parts:
    """Emits the self-attention of a block over whole sequences; see `sequence_attention`."""
    return sequence_attention(graph, layer, **given, relative=stack.relative_of(number))
