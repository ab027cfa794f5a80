"""Takes a Keras Transformer and returns graphs of onnxruntime's fused operators, emitted block by
block, that compute the model's numbers.
"""

from functools import partial
from typing import Any

import numpy as np
import onnx

from keras_transformer.export.onnx.graphs.attention import (
    cached_attention,
    cross_attention,
    is_fused,
    named,
    sequence_attention,
    visible_attention,
)
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.embedding import (
    embed_tokens,
    places_of_rows,
    position_vectors,
    token_positions,
)
from keras_transformer.export.onnx.graphs.linear import Linear, source_projection, weight_array
from keras_transformer.export.onnx.graphs.specs import LOGITS, SPECS
from keras_transformer.export.onnx.graphs.sub_layers import (
    EmitAttention,
    first_bias,
    run_sub_layers,
)
from keras_transformer.export.onnx.heads import candidates
from keras_transformer.export.onnx.heads.screening import is_worth_screening, screened_best_token
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels
from keras_transformer.models.transformer import Transformer


class OnnxRuntime:
    """The target "onnxruntime"; see `target.Target`.

    Args:
        kernels: How linear layers and embeddings are stored and multiplied.
    """

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels

    def graph(self, name: str, model: Transformer, opset: int) -> onnx.ModelProto:
        """Emits a graph; see `Target.graph`."""
        inputs, outputs = SPECS[name](model.config)
        graph = GraphBuilder(inputs, opset)
        emit = {
            "encoder": self._emit_encoder,
            "decoder": self._emit_decoder,
            "greedy": self._emit_greedy,
            "greedy_scores": self._emit_greedy_scores,
            "scorer": self._emit_scorer,
        }
        emit[name](graph, model)
        return graph.finish(outputs)

    def _emit_encoder(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits source ids → cross-attention keys and values of every decoder block, and states."""
        states, mask, own = self.enter_encoder(graph, model)
        states = self.run(graph, model.encoder_stack, states, {"own": own})
        attentions = [block.cross_attention for block in model.decoder_stack.blocks]
        projected = self.kernels.linear(graph, states, source_projection(attentions))
        names = [name for number in range(len(attentions)) for name in named("cross", number)]
        graph.outputs(names, self.split_source(graph, projected, attentions, mask))
        shape = graph.extended_shape("source_ids", model.config.model_dim)
        graph.output("encoder_states", graph.op("Reshape", states, shape))

    def _emit_decoder(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits one decoder step: newest tokens and caches → candidates and extended caches."""
        states = self.step_states(graph, model, ("beam_size", "cache_beams"))
        logits, found = self.best_continuations(graph, states, vocabulary_matrix(model))
        graph.outputs(("candidate_ids", "candidate_values", "candidate_beams"), found)
        graph.output(LOGITS, logits)

    def _emit_greedy(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the decoder step of greedy search, which needs neither beams nor a softmax."""
        states = self.step_states(graph, model, ())
        graph.output("next_ids", self.best_token(graph, states, vocabulary_matrix(model)))

    def _emit_greedy_scores(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the decoder step of greedy search with scores."""
        matrix = vocabulary_matrix(model)
        logits = self.logits(graph, self.step_states(graph, model, ()), matrix)
        ids = self.largest(graph, logits, len(matrix))
        candidates.output_scored(graph, logits, ids)

    def _emit_scorer(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits given translations → their tokens' log-probabilities and attention to the source.

        Padding must stand on the right.
        """
        stack, weights = model.decoder_stack, list[str]()
        # Padding comes after all real tokens, which look back only: it needs no mask.
        attend: dict[str, EmitAttention] = {
            "own": lambda layer, _: sequence_attention(graph, layer, "target_ids", None),
            "source": partial(visible_attention, graph, weights=weights),
        }
        states = self._embed_sequences(graph, model.target_embeddings, stack, "target_ids", None)
        states = self.run(graph, stack, states, attend)
        logits = self.logits(graph, states, vocabulary_matrix(model))
        found = candidates.log_probabilities_of_labels(
            graph, logits, graph.reshape("labels", -1, 1)
        )
        shape = graph.extended_shape("target_ids")
        graph.output("log_probabilities", graph.op("Reshape", found, shape))
        mean = graph.op("Mul", graph.op("Sum", *weights), np.float32(1 / len(weights)))
        graph.output("attention", mean)

    # The methods that `Native` overrides.

    def enter_encoder(
        self, graph: GraphBuilder, model: Transformer
    ) -> tuple[str, str, EmitAttention]:
        """Embeds source ids.

        Returns:
            States `(rows, model_dim)`, the mask for self-attention, and what emits self-attention.
        """
        pad = np.int32(model.config.special_ids.pad)
        keep = graph.op("Not", graph.op("Equal", "source_ids", pad))
        mask = graph.cast(keep, "int32")
        positions = token_positions(graph, mask)
        embeddings, stack = model.source_embeddings, model.encoder_stack
        states = self._embed_sequences(graph, embeddings, stack, "source_ids", positions)
        return states, mask, lambda layer, _: sequence_attention(graph, layer, "source_ids", mask)

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
        heads, count = attentions[0].num_heads, 2 * len(attentions)
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

    def step_states(self, graph: GraphBuilder, model: Transformer, beams: tuple[str, ...]) -> str:
        """Emits all of a decoder step but its head: float32 `(rows, model_dim)`.

        Unlike `Transformer.decode_step`, it writes the caches in place and reads each earlier token
        from the row named by `beams`, the inputs beam_size and cache_beams, so that no cache is
        ever copied or reordered. With one row a sentence, `beams` is empty.
        """
        attend: dict[str, EmitAttention] = {
            "own": partial(cached_attention, graph, beams=beams),
            "source": partial(cross_attention, graph, beams=beams),
        }
        embeddings, stack = model.target_embeddings, model.decoder_stack
        tokens = embed_tokens(graph, self.kernels, embeddings, "target_ids")
        vectors = position_vectors(graph, self.kernels, embeddings, "step")
        vectors = _with_bias(graph, vectors, stack)
        return self.run(graph, stack, graph.op("Add", tokens, vectors), attend)

    def best_continuations(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray
    ) -> tuple[str, tuple[str, ...]]:
        """Returns logits, and the results of `candidates.best_continuations`."""
        logits = self.logits(graph, states, matrix)
        asked = ("num_candidates", "totals")
        return logits, candidates.best_continuations(graph, logits, len(matrix), *asked)

    def best_token(self, graph: GraphBuilder, states: str, matrix: np.ndarray) -> str:
        """Returns the id of each row's largest logit; the lowest id wins a tie."""
        if isinstance(self.kernels, Float32) and is_worth_screening(*matrix.shape):
            return screened_best_token(graph, states, matrix)
        logits = self.logits(graph, states, matrix, ranked=True)
        return self.largest(graph, logits, len(matrix))

    def largest(self, graph: GraphBuilder, logits: str, vocabulary: int) -> str:
        """Returns the place of each row's largest value; the lowest place wins a tie."""
        return candidates.best_token(graph, logits, vocabulary)

    def logits(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, *, ranked: bool = False
    ) -> str:
        """Returns logits, the products of states with the rows of the vocabulary's matrix."""
        layer = Linear(matrix, transposed=True, ranked=ranked)
        return self.kernels.linear(graph, states, layer)

    def _embed_sequences(
        self, graph: GraphBuilder, embeddings: Any, stack: Any, ids: str, positions: str | None
    ) -> str:
        """Embeds whole sequences, at positions `(batch, length)` or each token at its place."""
        tokens = embed_tokens(graph, self.kernels, embeddings, ids)
        vectors = position_vectors(graph, self.kernels, embeddings, places_of_rows(graph, ids))
        if positions is not None:
            vectors = graph.op("Gather", vectors, positions, axis=0)
        states = graph.reshape(graph.op("Add", tokens, vectors), -1, embeddings.model_dim)
        return _with_bias(graph, states, stack)


def _with_bias(graph: GraphBuilder, vectors: str, stack: Any) -> str:
    """Adds the bias that the stack expects in its input states; see `first_bias`."""
    bias = first_bias(stack)
    return vectors if bias is None else graph.op("Add", vectors, bias)


def vocabulary_matrix(model: Transformer) -> np.ndarray:
    """Returns the matrix `(vocabulary, model_dim)` by whose rows states become logits."""
    return np.ascontiguousarray(weight_array(model.head.matrix))
