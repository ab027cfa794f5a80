"""The equations of the papers in float64 NumPy, which all layers are compared with."""

import math
from typing import Any

import numpy as np
import pytest


class Paper:
    """The equations of "Attention Is All You Need" in float64 NumPy, one sentence at a time."""

    @staticmethod
    def softmax(scores: np.ndarray, keep: np.ndarray | None = None) -> np.ndarray:
        """Row-wise softmax over the entries of `keep`; a row that keeps none is zeros."""
        keep = np.broadcast_to(True if keep is None else keep, scores.shape)
        largest = np.max(scores, axis=-1, keepdims=True, where=keep, initial=-1e300)
        exponents = np.where(keep, np.exp(np.where(keep, scores - largest, 0)), 0)
        return exponents / np.maximum(exponents.sum(axis=-1, keepdims=True), 1e-300)

    @classmethod
    def attention(
        cls,
        q: np.ndarray,
        k: np.ndarray,
        v: np.ndarray,
        keep: np.ndarray | None = None,
        scale: bool = True,
        bias: np.ndarray | float = 0.0,
        cap: float | None = None,
        further: np.ndarray | float = 0.0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Equation 1: q (T, d_k), k (S, d_k), v (S, d_v); outputs (T, d_v), weights (T, S)."""
        scores = q @ k.T / (math.sqrt(k.shape[-1]) if scale else 1) + further
        weights = cls.softmax(cls.soft_capped(scores, cap) + bias, keep)
        return weights @ v, weights

    @staticmethod
    def additive_scores(q: np.ndarray, k: np.ndarray, vector: np.ndarray) -> np.ndarray:
        """Bahdanau et al. 2015, appendix A.1.2, of projected queries and keys: (T, S)."""
        return np.array([[vector @ np.tanh(query + key) for key in k] for query in q])

    @staticmethod
    def soft_capped(values: np.ndarray, cap: float | None) -> np.ndarray:
        """Gemma 2's bound of scores and logits."""
        return values if cap is None else cap * np.tanh(values / cap)

    @classmethod
    def relative_bias(cls, stack: Any, length: int, block: int = 0) -> np.ndarray | None:
        """Raffel et al. 2020, section 2.1, distance by distance: (heads, T, T); None for none."""
        layer = stack.relative_of(block)
        if layer is None:
            return None
        matrix = np.asarray(layer.matrix, np.float64)
        biases = np.empty((layer.num_heads, length, length))
        for query in range(length):
            for key in range(length):
                biases[:, query, key] = matrix[cls.relative_bucket(layer, key - query)]
        return biases

    @staticmethod
    def relative_bucket(layer: Any, ahead: int) -> int:
        """The bucket of a key that stands a number of places after its query."""
        one_way, first = layer.num_buckets, 0
        if layer.attends_ahead:
            one_way //= 2
            first = one_way if ahead > 0 else 0
        distance = abs(ahead) if layer.attends_ahead else max(-ahead, 0)
        exact = one_way // 2
        if distance < exact:
            return first + distance
        share = math.log(distance / exact) / math.log(layer.max_distance / exact)
        # What float64 puts just below a whole number is that number.
        return first + min(exact + int(share * (one_way - exact) + 1e-9), one_way - 1)

    @staticmethod
    def rotary(vectors: np.ndarray, rotary: Any, first_place: int = 0) -> np.ndarray:
        """Su et al. 2021, section 3.2, in complex numbers whose parts are halves: (T, d_k).

        The factors of LongRoPE divide the angles; of other scalings there is none.
        """
        turned = vectors.copy()
        half = vectors.shape[-1] // 2
        width = 2 * half if rotary.width is None else rotary.width
        scaling = rotary.scaling
        for place, vector in enumerate(vectors):
            for i in range(width // 2):
                angle = (first_place + place) * rotary.base ** (-2 * i / width)
                angle /= 1 if scaling is None else scaling.short_factors[i]
                number = complex(vector[i], vector[half + i]) * complex(
                    math.cos(angle), math.sin(angle)
                )
                number *= 1 if scaling is None else scaling.magnitude
                turned[place, i], turned[place, half + i] = number.real, number.imag
        return turned

    @classmethod
    def multi_head(
        cls,
        layer: Any,
        query: np.ndarray,
        key: np.ndarray,
        keep: np.ndarray | None = None,
        bias: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Section 3.2.2 with the layer's weights; query (T, D), key (S, D), keep (T, S)."""
        heads, all_weights = [], []

        def of(dense: Any) -> Any:
            return lambda states: cls.linear(dense, states)

        if layer.config.window is not None:
            places = np.arange(len(query))
            near = np.abs(places[:, None] - places) < layer.config.window
            keep = near if keep is None else near & keep
        for head in range(layer.config.num_heads):
            # With fewer heads of keys, neighbouring heads of queries share one.
            shared = head // (layer.config.num_heads // layer.config.num_key_value_heads)
            over_all = layer.config.query_key_norm_over == "all_heads"
            q, k, v = (
                (cls.norm(norm, linear(states)) if norm and over_all else linear(states))[
                    :, place * width : (place + 1) * width
                ]
                for linear, norm, states, width, place in (
                    (of(layer.query_linear), layer.query_norm, query, layer.config.key_dim, head),
                    (of(layer.key_linear), layer.key_norm, key, layer.config.key_dim, shared),
                    (of(layer.value_linear), None, key, layer.config.value_dim, shared),
                )
            )
            if layer.config.query_key_norm is not None and not over_all:
                q, k = cls.norm(layer.query_norm, q), cls.norm(layer.key_norm, k)
            if layer.config.rotary is not None:
                q, k = (cls.rotary(vectors, layer.config.rotary) for vectors in (q, k))
            own_bias, further = 0.0 if bias is None else bias[head], 0.0
            if layer.distances is not None:
                further = cls.distance_scores(layer, head, q, k)
            if layer.disentangled is not None:
                further = further + cls.disentangled_scores(layer, head, q, k)
            if layer.config.additive:
                scores = cls.additive_scores(q, k, np.asarray(layer.score_vectors)[head])
                weights = cls.softmax(
                    cls.soft_capped(scores, layer.config.soft_cap) + own_bias, keep
                )
                attended = weights @ v
            else:
                options = layer.config.scale, own_bias, layer.config.soft_cap, further
                attended, weights = cls.attention(q, k, v, keep, *options)
            heads.append(attended)
            all_weights.append(weights)
        outputs = cls.linear(layer.output_linear, np.concatenate(heads, axis=-1))
        if keep is not None:
            outputs = outputs * keep.any(axis=-1, keepdims=True)
        return outputs, np.stack(all_weights)

    @classmethod
    def distance_scores(cls, layer: Any, head: int, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """Dai et al. 2019, section 3.3: terms (b), (c) and (d) of each query and key, (T, S)."""
        distances, columns = layer.distances, slice(head * layer.config.key_dim, None)
        kernel = np.asarray(distances.linear.kernel, np.float64)[:, columns][
            :, : layer.config.key_dim
        ]
        u, v = (
            np.asarray(bias, np.float64)[head]
            for bias in (distances.content_bias, distances.position_bias)
        )
        scores = np.empty((len(q), len(k)))
        for i, query in enumerate(q):
            for j, key in enumerate(k):
                projected = cls.sinusoid(i - j, len(kernel)) @ kernel
                scores[i, j] = query @ projected + u @ key + v @ projected
        return scores / (math.sqrt(layer.config.key_dim) if layer.config.scale else 1)

    @staticmethod
    def disentangled_scores(layer: Any, head: int, q: np.ndarray, k: np.ndarray) -> np.ndarray:
        """He et al. 2021, equation 4: content to position and position to content, (T, S)."""
        made = layer.disentangled
        keys, queries = (
            np.asarray(vectors, np.float64)[:, head]
            for vectors in (made.distance_keys, made.distance_queries)
        )
        middle, most = made.buckets // 2, made.max_distance
        scores = np.empty((len(q), len(k)))
        for i, query in enumerate(q):
            for j, key in enumerate(k):
                size, sign = abs(i - j), 1 if i > j else -1
                bucket = size
                if size > middle:
                    share = math.log(size / middle) / math.log((most - 1) / middle)
                    bucket = math.ceil(share * (middle - 1)) + middle
                row = max(0, min(made.buckets + sign * bucket, 2 * made.buckets - 1))
                scores[i, j] = query @ keys[row] + key @ queries[row]
        return scores / (math.sqrt(layer.config.key_dim) if layer.config.scale else 1)

    @staticmethod
    def sinusoid(position: int, width: int, layout: str = "interleaved") -> np.ndarray:
        """Section 3.5 at a position, which may be negative: (D,).

        The other layouts have all sines first; Tensor2Tensor's has rates of its own.
        """
        vector = np.empty(width)
        for feature in range(width):
            if layout == "interleaved":
                pair, is_cosine = feature // 2, feature % 2 == 1
            else:
                pair, is_cosine = feature % (width // 2), feature >= width // 2
            last = width / 2 - 1 if layout == "tensor2tensor" else width / 2
            angle = position * 10000 ** (-pair / last)
            vector[feature] = math.cos(angle) if is_cosine else math.sin(angle)
        return vector

    @staticmethod
    def linear(dense: Any, states: np.ndarray) -> np.ndarray:
        """xW + b."""
        kernel = np.asarray(dense.kernel, np.float64)
        return states @ kernel + (np.asarray(dense.bias, np.float64) if dense.use_bias else 0)

    @classmethod
    def ssru(cls, layer: Any, states: np.ndarray, keep: np.ndarray | None = None) -> np.ndarray:
        """Kim et al. 2019, section 3.1, place by place: (T, D); places not kept are left out."""
        found, remembered = [], np.zeros(states.shape[-1])
        for place, state in enumerate(states):
            if keep is None or keep[place]:
                forget = 1 / (1 + np.exp(-cls.linear(layer.forget, state)))
                new = cls.linear(layer.candidate, state)
                remembered = forget * remembered + (1 - forget) * new
            found.append(np.maximum(0, remembered))
        return np.stack(found)

    @classmethod
    def feed_forward(cls, layer: Any, states: np.ndarray) -> np.ndarray:
        """Equation 2, or gated, Shazeer 2020."""
        hidden = cls.activate(layer.activation, cls.linear(layer.hidden, states))
        if layer.config.gated:
            hidden = hidden * cls.linear(layer.gate, states)
        return cls.linear(layer.output_linear, hidden)

    @staticmethod
    def activate(activation: Any, x: np.ndarray) -> np.ndarray:
        """An activation by its definition: GELU, Hendrycks and Gimpel 2016, equations 2 and 3;
        squared ReLU, So et al. 2021."""
        tanh = np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))
        return {
            "relu": np.maximum(0, x),
            "squared_relu": np.maximum(0, x) ** 2,
            "silu": x / (1 + np.exp(-x)),
            "gelu": x / 2 * (1 + np.vectorize(math.erf)(x / math.sqrt(2))),
            "gelu_tanh": x / 2 * (1 + tanh),
        }[activation.__name__]

    @classmethod
    def residual(cls, layer: Any, states: np.ndarray, sub_layer: Any) -> np.ndarray:
        """The connection that a `Residual` is around a function of states."""
        if layer.config.place == "post":
            return cls.norm(layer.layer_norm, states + sub_layer(states))
        inputs = states if layer.config.place == "output" else cls.norm(layer.layer_norm, states)
        outputs = sub_layer(inputs)
        if layer.config.place in ("both", "output"):
            outputs = cls.norm(layer.output_norm, outputs)
        return states + outputs

    @classmethod
    def last(cls, stack: Any, states: np.ndarray) -> np.ndarray:
        """The norm behind the blocks of a stack, if it has one."""
        return states if stack.final_norm is None else cls.norm(stack.final_norm, states)

    @classmethod
    def norm(cls, norm: Any, states: np.ndarray) -> np.ndarray:
        """The norm that a layer is: with a bias LayerNorm, without RMSNorm."""
        return (cls.layer_norm if hasattr(norm, "beta") else cls.rms_norm)(norm, states)

    @staticmethod
    def rms_norm(norm: Any, states: np.ndarray) -> np.ndarray:
        """Zhang and Sennrich 2019, equation 4, over the last axis."""
        root = np.sqrt((states**2).mean(axis=-1, keepdims=True) + norm.epsilon)
        return states / root * np.asarray(norm.gamma, np.float64)

    @staticmethod
    def layer_norm(norm: Any, states: np.ndarray) -> np.ndarray:
        """Ba et al. 2016, over the last axis."""
        centred = states - states.mean(axis=-1, keepdims=True)
        variance = (centred**2).mean(axis=-1, keepdims=True)
        gamma, beta = (np.asarray(weight, np.float64) for weight in (norm.gamma, norm.beta))
        return centred / np.sqrt(variance + norm.epsilon) * gamma + beta

    @classmethod
    def embed(cls, embeddings: Any, ids: Any, types: Any = None) -> np.ndarray:
        """Section 3.4 and 3.5 with the layer's options, for a text without padding: (T, D)."""
        states = np.asarray(embeddings.tokens.matrix, np.float64)[ids]
        if embeddings.scale:
            states = states * math.sqrt(embeddings.model_dim)
        first, last = embeddings.position_offset, embeddings.position_offset + len(ids)
        if embeddings.add_positions and embeddings.max_positions is not None:
            states = states + np.asarray(embeddings.positions.matrix, np.float64)[first:last]
        elif embeddings.add_positions:
            layout = embeddings.sinusoid_layout
            states = states + cls.positions(last, embeddings.model_dim, layout)[first:]
        if types is not None:
            states = states + np.asarray(embeddings.token_types.matrix, np.float64)[types]
        if embeddings.layer_norm is not None:
            states = cls.layer_norm(embeddings.layer_norm, states)
        return (
            states if embeddings.projection is None else cls.linear(embeddings.projection, states)
        )

    @classmethod
    def logits(cls, head: Any, states: np.ndarray) -> np.ndarray:
        """Section 3.4's final linear layer: own or tied, with a bias or without."""
        if hasattr(head, "softmaxes"):
            return cls.adaptive_softmax(head, states)
        matrix = head.linear.kernel if head.tokens is None else np.transpose(head.tokens.matrix)
        logits = states @ np.asarray(matrix, np.float64)
        if head.bias is not None:
            logits = logits + np.asarray(head.bias, np.float64)
        return Paper.soft_capped(logits, head.soft_cap)

    @classmethod
    def adaptive_softmax(cls, head: Any, states: np.ndarray) -> np.ndarray:
        """Grave et al. 2017, section 4.3: log-probabilities, id by id."""

        def of(number: int) -> np.ndarray:
            _, *weights = head.softmaxes[number]
            projection, matrix, bias = (
                0.0 if one is None else np.asarray(one, np.float64) for one in weights
            )
            exponentials = np.exp(states @ projection @ matrix.T + bias)
            return exponentials / exponentials.sum(axis=-1, keepdims=True)

        edges, first = [*head.cutoffs, head.vocab_size], of(0)
        found = []
        for word in range(head.vocab_size):
            cluster = sum(word >= edge for edge in edges)
            chosen = word if not cluster else head.cutoffs[0] + cluster - 1
            within = of(cluster)[..., word - edges[cluster - 1]] if cluster else 1.0
            found.append(np.log(first[..., chosen] * within))
        return np.stack(found, axis=-1)

    @staticmethod
    def positions(length: int, model_dim: int, layout: str = "interleaved") -> np.ndarray:
        """Section 3.5, written entry by entry: (length, model_dim)."""
        table = np.empty((length, model_dim))
        for position in range(length):
            table[position] = Paper.sinusoid(position, model_dim, layout)
        return table


@pytest.fixture(scope="session")
def paper() -> type[Paper]:
    """The paper's equations in float64 NumPy."""
    return Paper
