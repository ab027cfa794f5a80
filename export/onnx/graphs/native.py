"""The target "native": graphs of this package's own operators for onnxruntime (`runtime/native`),
fewer and larger than onnxruntime's.
"""

from typing import Any

import keras
import numpy as np
import onnx

from keras_transformer.artefact.graph_names import CHAIN, SHORTLIST
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.between import Between
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.onnxruntime import OnnxRuntime
from keras_transformer.export.onnx.graphs.operators import NATIVE, record_version
from keras_transformer.export.onnx.graphs.program import several_steps
from keras_transformer.export.onnx.graphs.readers import DecoderParts, EncoderParts
from keras_transformer.export.onnx.heads import listed
from keras_transformer.export.onnx.layers.activations import Activation, Gate
from keras_transformer.export.onnx.layers.attention.kinds import head_widths, named
from keras_transformer.export.onnx.layers.attention.ours import (
    attending,
    heads_of,
    is_ours,
    prompt_attention,
    text_attention,
)
from keras_transformer.export.onnx.layers.attention.rotary import places_of_texts, turned
from keras_transformer.export.onnx.layers.attention.sequences import sequence_attention
from keras_transformer.export.onnx.layers.attention.steps import cached_attention, cross_attention
from keras_transformer.export.onnx.layers.embedding import (
    embed_tokens,
    finish_embedding,
    look_up,
    position_vectors,
    token_scale,
)
from keras_transformer.export.onnx.layers.linear import (
    Linear,
    own_projection,
    query_projection,
    weight_array,
)
from keras_transformer.export.onnx.layers.norms import norms_of_heads
from keras_transformer.export.onnx.layers.recurrence import recurrent_projection, state_name
from keras_transformer.export.onnx.layers.stack import EmitAttention, Parts, each_sub_layer
from keras_transformer.export.onnx.layers.token_rows import TokenRows
from keras_transformer.export.onnx.quantize.kernels import NativeKernels
from keras_transformer.layers.embeddings import Embeddings
from keras_transformer.layers.positions import SinusoidalPositions
from keras_transformer.layers.variants.activations import gelu_tanh
from keras_transformer.layers.variants.rms_norm import RMSNorm

# The activations that are an operator of ours, and those whose gates are one.
GELUS = {keras.activations.gelu: "Gelu", gelu_tanh: "TanhGelu"}
GATES = {**GELUS, keras.activations.silu: "Silu"}

# Graphs without an operator of ours.
NOT_OURS = (SHORTLIST, CHAIN)


