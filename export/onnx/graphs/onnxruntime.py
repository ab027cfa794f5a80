"""The target "onnxruntime": graphs of onnxruntime's fused operators, emitted block by block."""

from functools import partial
from typing import Any

import numpy as np
import onnx

from keras_transformer.artefact.graph_names import SHORTLIST
from keras_transformer.export.inputs import AnyModel
from keras_transformer.export.onnx.graphs.builder import GraphBuilder, integers
from keras_transformer.export.onnx.graphs.pieces import Pieces, own_attention
from keras_transformer.export.onnx.graphs.readers import (
    DecoderParts,
    decoder_parts,
    encoder_parts,
    single_head,
)
from keras_transformer.export.onnx.graphs.specs import LOGITS, graph_specs
from keras_transformer.export.onnx.heads import candidates, listed
from keras_transformer.export.onnx.heads.adaptive import adaptive_log_probabilities
from keras_transformer.export.onnx.heads.of_encoders import emit_head, rows_that_are_read
from keras_transformer.export.onnx.heads.vocabulary import vocabulary_matrix, vocabulary_product
from keras_transformer.export.onnx.layers.adapters import AdaptedFloat32, with_adapters
from keras_transformer.export.onnx.layers.attention.kinds import named
from keras_transformer.export.onnx.layers.attention.sequences import (
    prefill_attention,
    visible_attention,
)
from keras_transformer.export.onnx.layers.attention.steps import source_attention
from keras_transformer.export.onnx.layers.embedding import embed_sequences
from keras_transformer.export.onnx.layers.linear import source_projection
from keras_transformer.export.onnx.layers.recurrence import recurrent_sequence
from keras_transformer.export.onnx.layers.stack import EmitAttention, Parts, first_bias
from keras_transformer.layers import AdaptiveSoftmax, VocabularyHead
from keras_transformer.models.decoder_only import DecoderOnly
from keras_transformer.models.encoder_only import EncoderOnly
from keras_transformer.models.transformer import Transformer


