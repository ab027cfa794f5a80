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
# # How it works: the shapes of a batch, masks and the loss
#
# A tiny Transformer translates "You are welcome" as "De nada". We follow a batch through it, look
# at what is hidden from whom, and train it until it knows its sentences.

# %%
import matplotlib.pyplot as plt
import numpy as np
from keras import ops, optimizers, utils
from matplotlib.figure import Figure

import keras_transformer as kt
from keras_transformer.config.special_ids import SpecialIds
from keras_transformer.layers import SinusoidalPositions
from keras_transformer.layers.masks import attention_mask, padding_mask
from keras_transformer.plotting.masks import masks
from keras_transformer.plotting.positions import position_curves
from keras_transformer.plotting.style import COLOURS, new_figure, styled

utils.set_random_seed(0)
plt.show()  # Chooses where Jupyter shows pictures; there are none yet.

# %% [markdown]
# ## Sentences of four places, vectors of three features
#
# The pictures of the article have sequences of 4 and embeddings of 3. Our embeddings of a batch of
# two sentences are then `(2, 4, 3)`. A vocabulary of 10,000 words has a matrix `(10000, 3)`.

# %%
small = kt.TransformerConfig(
    source_vocab_size=10_000, model_dim=3, feed_forward_dim=12, num_heads=1,
    num_encoder_layers=1, num_decoder_layers=1, dropout=0.0,
)  # fmt: skip
shapes = kt.build_transformer(small)
batch = np.array([[11, 12, 13, 3], [14, 15, 3, 0]], np.int32)
keep = padding_mask(batch)
embedded = shapes.source_embeddings(batch, keep)
assert shapes.source_embeddings.tokens.weights[0].shape == (10_000, 3)
assert embedded.shape == (2, 4, 3)

# %% [markdown]
# Positions have the same shape for every batch, whatever its words are, and are added.

# %%
positions = shapes.source_embeddings.positions(keep)
tokens = shapes.source_embeddings.tokens(batch)
assert positions.shape == (2, 4, 3)
assert np.allclose(embedded, tokens + positions, atol=1e-6)

# %% [markdown]
# ## Positions as curves
#
# Features 0 and 1 over 40 places are a sine and a cosine of the same angle, and later features
# wave more slowly.

# %%
vectors = ops.convert_to_numpy(SinusoidalPositions(16).vectors(np.arange(40)))
assert np.allclose(vectors[:, 0], np.sin(np.arange(40)), atol=1e-5)
assert np.allclose(vectors[:, 1], np.cos(np.arange(40)), atol=1e-5)
position_curves(40, 16)

# %% [markdown]
# ## Through the layers
#
# Queries, keys and values are as wide as the model; the heads divide it. Scores and weights are
# `(batch, heads, queries, keys)`. What comes out of a block has the shape of what went in, so that
# blocks can be stacked.

# %%
block = shapes.encoder_stack.blocks[0]
keys, values = block.attention.project(embedded)
assert keys.shape == values.shape == (2, 1, 4, 3)
attended, weights = block.attention(embedded, keep_mask=attention_mask(keep), return_weights=True)
assert weights.shape == (2, 1, 4, 4)
assert attended.shape == (2, 4, 3)
assert block(embedded, attention_mask(keep)).shape == (2, 4, 3)

# %% [markdown]
# ## Two masks
#
# Padding is hidden everywhere: its column has weight 0. In the decoder the future is hidden as
# well.

# %%
assert float(ops.max(weights[1, :, :, 3])) == 0
decoder_mask = attention_mask(keep, causal=True)
assert ops.convert_to_numpy(decoder_mask)[1, 0].astype(int).tolist() == [
    [1, 0, 0, 0],
    [1, 1, 0, 0],
    [1, 1, 1, 0],
    [1, 1, 1, 0],
]
masks(tokens=3, padding=1)

# %% [markdown]
# ## Linear layer, softmax and loss
#
# The decoder's last layer gives each place a number for every word of the target vocabulary: here
# seven, of which four are special or "END". Softmax makes probabilities of them.

