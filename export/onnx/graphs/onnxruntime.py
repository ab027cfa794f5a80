"""Graphs of onnxruntime's fused operators: a Keras Transformer is walked, block by block, and nodes
leave whose numbers are the model's.
"""

from functools import partial
from typing import Any

import numpy as np
import onnx

from keras_transformer.export.onnx.graphs import candidates, embedding
from keras_transformer.export.onnx.graphs.attention import (
    NewestTokens,
    cached_attention,
    cross_attention,
    named,
    sequence_attention,
    visible_attention,
)
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.linear import source_projection, vocabulary_matrix
from keras_transformer.export.onnx.graphs.screening import is_worth_screening, screened_best_token
from keras_transformer.export.onnx.graphs.specs import SPECS
from keras_transformer.export.onnx.graphs.sub_layers import (
    EmitAttention,
    first_bias,
    run_sub_layers,
)
from keras_transformer.export.onnx.quantize.kernels import Float32, Kernels
from keras_transformer.models.transformer import Transformer
from keras_transformer.special_ids import PAD_ID


class OnnxRuntime:
    """The target "onnxruntime"; see `target.Target`.

    Args:
        kernels: How linear layers and embeddings are stored and multiplied.
    """

    def __init__(self, kernels: Kernels) -> None:
        self._kernels = kernels

    def graph(self, name: str, model: Transformer, opset: int) -> onnx.ModelProto:
        """Emits a graph; see `Target.graph`."""
        inputs, outputs = SPECS[name](model.config)
        graph = GraphBuilder(inputs, opset)
        emit = {
            "encoder": self.emit_encoder,
            "decoder": self.emit_decoder,
            "greedy": self.emit_greedy,
            "greedy_scores": self.emit_greedy_scores,
            "scorer": self.emit_scorer,
        }
        emit[name](graph, model)
        return graph.finish(outputs)

    def emit_encoder(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits source ids → cross-attention keys and values of every decoder block, and states."""
        keep = graph.op("Not", graph.op("Equal", "source_ids", np.int32(PAD_ID)))
        mask = graph.cast(keep, "int32")
        positions = embedding.token_positions(graph, mask)
        own = partial(sequence_attention, graph, ids="source_ids", mask=mask)
        stack = model.encoder_stack
        states = self._embed_sequences(
            graph, model.source_embeddings, stack, "source_ids", positions
        )
        states = self._run(graph, stack, states, {"own": lambda layer, _: own(layer)})
        self._output_cross(graph, model.decoder_stack.blocks, states)
        shape = graph.extended_shape("source_ids", model.config.model_dim)
        graph.output("encoder_states", graph.op("Reshape", states, shape))

    def emit_decoder(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits one decoder step: newest tokens and caches → candidates, one more place filled."""
        states = self.step_states(graph, model, ("beam_size", "cache_beams"))
        matrix = vocabulary_matrix(model)
        logits = self._kernels.logits(graph, states, matrix)
        candidates.output_candidates(graph, logits, len(matrix))

    def emit_greedy(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the decoder step of greedy search, which needs neither beams nor a softmax."""
        states, matrix = self.step_states(graph, model, ()), vocabulary_matrix(model)
        if isinstance(self._kernels, Float32) and is_worth_screening(*matrix.shape):
            ids = screened_best_token(graph, states, matrix)
        else:
            logits = self._kernels.logits(graph, states, matrix, ranked=True)
            ids = candidates.best_token(graph, logits, len(matrix))
        graph.output("next_ids", ids)

    def emit_greedy_scores(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the decoder step of greedy search with scores."""
        states, matrix = self.step_states(graph, model, ()), vocabulary_matrix(model)
        logits = self._kernels.logits(graph, states, matrix)
        candidates.output_scored(graph, logits, candidates.best_token(graph, logits, len(matrix)))

    def emit_scorer(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits given translations → their tokens' log-probabilities and attention to the source.

        Padding must stand on the right.
        """
        stack, weights = model.decoder_stack, list[str]()
        # Padding comes after all real tokens, which look back only: it needs no mask.
        own = partial(sequence_attention, graph, ids="target_ids", mask=None)
        attend: dict[str, EmitAttention] = {
            "own": lambda layer, _: own(layer),
            "source": lambda layer, number: visible_attention(graph, layer, number, weights),
        }
        states = self._embed_sequences(graph, model.target_embeddings, stack, "target_ids", None)
        states = self._run(graph, stack, states, attend)
        logits = self._kernels.logits(graph, states, vocabulary_matrix(model))
        graph.output("log_probabilities", _log_probabilities_of_labels(graph, logits))
        mean = graph.op("Mul", graph.op("Sum", *weights), np.float32(1 / len(weights)))
        graph.output("attention", mean)

    def step_states(self, graph: GraphBuilder, model: Transformer, beams: tuple[str, ...]) -> str:
        """Emits all of a decoder step but its head: float32 `(rows, model_dim)`.

        Unlike `Transformer.decode_step` it writes the caches in place and reads each earlier token
        from the row that `beams`, the inputs beam_size and cache_beams, names, so that no cache is
        ever copied or reordered. With one row a sentence there are no `beams`.
        """
        stack, newest = model.decoder_stack, NewestTokens("step", beams)
        attend: dict[str, EmitAttention] = {
            "own": partial(cached_attention, graph, newest=newest),
            "source": partial(cross_attention, graph, beam_size=beams[0] if beams else None),
        }
        tokens = embedding.embed_tokens(graph, self._kernels, model.target_embeddings, "target_ids")
        vectors = self._vectors(graph, model.target_embeddings, stack, "step")
        return self._run(graph, stack, graph.op("Add", tokens, vectors), attend)

    def _run(
        self, graph: GraphBuilder, stack: Any, states: str, attend: dict[str, EmitAttention]
    ) -> str:
        return run_sub_layers(graph, self._kernels, stack, states, attend)

    def _vectors(self, graph: GraphBuilder, embeddings: Any, stack: Any, positions: str) -> str:
        """Returns the vectors of positions, with what else the stack wants added to its states."""
        vectors = embedding.position_vectors(graph, self._kernels, embeddings, positions)
        bias = first_bias(stack)
        return vectors if bias is None else graph.op("Add", vectors, bias)

    def _embed_sequences(
        self, graph: GraphBuilder, embeddings: Any, stack: Any, ids: str, positions: str | None
    ) -> str:
        """Embeds whole sequences, at positions `(batch, length)` or each at its place."""
        tokens = embedding.embed_tokens(graph, self._kernels, embeddings, ids)
        places = embedding.places_of_rows(graph, ids)
        vectors = self._vectors(graph, embeddings, stack, places)
        if positions is not None:
            vectors = graph.op("Gather", vectors, positions, axis=0)
        return graph.reshape(graph.op("Add", tokens, vectors), -1, embeddings.model_dim)

    def _output_cross(self, graph: GraphBuilder, blocks: Any, states: str) -> None:
        """Projects encoder states for all blocks at once."""
        attentions = [block.cross_attention for block in blocks]
        projected = self._kernels.linear(graph, states, source_projection(attentions))
        heads, width = attentions[0].num_heads, attentions[0].key_dim
        shape = graph.extended_shape("source_ids", 2 * len(blocks), heads, width)
        projected = graph.op("Reshape", projected, shape)
        projected = graph.op("Transpose", projected, perm=[2, 0, 3, 1, 4])
        count = 2 * len(blocks)
        parts = iter(graph.ops("Split", projected, count=count, axis=0, num_outputs=count))
        for number in range(len(blocks)):
            for name, part in zip(named("cross", number), parts, strict=False):
                graph.output(name, graph.op("Squeeze", part, integers(0)))


def _log_probabilities_of_labels(graph: GraphBuilder, logits: str) -> str:
    """Returns what the scorer gives of each label: float32 `(batch, target_length)`."""
    largest = graph.op("ReduceMax", logits, integers(1), keepdims=1)
    powers = graph.op("Exp", graph.op("Sub", logits, largest))
    total = graph.op("Log", graph.op("ReduceSum", powers, integers(1), keepdims=1))
    column = graph.reshape("labels", -1, 1)
    chosen = graph.op("GatherElements", logits, column, axis=1)
    found = graph.op("Sub", graph.op("Sub", chosen, largest), total)
    return graph.op("Reshape", found, graph.extended_shape("target_ids"))
