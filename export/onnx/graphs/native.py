"""Graphs of this package's own onnxruntime operators (`runtime/native`): fewer and larger ones than
onnxruntime has. The scorer is that with its fused operators.
"""

from dataclasses import dataclass
from typing import Any

import onnx

from keras_transformer.export.onnx.graphs import candidates, embedding
from keras_transformer.export.onnx.graphs.attention import named
from keras_transformer.export.onnx.graphs.builder import GraphBuilder
from keras_transformer.export.onnx.graphs.linear import (
    Linear,
    own_projection,
    query_projection,
    source_projection,
    vocabulary_matrix,
    weight_array,
)
from keras_transformer.export.onnx.graphs.onnxruntime import OnnxRuntime
from keras_transformer.export.onnx.graphs.operators import NATIVE, record_version
from keras_transformer.export.onnx.graphs.specs import LOGITS
from keras_transformer.export.onnx.graphs.sub_layers import (
    EmitAttention,
    Parts,
    each_sub_layer,
    layer_norm,
)
from keras_transformer.export.onnx.quantize.kernels import Kernels
from keras_transformer.export.onnx.quantize.native_kernels import NativeKernels
from keras_transformer.layers.positions import SinusoidalPositions
from keras_transformer.models.transformer import Transformer
from keras_transformer.special_ids import PAD_ID


@dataclass(frozen=True)
class Between:
    """One of our operators between the linear layers of a sub-layer.

    Attributes:
        graph: The graph.
        operator: Its name; with "SubLayer" behind it that of the operator for the whole sub-layer.
        operands: What it reads beside the projection.
        outputs: The graph's outputs that it makes beside the sub-layer's.
    """

    graph: GraphBuilder
    operator: str
    operands: tuple[str, ...]
    outputs: tuple[str, ...] = ()

    def __call__(self, projected: str) -> str:
        """Adds the operator."""
        count = 1 + len(self.outputs)
        attended, *others = self.graph.ops(
            self.operator, projected, *self.operands, count=count, domain=NATIVE
        )
        self.give(others)
        return attended

    def give(self, values: list[str]) -> None:
        """Makes its further outputs outputs of the graph."""
        for name, value in zip(self.outputs, values, strict=True):
            self.graph.output(name, value)


