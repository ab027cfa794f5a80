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
# # The decoder, step by step
#
# The decoder writes one token after the other. It reads what it has written, and, in every block,
# the encoder's vectors of the source. In training it reads the whole translation at once, and a
# mask hides the words that it is to predict.

# %%
import matplotlib.pyplot as plt
import numpy as np
from keras import ops, utils

import keras_transformer as kt
from keras_transformer.config.stack import AttentionConfig
from keras_transformer.layers import MultiHeadAttention
from keras_transformer.layers.masks import causal_mask
from keras_transformer.plotting.masks import masks
from keras_transformer.plotting.matrices import numbered_matrices

plt.show()  # Chooses where Jupyter shows pictures; there are none yet.

# %% [markdown]
# ## The shifted target
#
# The decoder reads the target with a start token `<SS>` in front, and predicts it with an end
# token `<EOS>` behind. At each place it so learns the word that comes next.

# %%
SOURCE = ["Hello", ",", "how", "are", "you", "?"]
TARGET = ["Hola", ",", "como", "estás", "?"]
READ = ["<SS>", *TARGET]
PREDICTED = [*TARGET, "<EOS>"]
assert READ[1:] == PREDICTED[:-1]
print(
    *(f"{read} -> {predicted}" for read, predicted in zip(READ, PREDICTED, strict=True)), sep="\n"
)

# %% [markdown]
# ## The mask
#
# At "como" the decoder may see "<SS>", "Hola", "," and "como", and nothing behind it. The mask is
# True where a place (a row) may look. Padding is hidden by a mask of its own; both together are
# what a decoder's self-attention uses.

# %%
mask = ops.convert_to_numpy(causal_mask(6))
assert mask.tolist() == [[column <= row for column in range(6)] for row in range(6)]
masks(tokens=6, padding=2)

# %% [markdown]
# ## Masked scores
#
# These are the printed scores. As in the [encoder's tutorial](encoder.py), we give a head of our
# layer the projections that make them: the words are unit vectors, the table is the queries'
# projection.