class Native(OnnxRuntime):
    """The target "native"; see `target.Target`.

    Args:
        kernels: How linear layers and embeddings are stored and multiplied.
        has_shortlist: Whether logits are those of a shortlist's ids.
    """

    kernels: NativeKernels
    listing = "in place"

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Emits a graph; see `Target.graph`."""
        emit = super().graph
        if self.has_shortlist and name in (SHORTLIST, "prefill", "scorer"):
            # Given ids are scored among those on a list that a batch shares.
            emit = OnnxRuntime(self.kernels, has_shortlist=True).graph
        graph = several_steps(emit(name, model, opset))
        record_version(graph)
        return graph

    def enter_encoder(
        self, graph: GraphBuilder, parts: EncoderParts
    ) -> tuple[str, str, EmitAttention, TokenRows | None]:
        """Embeds ids; see `Pieces.enter_encoder`."""
        ids, types = parts.ids, parts.token_types
        flags = {"domain": NATIVE, "pad": parts.pad}
        rows, reads_tokens = None, _reads_tokens(parts)
        if reads_tokens and not parts.drops_padding:
            mask, ids, positions = graph.ops("PackTokens", ids, count=3, **flags)
        else:
            mask, positions = graph.ops("TokenPositions", ids, count=2, **flags)
            ids = graph.reshape(ids, -1)
            types = None if types is None else graph.reshape(types, -1)
            if parts.drops_padding:
                rows = TokenRows.of(graph, mask, keeps_first=not reads_tokens)
        if rows is not None:
            ids, positions = rows.take(ids), rows.take(positions)
            types = None if types is None else rows.take(types)

        def places() -> str:
            found = places_of_texts(graph, parts.ids)
            if rows is not None:
                return rows.take(found)
            if not reads_tokens:
                return found
            tokens = graph.reshape(graph.op("NonZero", graph.reshape(mask, -1)), -1)
            return graph.op("Gather", found, tokens, axis=0)

        def own(attention: Any, number: int) -> Parts:
            relative = parts.stack.relative_of(number)
            if not is_ours(attention):
                return sequence_attention(graph, attention, parts.ids, mask, rows, relative)
            projection = own_projection(attention)
            flags = heads_of(attention)
            bare = Between(graph, "SequenceAttention", (mask,), (), projection.units, flags)
            attend = attending(bare, attention, relative)
            if rows is not None and not reads_tokens:
                attend = rows.among_all(attend)
            between = turned(graph, attention, places, attend)
            return Parts(projection, between, Linear.of(attention.output_linear))

        return self._embed(graph, parts.embeddings, ids, positions, types), mask, own, rows

    def unpacked(self, graph: GraphBuilder, states: str, mask: str, width: int) -> str:
        """Returns an encoder's states with padding; see `Pieces.unpacked`."""
        flags = {"domain": NATIVE, "parts": 1, "heads": 1}
        [whole] = graph.ops("SplitHeads", states, mask, count=1, **flags)
        return graph.op("Squeeze", whole, integers(1))

    def split_source(
        self, graph: GraphBuilder, projected: str, attentions: list[Any], mask: str
    ) -> list[str]:
        """Returns keys and values of the source; see `Pieces.split_source`."""
        parts = 2 * len(attentions)
        flags = {
            "domain": NATIVE,
            "parts": parts,
            "heads": attentions[0].config.num_key_value_heads,
        }
        return graph.ops("SplitHeads", projected, mask, count=parts, **flags)

    def step_states(self, graph: GraphBuilder, parts: DecoderParts, beams: tuple[str, ...]) -> str:
        """Emits all of a decoder step but its head; see `Pieces.step_states`."""
        states = self._embed(graph, parts.embeddings, parts.ids, "step")

        def own(attention: Any, number: int) -> Parts:
            relative = parts.stack.relative_of(number)
            if not is_ours(attention):
                return cached_attention(graph, attention, number, parts.ids, beams, relative)
            # Without beams their place stays empty if something stands behind it.
            table = beams[1:] if beams or relative is None else (None,)
            operands = (*named("cache", number), "step", *table)
            bare = Between(graph, "SelfAttention", operands, named("new_cache", number))
            attend = attending(bare, attention, relative)
            between = turned(graph, attention, lambda: "step", attend)
            return Parts(own_projection(attention), between, Linear.of(attention.output_linear))

        def source(attention: Any, number: int) -> Parts:
            if not is_ours(attention):
                return cross_attention(graph, attention, number, beams)
            operands = (*named("cross", number), "source_mask")
            between = attending(Between(graph, "CrossAttention", operands), attention, None)
            return Parts(query_projection(attention), between, Linear.of(attention.output_linear))

        def recurrence(layer: Any, number: int) -> Parts:
            cache, written = (state_name(one, number) for one in ("cache", "new_cache"))
            between = Between(graph, "Ssru", (cache, "step", *beams[1:]), (written,))
            return Parts(recurrent_projection(layer), between, None)

        attend: dict[str, EmitAttention] = {
            "own": own,
            "source": source,
            "recurrence": recurrence,
        }
        return self.run(graph, parts.stack, states, attend)

    def attend_text(
        self, graph: GraphBuilder, parts: DecoderParts, attention: Any, number: int
    ) -> Parts:
        """Emits attention within given texts; see `OnnxRuntime.attend_text`."""
        if not is_ours(attention):
            return super().attend_text(graph, parts, attention, number)
        return text_attention(graph, attention, parts.ids, parts.stack.relative_of(number))

    def attend_prompt(
        self, graph: GraphBuilder, parts: DecoderParts, attention: Any, number: int, **flags: bool
    ) -> Parts:
        """Emits attention within prompts; see `OnnxRuntime.attend_prompt`."""
        if not is_ours(attention):
            return super().attend_prompt(graph, parts, attention, number, **flags)
        relative = parts.stack.relative_of(number)
        return prompt_attention(graph, attention, number, parts.ids, relative)

    def embed_given(self, graph: GraphBuilder, parts: DecoderParts) -> str:
        """Embeds whole sequences; see `OnnxRuntime.embed_given`."""
        places = places_of_texts(graph, parts.ids)
        return self._embed(graph, parts.embeddings, graph.reshape(parts.ids, -1), places)

    def append_ones(self, graph: GraphBuilder, states: str, count: int) -> str:
        """Returns rows of states with ones behind each; see `Pieces.append_ones`."""
        return graph.op("AppendRow", states, np.ones(count, np.float32), domain=NATIVE)

    def best_continuations(
        self, graph: GraphBuilder, states: str, matrix: np.ndarray, cap: float | None
    ) -> tuple[str, tuple[str, ...]]:
        """Returns logits and candidates; see `Pieces.best_continuations`."""
        asked, operands = ("totals", "num_candidates"), self.kernels.continuations(matrix)
        if not operands or cap is not None:
            logits = self.logits(graph, states, matrix, cap)
            return logits, self.ranked(graph, logits, len(matrix))
        flags = {"count": 4, "domain": NATIVE, "vocabulary": len(matrix)}
        name = f"BestContinuationsOf{'Floats' if len(operands) == 1 else 'States'}"
        *found, logits = graph.ops(name, states, *asked, *operands, **flags)
        return logits, tuple(found)

    def capped(self, graph: GraphBuilder, logits: str, cap: float) -> str:
        """Returns bounded logits; see `Pieces.capped`."""
        return graph.op("SoftCap", logits, domain=NATIVE, soft_cap=float(cap))

    def ranked(
        self, graph: GraphBuilder, logits: str, vocabulary: int | None
    ) -> tuple[str, str, str]:
        """Returns the results of `candidates.best_continuations`."""
        asked = ("totals", "num_candidates")
        ids, values, beams = graph.ops("BestContinuations", logits, *asked, count=3, domain=NATIVE)
        return ids, values, beams

    def listed_logits(self, graph: GraphBuilder, states: str, matrix: np.ndarray) -> str:
        """Returns the logits of each row's ids on the shortlist; see `listed.logits_of_each`."""
        operands = self.kernels.listed(matrix)
        name = "ListedLogits" if len(operands) == 1 else "ListedByteLogits"
        return graph.op(name, states, listed.IDS, listed.PLACES, *operands, domain=NATIVE)

    def ids_at(self, graph: GraphBuilder, chosen: str) -> str:
        """Returns the ids of columns of a shortlist's logits; see `listed.ids_at`."""
        return graph.op("ListedIds", listed.IDS, listed.PLACES, chosen, domain=NATIVE)

    # The operator takes one column of each sentence as well as several.
    next_ids_at = ids_at

    def best_token(self, graph: GraphBuilder, states: str, matrix: np.ndarray) -> str:
        """Returns the id of each row's largest logit; see `Pieces.best_token`."""
        operands = self.kernels.best_token(matrix)
        if not operands:
            return self.largest(graph, self.logits(graph, states, matrix, ranked=True), 0)
        flags = {"domain": NATIVE, "vocabulary": len(matrix)}
        return graph.op("BestToken", states, *operands, **flags)

    def largest(self, graph: GraphBuilder, logits: str, vocabulary: int | None) -> str:
        """Returns the place of each row's largest value; the lowest place wins a tie."""
        return graph.op("LargestPlace", logits, domain=NATIVE)

    def run(
        self, graph: GraphBuilder, stack: Any, states: str, attend: dict[str, EmitAttention]
    ) -> str:
        """Runs residual sub-layers: pre-norm if there is a final norm, else post-norm.

        A pre-norm sum is normalised by the next sub-layer, a post-norm sum by its own.
        """
        sub_layers = list(each_sub_layer(graph, self.kernels, stack, attend, _normalized_heads))
        inputs, norms = states, [residual.layer_norm for residual, _ in sub_layers]
        if stack.final_norm is not None:
            if norms[0] is not None:
                inputs = _normalized(graph, states, norms[0])
            norms = [*norms[1:], stack.final_norm]
        for (_, parts), norm in zip(sub_layers, norms, strict=True):
            sums, inputs = self._sub_layer(graph, inputs, states, parts, norm)
            states = inputs if stack.final_norm is None else sums
        return inputs

    def _sub_layer(
        self, graph: GraphBuilder, inputs: str, states: str, parts: Parts, norm: Any
    ) -> list[str]:
        """Returns the residual sum and its norm, both `(rows, model_dim)`."""
        if isinstance(parts.between, Activation) and parts.between.function in GELUS:
            name, units = GELUS[parts.between.function], parts.projection.units
            parts = parts._replace(between=Between(graph, name, (), units=units))
        elif isinstance(parts.between, Gate) and parts.between.activation.function in GATES:
            name = f"{GATES[parts.between.activation.function]}Gate"
            # There is no operator of the whole sub-layer.
            parts = parts._replace(between=Between(graph, name, ()).__call__)
        projection, between, output = parts[:3]
        if norm is None or isinstance(norm, RMSNorm) or parts.norm is not None:
            change = parts.change(graph, self.kernels, inputs, _normalized)
            return _added(graph, parts.added(states), change, norm)
        ends = weight_array(norm.gamma), weight_array(norm.beta)
        flags: dict[str, Any] = {"domain": NATIVE, "epsilon": float(norm.epsilon)}
        first = self.kernels.packed(projection)
        last = () if output is None else self.kernels.packed(output)
        operands = [inputs, states, *first, *last, *ends]
        if first and last and isinstance(between, Between):
            flags.update(between.flags, count=2 + len(between.outputs))
            if between.units is not None:
                flags["units"] = between.units
            name = f"{between.operator}SubLayer"
            found = graph.ops(name, *operands, *between.operands, **flags)
            graph.outputs(between.outputs, found[2:])
            return found[:2]
        if first and last and projection.relu:
            flags["units"] = projection.units
            return graph.ops("FeedForwardSubLayer", *operands, count=2, **flags)
        change = parts.change(graph, self.kernels, inputs)
        return _added(graph, parts.added(states), change, norm)

    def _embed(
        self,
        graph: GraphBuilder,
        embeddings: Embeddings,
        ids: str,
        places: str,
        token_types: str | None = None,
    ) -> str:
        """Embeds tokens `(rows,)`, all at one position `(1,)` or each at its own `(rows,)`."""
        positions = embeddings.positions
        flags = {"domain": NATIVE, "scale": float(token_scale(embeddings))}
        if isinstance(positions, SinusoidalPositions) and positions.is_of_the_paper:
            found = look_up(graph, self.kernels, embeddings, ids)
            states = graph.op("AddSinusoid", found, places, positions.rates(), **flags)
        elif positions is None and embeddings.scale:
            states = graph.op("Scaled", look_up(graph, self.kernels, embeddings, ids), **flags)
        else:
            states = embed_tokens(graph, self.kernels, embeddings, ids)
            if positions is not None:
                vectors = position_vectors(graph, self.kernels, embeddings, places)
                states = graph.op("AddRows", states, vectors, domain=NATIVE)
        return finish_embedding(graph, self.kernels, embeddings, states, token_types, None)


