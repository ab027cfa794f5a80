"""The loss of sentence embeddings (Henderson et al. 2017, section 4.3): the similarity of each
first text with all second texts of the batch.
"""

from keras import ops

from keras_transformer.tensors import Tensor

# Of cosines; that of Sentence-BERT's library (Reimers and Gurevych 2019) for this loss.
SCALE = 20.0
# The logit of what is no candidate.
_NONE = -1e9


def in_batch_logits(vectors: Tensor, token_ids: Tensor) -> Tensor:
    """Returns cosines times 20, of which those on the diagonal should be the highest.

    A pair that shares a text with another one is no negative of it: its similarity counts as none.

    Args:
        vectors: `(pairs, 2, model_dim)`.
        token_ids: Integer `(pairs, 2, length)`, the texts.

    Returns:
        float32 `(pairs, pairs)`: row i has the first text of pair i.
    """
    vectors = ops.cast(vectors, "float32")
    vectors = vectors * ops.rsqrt(
        ops.maximum(ops.sum(ops.square(vectors), axis=-1, keepdims=True), 1e-12)
    )
    logits = SCALE * ops.matmul(vectors[:, 0], ops.transpose(vectors[:, 1]))
    is_same = ops.all(token_ids[:, None] == token_ids[None], axis=-1)  # [B, B, 2]
    places = ops.arange(ops.shape(vectors)[0])
    is_other = ops.any(is_same, axis=-1) & (places[:, None] != places[None])
    return ops.where(is_other, _NONE, logits)