class OnnxRuntime(Pieces):
    """The target "onnxruntime"; see `target.Target`."""

    def graph(self, name: str, model: AnyModel, opset: int) -> onnx.ModelProto:
        """Emits a graph; see `Target.graph`."""
        inputs, outputs = graph_specs(model.config, self.listing if self.has_shortlist else None)[
            name
        ]
        if isinstance(self.kernels, AdaptedFloat32):
            inputs, _ = with_adapters({name: (inputs, outputs)}, model)[name]
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
        """Emits ids → the outputs of the encoder's head or pooler."""
        parts = encoder_parts(model)
        states, _, own, rows = self.enter_encoder(graph, parts)
        if rows is None:
            raise RuntimeError("an encoder without a decoder must drop the padding of its texts.")
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
        if self._ranks_products(parts):
            states, matrix = vocabulary_product(graph, parts, states, self.append_ones)
            logits, (ids, *others) = self.best_continuations(
                graph, states, matrix, parts.head.soft_cap
            )
        else:
            logits, width = self._logits_of(graph, parts, states)
            chosen, *others = self.ranked(graph, logits, width)
            ids = chosen if width else self.ids_at(graph, chosen)
        graph.outputs(("candidate_ids", "candidate_values", "candidate_beams"), (ids, *others))
        graph.output(LOGITS, logits)

    def _emit_greedy(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits the decoder step of greedy search, which needs neither beams nor a softmax."""
        parts = decoder_parts(model)
        states = self.step_states(graph, parts, ())
        if self._ranks_products(parts):
            ids = self.best_token(
                graph, *vocabulary_product(graph, parts, states, self.append_ones)
            )
        else:
            _, _, ids = self._best_of_logits(graph, parts, states)
        graph.output("next_ids", ids)

    def _emit_greedy_scores(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits the decoder step of greedy search with scores."""
        parts = decoder_parts(model)
        found = self._best_of_logits(graph, parts, self.step_states(graph, parts, ()))
        candidates.output_scored(graph, *found)

    def _emit_shortlist(self, graph: GraphBuilder, model: Transformer) -> None:
        """Emits the ids of a batch's shortlist → their weights."""
        matrix = vocabulary_matrix(decoder_parts(model))
        listed.output_weights(graph, self.kernels, matrix)

    def _emit_scorer(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits given texts → their tokens' log-probabilities, and attention to the source.

        Padding must stand on the right.
        """
        parts, weights = decoder_parts(model), list[str]()
        attend: dict[str, EmitAttention] = {
            "own": partial(self.attend_text, graph, parts),
            "source": partial(visible_attention, graph, weights=weights),
            "recurrence": partial(recurrent_sequence, graph, ids=parts.ids),
        }
        states = self.embed_given(graph, parts)
        states = self.run(graph, parts.stack, states, attend)
        graph.output("log_probabilities", self._label_scores(graph, parts, states))
        if weights:
            mean = graph.op("Mul", graph.op("Sum", *weights), np.float32(1 / len(weights)))
            graph.output("attention", mean)

    def _emit_prefill(self, graph: GraphBuilder, model: Transformer | DecoderOnly) -> None:
        """Emits prompts of one length → caches with their keys and values.

        For a translation, the prompts are prefixes, and their tokens' log-probabilities are output
        as well.
        """
        parts, is_scored = decoder_parts(model), isinstance(model, Transformer)
        shape = partial(graph.extended_shape, parts.ids)
        source = partial(source_attention, graph, shape=shape)
        states = self.embed_given(graph, parts)
        recurrence = partial(recurrent_sequence, graph, ids=parts.ids, fills_cache=True)
        attend: dict[str, EmitAttention] = {
            "own": partial(self.attend_prompt, graph, parts, may_group=not is_scored),
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
        logits, _ = self._logits_of(graph, parts, states)
        found = candidates.log_probabilities_of_labels(
            graph, logits, graph.reshape("labels", -1, 1)
        )
        return graph.op("Reshape", found, graph.extended_shape("labels"))

    def _ranks_products(self, parts: DecoderParts) -> bool:
        """Whether a step's logits are products with one matrix, which all ids have rows of."""
        return not self.has_shortlist and isinstance(parts.head, VocabularyHead)

    def _logits_of(
        self, graph: GraphBuilder, parts: DecoderParts, states: str
    ) -> tuple[str, int | None]:
        """Returns the logits of states `(rows, model_dim)`, and their number; None if they are
        those of a shortlist.
        """
        if isinstance(parts.head, AdaptiveSoftmax):
            logits = adaptive_log_probabilities(graph, self.kernels, parts.head, states)
            return logits, parts.head.vocab_size
        states, matrix = vocabulary_product(graph, parts, states, self.append_ones)
        if self.has_shortlist:
            logits = self.listed_logits(graph, states, matrix)
            return listed.capped(graph, logits, parts.head.soft_cap), None
        return self.logits(graph, states, matrix, parts.head.soft_cap), len(matrix)

    def _best_of_logits(
        self, graph: GraphBuilder, parts: DecoderParts, states: str
    ) -> tuple[str, str, str]:
        """Returns logits, and the place and the id of each row's largest one."""
        logits, width = self._logits_of(graph, parts, states)
        places = self.largest(graph, logits, width)
        return logits, places, places if width else self.next_ids_at(graph, places)

    def attend_text(
        self, graph: GraphBuilder, parts: DecoderParts, attention: Any, number: int
    ) -> Parts:
        """Emits attention within given texts, each place to those before it."""
        # Padding comes after all real tokens, which look back only: it needs no mask.
        given = {"ids": parts.ids, "mask": None}
        return own_attention(graph, attention, number, parts.stack, given)

    def attend_prompt(
        self,
        graph: GraphBuilder,
        parts: DecoderParts,
        attention: Any,
        number: int,
        *,
        may_group: bool,
    ) -> Parts:
        """Emits attention within prompts, which fills caches; see `prefill_attention`."""
        relative, is_last = parts.stack.relative_of(number), number == len(parts.stack.blocks) - 1
        flags = {"may_group": may_group and not is_last}
        return prefill_attention(graph, attention, number, parts.ids, relative=relative, **flags)

    def embed_given(self, graph: GraphBuilder, parts: DecoderParts) -> str:
        """Embeds whole sequences without padding on the left, a row for each place."""
        stack, ids = parts.stack, parts.ids
        return embed_sequences(graph, self.kernels, parts.embeddings, ids, first_bias(stack))


def first_places(graph: GraphBuilder, parts: DecoderParts, states: str) -> str:
    """Gathers the states of the places that have labels: `(labels, model_dim)`."""
    width = parts.embeddings.model_dim
    states = graph.op("Reshape", states, graph.extended_shape(parts.ids, width))
    scored = graph.op("Shape", "labels", start=1)
    return graph.reshape(graph.op("Slice", states, integers(0), scored, integers(1)), -1, width)