def _reads_tokens(parts: EncoderParts) -> bool:
    """Whether an encoder's rows may be tokens without padding, which our operators can read."""
    return all(is_ours(block.attention) for block in parts.stack.blocks)


def _normalized(graph: GraphBuilder, states: str, norm: Any) -> str:
    """Returns the norm of `(rows, model_dim)`; these themselves without one."""
    if norm is None:
        return states
    name, constants, epsilon = _norm(norm)
    return graph.op(f"{name}Rows", states, *constants, domain=NATIVE, epsilon=epsilon)


def _normalized_heads(graph: GraphBuilder, attention: Any, packed: str) -> str:
    """Normalises queries and keys and scales them; see `with_normalized_heads`."""
    constants, flags = list[np.ndarray](), dict[str, Any](domain=NATIVE)
    counted = zip(("heads", "shared"), head_widths(attention)[:2], strict=True)
    for (norm, scale), (count, width) in zip(norms_of_heads(attention), counted, strict=True):
        name, weights, flags["epsilon"] = _norm(norm)
        constants += [one * scale for one in weights]
        flags[count] = width // len(scale)
    return graph.op(f"{name}Heads", packed, *constants, **flags)


def _added(graph: GraphBuilder, states: str, change: str, norm: Any) -> list[str]:
    """Returns the sum of two `(rows, model_dim)` and its norm."""
    if norm is None:
        return [graph.op("AddRows", states, change, domain=NATIVE)] * 2
    name, constants, epsilon = _norm(norm)
    flags = {"count": 2, "domain": NATIVE, "epsilon": epsilon}
    return graph.ops(f"Add{name}", states, change, *constants, **flags)


def _norm(norm: Any) -> tuple[str, list[np.ndarray], float]:
    """Returns the name that our operators have for a norm, its weights and its epsilon."""
    gamma, epsilon = weight_array(norm.gamma), float(norm.epsilon)
    if isinstance(norm, RMSNorm):
        return "RmsNorm", [gamma], epsilon
    return "Norm", [gamma, weight_array(norm.beta)], epsilon
