# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # The encoder, step by step
#
# A sentence becomes ids, ids become vectors, positions are added, and six blocks of attention and
# feed-forward layers read all words at once. Each step below runs on the layers of this package
# and is checked in its cell.

# %%
import matplotlib.pyplot as plt
import numpy as np
from keras import ops, utils

import keras_transformer as kt
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.layers import MultiHeadAttention, SinusoidalPositions
from keras_transformer.layers.masks import attention_mask, padding_mask
from keras_transformer.plotting.matrices import numbered_matrices
from keras_transformer.plotting.positions import position_curves

utils.set_random_seed(0)
plt.show()  # Chooses where Jupyter shows pictures; there are none yet.

# %% [markdown]
# ## Tokens and ids
#
# The running example is one sentence. Rows of a batch must be equally long, so a row of nine
# places gets three ids of padding. Here the padding's id is 5, and it stands on the left.

# %%
TOKENS = ["Hello", ",", "how", "are", "you", "?"]
VOCABULARY = dict(zip(TOKENS, [34, 90, 15, 684, 55, 193], strict=True))
PADDING = 5

ids = [VOCABULARY[token] for token in TOKENS]
padded = [PADDING] * 3 + ids
assert padded == [5, 5, 5, 34, 90, 15, 684, 55, 193]
print(ids, "->", padded)

# %% [markdown]
# ## Sizes
#
# The paper's base model has six blocks, vectors of 512 features and eight heads of 64, and its
# inner layer is 2,048 wide. BERT has 12 blocks, or 24 in the large size.

# %%
config = kt.TransformerConfig.preset(
    "base", vocab_size=10_000, special_ids=SpecialIds(pad=PADDING, unk=0, bos=1, eos=2)
)
attention, feed_forward = config.encoder.blocks[0].own, config.encoder.blocks[0].feed_forward
assert (config.num_encoder_layers, config.model_dim) == (6, 512)
assert (attention.num_heads, attention.key_dim, attention.value_dim) == (8, 64, 64)
assert attention.num_heads * attention.key_dim == config.model_dim
assert feed_forward.hidden_dim == 2048
blocks_of_bert = [
    kt.EncoderConfig.preset(name, vocab_size=30_000).num_layers
    for name in ("bert-base", "bert-large")
]
assert blocks_of_bert == [12, 24]

# %% [markdown]
# ## Vectors
#
# The embedding is a matrix with a row for each id. The row of an id is its vector; the layer
# multiplies it by √512, so that positions, which are added next, do not drown it.

# %%
model = kt.build_transformer(config)
embeddings = model.source_embeddings
row = np.array([padded], np.int32)
vectors = embeddings.tokens(row)
assert vectors.shape == (1, 9, 512)
matrix = ops.convert_to_numpy(embeddings.tokens.weights[0])
assert matrix.shape == (10_000, 512)
assert np.allclose(vectors[0, 3], matrix[34] * np.sqrt(512), atol=1e-5)

# %% [markdown]
# ## Positions
#
# Attention does not know in which order words stand. So each place has a vector of sines and
# cosines: p(i, j) = sin(i / 10000^(j/d)) for even j, and cos(i / 10000^((j-1)/d)) for odd j.

# %%
layer = SinusoidalPositions(512)
positions = ops.convert_to_numpy(layer.vectors(np.arange(40)))


def by_the_formula(i: int, j: int) -> float:
    """Returns feature j of place i."""
    return np.sin(i / 10000 ** (j / 512)) if j % 2 == 0 else np.cos(i / 10000 ** ((j - 1) / 512))


expected = [[by_the_formula(i, j) for j in range(512)] for i in range(40)]
assert np.allclose(positions, expected, atol=1e-5)
position_curves(40, 512)

# %% [markdown]
# Positions count real tokens. Padding on the left therefore changes nothing: the six words have
# the same vectors with it and without it.

# %%
keep = padding_mask(row, PADDING)
assert ops.convert_to_numpy(keep)[0].tolist() == [False] * 3 + [True] * 6
states = embeddings(row, keep)
short = np.array([ids], np.int32)
alone = embeddings(short, padding_mask(short, PADDING))
assert np.allclose(states[:, 3:], alone, atol=1e-5)

# %% [markdown]
# ## Scores and softmax
#
# A head gives each pair of words a score, the product of a query and a key. The article prints
# these scores for the sentence. We give our layer a query for each word that makes exactly them:
# the words are unit vectors, the queries' projection is the table, and the keys' projection is the
# identity.