# %%
def attend(scores: np.ndarray, keep_mask: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Returns the weights and scores of a head of which the scores are known."""
    words = np.eye(len(scores))[None]
    head = MultiHeadAttention(
        AttentionConfig(num_heads=1, key_dim=len(scores), use_bias=False, scale=False),
        dtype="float64",
    )
    head.build(words.shape)
    head.query_linear.kernel.assign(scores)
    head.key_linear.kernel.assign(words[0])
    _, weights, found = head(words, keep_mask=keep_mask, return_weights=True, return_scores=True)
    return np.array(weights)[0, 0], np.array(found)[0, 0]


SCORES = np.array(
    [
        [-29.59, -6.044, -13.48, 29.626, 45.840, -48.69],
        [-15.26, 46.884, -45.50, 21.835, 24.514, -17.68],
        [30.225, -2.567, 4.6751, 10.244, 4.2682, -11.86],
        [-8.656, -13.94, -29.00, 48.459, 22.416, -39.63],
        [-5.156, 48.210, 8.5994, -20.29, -33.36, -17.24],
        [-46.01, 10.281, -39.73, 28.344, 25.826, 20.824],
    ]
)
weights, scores = attend(SCORES, mask)
assert np.allclose(scores, SCORES)
hidden = np.where(mask, scores, -np.inf)
numbered_matrices({"Scores": scores, "Masked": hidden, "Weights": weights}, READ, READ)

# %% [markdown]
# The article prints the weights and cuts numbers off instead of rounding them. In the row "como"
# its last number is missing in print: it is 1. Masked weights are exactly 0.


# %%
def cut(value: float, digits: int) -> float:
    """Cuts a number off after some digits, as the article does."""
    mantissa, power = f"{value:.15e}".split("e")
    return float(f"{mantissa[: digits + 1]}e{power}")


PRINTED = {
    "Hola": [(1.026e-27, 4), (1, 4)],
    ",": [(0.99, 2), (5.73e-15, 3), (8.013e-12, 4)],
    "como": [(1.56e-25, 3), (7.95e-28, 3), (2.29e-34, 3), (1, 3)],
    "estás": [(6.65e-24, 3), (1, 3), (6.27e-18, 3), (1.78e-30, 3), (3.75e-36, 3)],
    "?": [(4.72e-33, 3), (1.32e-08, 3), (2.52e-30, 3), (0.92, 2), (0.07, 1), (5e-4, 1)],
}
assert weights[0].tolist() == [1, 0, 0, 0, 0, 0]
for token, printed in PRINTED.items():
    row = weights[READ.index(token)]
    assert (row[len(printed) :] == 0).all()
    for weight, (number, digits) in zip(row, printed, strict=False):
        assert number in (cut(weight, digits), round(weight, 15)), (token, weight, number)

# %% [markdown]
# ## Why minus infinity, and not zero
#
# Another article prints the mask as zeros in the table of scores. Zero is a score like any other:
# after the softmax a hidden word would have weight e⁰ / Σ eˢ, and would often win. In its row
# "Your" the first score is -26.8, so that a zero would give each of the hidden words a quarter and
# "Your" nothing. With minus infinity the hidden words have weight 0 and "Your" has all of it.

# %%
LEBOWSKI = ["Your", "name", "'s", "lebowski", "lebowski"]
OTHER_SCORES = np.array(
    [
        [-26.845, -13.4225, 34.749, -10.0113],
        [0.093, -0.00693, 0.006189, -0.0062],
        [3.435, -495.767, 3.74, -53.4913],
        [11.964, -0.02413, 8.7227, -0.00061],
        [-1.526, 63.23468, 2.950, 55.15364],
    ]
)
# The article prints four columns: the fifth, which only the last word sees, is left out here.
square, future = OTHER_SCORES[:4], ops.convert_to_numpy(causal_mask(4))
right, _ = attend(square, future)
wrong, _ = attend(np.where(future, square, 0), np.ones((4, 4), bool))
assert right[0].tolist() == [1, 0, 0, 0]
assert wrong[0, 0] < 1e-11
assert np.allclose(wrong[0, 1:], 1 / 3)
assert np.allclose(right[1], [0.525, 0.475, 0, 0], atol=5e-4)
numbered_matrices(
    {"Zeros as scores: wrong": wrong, "Minus infinity": right}, LEBOWSKI[:4], LEBOWSKI[:4]
)

# %% [markdown]
# ## Attention to the source
#
# In the second part of a block the queries come from the decoder, keys and values from the
# encoder. So there is a row for each target word and a column for each source word. The article's
# row `<SS>` is 0.9 on "Hello" and 0.1 on "how". A score is a logarithm of a weight, up to a
# constant: log 0.9 and log 0.1 give that row, and large negative scores the zeros.

# %%
SHARES = np.array([0.9, 0, 0.1, 0, 0, 0])
wanted = np.log(np.maximum(SHARES, 1e-30))
cross = MultiHeadAttention(
    AttentionConfig(num_heads=1, key_dim=6, use_bias=False, scale=False), dtype="float64"
)
start, encoded = np.ones((1, 1, 1)), np.eye(6)[None]
cross.build(start.shape, encoded.shape)
cross.query_linear.kernel.assign(wanted[None])
cross.key_linear.kernel.assign(np.eye(6))
_, looked = cross(start, encoded, return_weights=True)
assert looked.shape == (1, 1, 1, 6)
assert np.allclose(looked[0, 0, 0], SHARES)

# %% [markdown]
# ## The next token comes from the last row
#
# A linear layer and a softmax make probabilities of each row. When the model translates, only the
# last row is new: it says which token comes next. The mask is why the rows before do not change
# when a token is added, and why they can be kept.

# %%
utils.set_random_seed(1)
config = kt.TransformerConfig(
    source_vocab_size=20, model_dim=32, feed_forward_dim=64, num_heads=4, num_encoder_layers=2,
    num_decoder_layers=2,
)  # fmt: skip
model = kt.build_transformer(config)
source = np.array([[4, 5, 6, 7, 8, 9, 3]], np.int32)
target = np.array([[2, 10, 11, 12, 13]], np.int32)
logits = model({"source_ids": source, "target_ids": target})
earlier = model({"source_ids": source, "target_ids": target[:, :3]})
assert logits.shape == (1, 5, 20)
assert np.allclose(logits[:, :3], earlier, atol=1e-5)
probabilities = ops.convert_to_numpy(ops.softmax(logits[0, -1]))
assert np.isclose(probabilities.sum(), 1, atol=1e-5)
print("next token:", probabilities.argmax())

# %% [markdown]
# `generate` does this until the end token comes. It keeps the keys and values of earlier tokens,
# and still takes the tokens that whole passes take. It never chooses padding, the unknown token or
# the start token, whose ids are 0 to 2 here.

# %%
written = [config.special_ids.decoder_start]
for _ in range(5):
    rows = {"source_ids": source, "target_ids": np.array([written], np.int32)}
    written.append(3 + int(ops.argmax(model(rows)[0, -1, 3:])))
    if written[-1] == config.special_ids.eos:
        break
text = [token for token in written[1:] if token != config.special_ids.eos]
assert model.generate(source, max_length=5)[0].tolist()[: len(text)] == text
print(text)