# %%
SOURCE_WORDS = ["<pad>", "<unk>", "<s>", "END", "You", "are", "welcome", "Thanks", "Hello"]
TARGET_WORDS = ["<pad>", "<unk>", "START", "END", "De", "nada", "Gracias"]
config = kt.TransformerConfig(
    source_vocab_size=len(SOURCE_WORDS), target_vocab_size=len(TARGET_WORDS),
    share_embeddings="none", model_dim=32, feed_forward_dim=64, num_heads=4,
    num_encoder_layers=1, num_decoder_layers=1, dropout=0.0, special_ids=SpecialIds(),
)  # fmt: skip
model = kt.build_transformer(config)


def to_ids(words: str, vocabulary: list[str], length: int) -> list[int]:
    """Returns ids, padded with 0."""
    found = [vocabulary.index(word) for word in words.split()]
    return found + [0] * (length - len(found))


source = np.array(
    [to_ids("You are welcome END", SOURCE_WORDS, 4), to_ids("Thanks END", SOURCE_WORDS, 4)]
)
target = np.array(
    [to_ids("START De nada", TARGET_WORDS, 3), to_ids("START Gracias", TARGET_WORDS, 3)]
)
labels = np.array([to_ids("De nada END", TARGET_WORDS, 3), to_ids("Gracias END", TARGET_WORDS, 3)])
inputs = {"source_ids": source.astype("int32"), "target_ids": target.astype("int32")}
logits = model(inputs)
assert logits.shape == (2, 3, 7)
assert np.allclose(ops.sum(ops.softmax(logits), axis=-1), 1, atol=1e-5)

# %% [markdown]
# The loss of a place is minus the logarithm of the probability of the right word, and that of a
# batch the mean over real words. An example by hand, with four words: De, nada, END and one more.
# If the model gives "De" 0.5, "nada" 0.25 and "END" 0.8, the losses are 0.693, 1.386 and 0.223
# nats, and their mean is 0.768. A model that knows nothing has 0.25 everywhere, and a loss of log
# 4 = 1.386.

# %%
loss = kt.SmoothedCrossEntropy(label_smoothing=0.0)
GIVEN = np.array([[[0.5, 0.2, 0.2, 0.1], [0.3, 0.25, 0.25, 0.2], [0.1, 0.05, 0.8, 0.05]]])
mean = float(loss(np.array([[0, 1, 2]]), np.log(GIVEN).astype("float32"), np.ones((1, 3))))
assert round(mean, 3) == 0.768
assert [round(-float(np.log(p)), 3) for p in (0.5, 0.25, 0.8)] == [0.693, 1.386, 0.223]
knows_nothing = float(loss(np.array([[0, 1, 2]]), np.zeros((1, 3, 4), "float32"), np.ones((1, 3))))
assert round(knows_nothing, 3) == 1.386

# %% [markdown]
# ## Training on "De nada END"
#
# The model reads START De nada and is to say De nada END, all at once. Padding has weight 0 in the
# loss.

# %%
model.compile(optimizers.Adam(0.005), loss, jit_compile=False)
sample_weight = (labels != 0).astype("float32")
history = model.fit(
    inputs, labels, sample_weight=sample_weight, batch_size=2, epochs=100, verbose=0, shuffle=False
).history["loss"]
assert history[-1] < 0.05 < history[0]
print(f"loss: {history[0]:.3f} at first, {history[-1]:.3f} at last")


# %%
@styled
def loss_curve(losses: list[float]) -> Figure:
    """Draws the loss after each update."""
    figure = new_figure(6, 3)
    axes = figure.subplots()
    axes.plot(losses, color=COLOURS[0])
    axes.set(title="Loss of “De nada END”", xlabel="updates", ylabel="nats a word")
    return figure


loss_curve(history)

# %% [markdown]
# ## At test
#
# Now nobody gives the model the translation. It writes a word, reads it, and writes the next one,
# until it says END.

# %%
written = model.generate(inputs["source_ids"], max_length=5)
spoken = [" ".join(TARGET_WORDS[token] for token in row if token) for row in written]
assert spoken == ["De nada", "Gracias"]
print(spoken)