class Native(OnnxRuntime):
    """The target "native"; see `target.Target`.

    Args:
        kernels: How linear layers and embeddings are stored and multiplied.
        scorer_kernels: The same for the scorer, without operators of ours.
    """

    def __init__(self, kernels: NativeKernels, scorer_kernels: Kernels) -> None:
        super().__init__(kernels)
        self._native = kernels
        self._scorer = OnnxRuntime(scorer_kernels)

    def graph(self, name: str, model: Transformer, opset: int) -> onnx.ModelProto:
        """Emits a graph; see `Target.graph`."""
        if name == "scorer":
            return self._scorer.graph(name, model, opset)
        graph = super().graph(name, model, opset)
        record_version(graph)
        return graph

    def emit_encoder(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits source ids → cross-attention keys and values of every decoder block, and states."""
        blocks = model.decoder_stack.blocks
        mask, positions = graph.ops(
            "TokenPositions", "source_ids", count=2, domain=NATIVE, pad=PAD_ID
        )
        ids = graph.reshape("source_ids", -1)
        states = self._embed(graph, model.source_embeddings, ids, positions)

        def own(attention: Any, _: int) -> Parts:
            def between(projected: str) -> str:
                heads = attention.num_heads
                return graph.op("SequenceAttention", projected, mask, domain=NATIVE, heads=heads)

            return Parts(own_projection(attention), between, Linear.of(attention.output_linear))

        states = self._run(graph, model.encoder_stack, states, {"own": own})
        attentions = [block.cross_attention for block in blocks]
        names = [name for number in range(len(blocks)) for name in named("cross", number)]
        projected = self._native.linear(graph, states, source_projection(attentions))
        flags = {"parts": len(names), "heads": attentions[0].num_heads, "domain": NATIVE}
        found = graph.ops("SplitHeads", projected, mask, count=len(names), **flags)
        for name, value in zip(names, found, strict=True):
            graph.output(name, value)
        shape = graph.extended_shape("source_ids", model.config.model_dim)
        graph.output("encoder_states", graph.op("Reshape", states, shape))

    def emit_decoder(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits one decoder step: newest tokens and caches → candidates, one more place filled."""
        states = self.step_states(graph, model, ("beam_size", "cache_beams"))
        matrix = vocabulary_matrix(model)
        asked = ("totals", "num_candidates")
        operands = self._native.continuations(matrix)
        if operands is None:
            logits = self._native.logits(graph, states, matrix)
            found = graph.ops("BestContinuations", logits, *asked, count=3, domain=NATIVE)
        else:
            size = {"vocabulary": len(matrix), "domain": NATIVE}
            *found, logits = graph.ops(
                "BestContinuationsOfStates", states, *asked, *operands, count=4, **size
            )
        for name, value in zip(("ids", "values", "beams"), found, strict=True):
            graph.output(f"candidate_{name}", value)
        graph.output(LOGITS, logits)

    def emit_greedy(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the decoder step of greedy search, which needs neither beams nor a softmax."""
        states, matrix = self.step_states(graph, model, ()), vocabulary_matrix(model)
        operands = self._native.best_token(matrix)
        if operands is None:
            logits = self._native.logits(graph, states, matrix, ranked=True)
            ids = graph.op("LargestPlace", logits, domain=NATIVE)
        else:
            size = len(matrix)
            ids = graph.op("BestToken", states, *operands, domain=NATIVE, vocabulary=size)
        graph.output("next_ids", ids)

    def emit_greedy_scores(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the decoder step of greedy search with scores."""
        states = self.step_states(graph, model, ())
        logits = self._native.logits(graph, states, vocabulary_matrix(model))
        candidates.output_scored(graph, logits, graph.op("LargestPlace", logits, domain=NATIVE))

    def step_states(self, graph: GraphBuilder, model: Transformer, beams: tuple[str, ...]) -> str:
        """Emits all of a decoder step but its head; see `OnnxRuntime.step_states`."""
        states = self._embed(graph, model.target_embeddings, "target_ids", "step")
        newest = ("step", *beams[1:])

        def own(attention: Any, number: int) -> Parts:
            operands = (*named("cache", number), *newest)
            between = Between(graph, "SelfAttention", operands, named("new_cache", number))
            return Parts(own_projection(attention), between, Linear.of(attention.output_linear))

        def source(attention: Any, number: int) -> Parts:
            between = Between(graph, "CrossAttention", (*named("cross", number), "source_mask"))
            return Parts(query_projection(attention), between, Linear.of(attention.output_linear))

        return self._run(graph, model.decoder_stack, states, {"own": own, "source": source})

    def _embed(self, graph: GraphBuilder, embeddings: Any, ids: str, places: str) -> str:
        """Embeds tokens `(rows,)`, at one position `(1,)` or at one for each `(rows,)`."""
        positions = embeddings.positions
        if not isinstance(positions, SinusoidalPositions):
            tokens = embedding.embed_tokens(graph, self._native, embeddings, ids)
            vectors = embedding.position_vectors(graph, self._native, embeddings, places)
            return graph.op("Add", tokens, vectors)
        found = self._native.embedding(graph, weight_array(embeddings.tokens.matrix), ids)
        scale = float(embedding.token_scale(embeddings))
        return graph.op("AddSinusoid", found, places, positions.rates(), domain=NATIVE, scale=scale)

    def _run(
        self, graph: GraphBuilder, stack: Any, states: str, attend: dict[str, EmitAttention]
    ) -> str:
        """Runs residual sub-layers, post-norm or, where there is a final norm, pre-norm.

        Pre-norm's sums meet the norm of the sub-layer that follows, post-norm's their own.
        """
        sub_layers = list(each_sub_layer(graph, stack, attend))
        inputs, norms = states, [one.residual.layer_norm for one, _ in sub_layers]
        if stack.final_norm is not None:
            inputs, norms = layer_norm(graph, states, norms[0]), [*norms[1:], stack.final_norm]
        for (_, parts), norm in zip(sub_layers, norms, strict=True):
            sums, inputs = self._sub_layer(graph, inputs, states, parts, norm)
            states = inputs if stack.final_norm is None else sums
        return inputs

    def _sub_layer(
        self, graph: GraphBuilder, inputs: str, states: str, parts: Parts, norm: Any
    ) -> list[str]:
        """Returns the residual sum and what the norm makes of it, both `(rows, model_dim)`."""
        ends = weight_array(norm.gamma), weight_array(norm.beta)
        flags = {"domain": NATIVE, "epsilon": float(norm.epsilon)}
        layers = [self._native.packed(one) for one in (parts.projection, parts.output)]
        between = parts.between
        if None in layers or not (parts.relu or isinstance(between, Between)):
            projected = self._native.linear(graph, inputs, parts.projection, relu=parts.relu)
            hidden = between(projected)
            change = self._native.linear(graph, hidden, parts.output, nonnegative=parts.relu)
            return graph.ops("AddNorm", states, change, *ends, count=2, **flags)
        operands = [inputs, states, *layers[0], *layers[1], *ends]
        if not isinstance(between, Between):
            units = parts.projection.kernel.shape[1]
            name = "FeedForwardSubLayer"
            return graph.ops(name, *operands, count=2, units=units, **flags)
        count = 2 + len(between.outputs)
        name = f"{between.operator}SubLayer"
        found = graph.ops(name, *operands, *between.operands, count=count, **flags)
        between.give(found[2:])
        return found[:2]