# %%
SCORES = np.array(
    [
        [78.49, 43.29, 1.20, 41.74, 91.43, 74.47],
        [95.84, 28.78, 57.13, 68.20, -60.94, 26.85],
        [-95.69, -52.16, 17.00, 45.71, 48.49, 64.35],
        [-69.92, 85.16, 94.94, 91.04, -92.83, 77.49],
        [65.85, 55.85, 62.54, -97.46, 76.38, 13.20],
        [-30.05, -4.52, 76.02, 42.35, 15.29, 63.61],
    ]
)
words = np.eye(6)[None]
head = MultiHeadAttention(
    AttentionConfig(num_heads=1, key_dim=6, use_bias=False, scale=False), dtype="float64"
)
head.build(words.shape)
head.query_linear.kernel.assign(SCORES)
head.key_linear.kernel.assign(np.eye(6))
_, weights, scores = head(words, return_weights=True, return_scores=True)
weights, scores = np.array(weights)[0, 0], np.array(scores)[0, 0]
assert np.allclose(scores, SCORES)

# %% [markdown]
# Softmax makes weights of each row, which sum to 1. The article cuts numbers off after the digits
# that it prints, and does not round them. So do we, to compare.


# %%
def cut(values: np.ndarray, digits: int) -> list[float]:
    """Cuts numbers off after some digits, as the article does."""
    mantissas = [f"{value:.15e}".split("e") for value in values]
    return [float(f"{digits_of[: digits + 1]}e{power}") for digits_of, power in mantissas]


assert np.allclose(weights.sum(axis=-1), 1)
of_are = weights[TOKENS.index("are")]
assert cut(of_are, 3) == [2.47e-72, 5.54e-05, 0.980, 1.98e-02, 2.77e-82, 2.58e-08]
assert cut(weights[TOKENS.index("?")], 3)[TOKENS.index("how")] == 0.999

# %% [markdown]
# One number in print is wrong: the first of the row "Hello" reads 72.40e-06. It is 2.40e-06, as a
# row of weights with an entry of 0.99999 needs. A weight of 1e-72 is not zero, but float32 has no
# number so small; this notebook computes in float64.

# %%
assert cut(weights[0], 3)[0] == 2.40e-06
numbered_matrices({"Scores": scores, "Weights": weights}, TOKENS, TOKENS)

# %% [markdown]
# A word's new vector is the sum of all values, each with its weight. "are" becomes almost the
# value of "how", with a little of itself.

# %%
values = np.random.default_rng(0).normal(size=(6, 4))
new = weights @ values
assert np.allclose(new[3], 0.980105 * values[2] + 0.019839 * values[3], atol=2e-4)

# %% [markdown]
# ## Eight heads
#
# A block of the base model has eight such heads, each with projections of its own to 64 features.
# Their results stand side by side, 8 · 64 = 512, and a last projection mixes them. The padding
# mask keeps every word from looking at padding.

# %%
block = model.encoder_stack.blocks[0]
mask = attention_mask(keep)
attended, weights_of_heads = block.attention(states, keep_mask=mask, return_weights=True)
assert attended.shape == (1, 9, 512)
assert weights_of_heads.shape == (1, 8, 9, 9)
assert float(ops.max(weights_of_heads[..., :3])) == 0

# %% [markdown]
# ## Add and normalise
#
# The result is added to what came in, and each word's vector is normalised: mean 0 and variance 1.

# %%
summed = block.attention_residual(states, attended)
assert np.allclose(ops.mean(summed, axis=-1), 0, atol=1e-4)
assert np.allclose(ops.var(summed, axis=-1), 1, atol=1e-3)

# %% [markdown]
# ## The feed-forward layer
#
# It sees one place at a time: widened to 2,048, cut at zero, narrowed to 512. The same word with
# the same vector gets the same result at each place, whatever stands around it.

# %%
hidden = block.feed_forward.hidden(summed)
assert hidden.shape == (1, 9, 2048)
assert float(ops.min(hidden)) == 0
transformed = block.feed_forward(summed)
assert np.allclose(transformed[:, 4:5], block.feed_forward(summed[:, 4:5]), atol=1e-5)

# %% [markdown]
# These steps are one block; the layer does the same. Six of them are the encoder, which has a
# vector of 512 features for each word. Padding still changes nothing.

# %%
by_hand = block.feed_forward_residual(summed, transformed)
assert np.allclose(by_hand, block(states, mask), atol=1e-5)
encoded = model.encoder({"source_ids": row})
assert encoded.shape == (1, 9, 512)
without_padding = model.encoder({"source_ids": short})
assert np.allclose(encoded[:, 3:], without_padding, atol=1e-4)
print("The encoder's output:", encoded.shape)
