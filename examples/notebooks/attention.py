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
# # Self-attention, by words, by matrices and by heads
#
# What a word means depends on the words around it. Self-attention lets each word look at all
# others, and this notebook looks at what it sees: a word at a time, then all at once, then in a
# small trained model.

# %%
import matplotlib.pyplot as plt
import numpy as np
from keras import Input, Model, layers, losses, ops, optimizers, utils
from matplotlib.figure import Figure

from keras_transformer.config.block_options import BlockOptions
from keras_transformer.config.stack import AttentionConfig, StackConfig
from keras_transformer.layers import Embeddings, Encoder, MultiHeadAttention, SinusoidalPositions
from keras_transformer.plotting.matrices import numbered_matrices
from keras_transformer.plotting.query_key_features import ComparedTokens, query_key_features
from keras_transformer.plotting.style import COLOURS, draw_weights, label_tokens, new_figure, styled

utils.set_random_seed(0)
plt.show()  # Chooses where Jupyter shows pictures; there are none yet.

# %% [markdown]
# ## A word at a time
#
# Three words, vectors of 512 features, and a head of 64. Each word has a query, a key and a value.
# The first word's scores are q₁·k₁, q₁·k₂ and q₁·k₃; they are divided by √64 = 8, softmax makes
# weights of them, and the weighted values are summed to z₁.

# %%
WORDS = ["Action", "gets", "results"]
states = np.random.default_rng(0).normal(size=(1, 3, 512))
head = MultiHeadAttention(AttentionConfig(num_heads=1, key_dim=64, use_bias=False), dtype="float64")
_, weights, scores = head(states, return_weights=True, return_scores=True)
q, k, v = (
    ops.convert_to_numpy(linear(states))[0]
    for linear in (head.query_linear, head.key_linear, head.value_linear)
)
assert q.shape == k.shape == v.shape == (3, 64)
assert np.sqrt(64) == 8

first = np.array([q[0] @ k[word] for word in range(3)]) / 8
shares = np.exp(first) / np.exp(first).sum()
z_1 = sum(shares[word] * v[word] for word in range(3))
assert np.allclose(first, scores[0, 0, 0])
assert np.allclose(shares, weights[0, 0, 0])

# %% [markdown]
# ## As matrices
#
# All words at once are one product: Z = softmax(QKᵀ / 8) V. Its first row is z₁.

# %%
matrix = ops.convert_to_numpy(ops.softmax(q @ k.T / 8)) @ v
assert matrix.shape == (3, 64)
assert np.allclose(matrix[0], z_1)
assert np.allclose(matrix, ops.convert_to_numpy(weights)[0, 0] @ v)
numbered_matrices(
    {"QKᵀ / 8": ops.convert_to_numpy(scores)[0, 0], "Weights": ops.convert_to_numpy(weights)[0, 0]},
    WORDS,
    WORDS,
)

# %% [markdown]
# The article's own toy row has six weights, which sum to 1. A word's new vector is the sum of the
# values, so weighted: 0.6 of the fifth, and little of the others.

# %%
TOY = np.array([0.1, 0, 0.06, 0.1, 0.6, 0.14])
assert np.isclose(TOY.sum(), 1)
six = np.eye(6)
toy_head = MultiHeadAttention(
    AttentionConfig(num_heads=1, key_dim=6, use_bias=False, scale=False), dtype="float64"
)
toy_head.build((1, 1, 6), (1, 6, 6))
toy_head.query_linear.kernel.assign(np.log(np.maximum(TOY, 1e-30))[None] * np.ones((6, 1)))
for linear in (toy_head.key_linear, toy_head.value_linear, toy_head.output_linear):
    linear.kernel.assign(six)
summed, row = toy_head(six[None, :1], six[None], return_weights=True)
assert np.allclose(row[0, 0, 0], TOY)
assert np.allclose(summed[0, 0], TOY)

# %% [markdown]
# ## Positions and their neighbours
#
# Why sines and cosines? By the addition theorems, the vector k places further on is a linear
# function of the vector here, and the matrix depends on k alone: each pair of features is turned
# by an angle. The same matrix carries place 1 to 4, 5 to 8 and 10 to 13.

# %%
sinusoids = SinusoidalPositions(16)
places = ops.convert_to_numpy(sinusoids.vectors(np.arange(40)))


def turn(k: int) -> np.ndarray:
    """Returns the matrix that carries a position vector k places further."""
    found = np.zeros((16, 16))
    for feature in range(0, 16, 2):
        angle = k * sinusoids.rates()[feature]
        found[feature : feature + 2, feature : feature + 2] = [
            [np.cos(angle), np.sin(angle)],
            [-np.sin(angle), np.cos(angle)],
        ]
    return found


for place in (1, 5, 10):
    for k in (1, 2, 3):
        assert np.allclose(turn(k) @ places[place], places[place + k], atol=1e-5)


@styled
def carried(k: int) -> Figure:
    """Draws features 0 and 1 of places, and how one matrix carries three of them k further."""
    figure = new_figure(4.5, 4.2)
    axes = figure.subplots()
    axes.plot(*places[:, :2].T, ".", color="grey")
    for colour, place in zip(COLOURS, (1, 5, 10), strict=False):
        end = (turn(k) @ places[place])[:2]
        axes.annotate("", end, places[place, :2], arrowprops={"arrowstyle": "->", "color": colour})
        axes.annotate(f"{place}", places[place, :2], color=colour)
        axes.annotate(f"{place + k}", end, color=colour)
    axes.set(
        title=f"Places carried {k} further", xlabel="feature 0", ylabel="feature 1", aspect="equal"
    )
    return figure


carried(3)

# %% [markdown]
# ## What "it" attends to
#
# "The animal did not cross the street because it was too tired": here "it" is the animal. If the
# street was too wide, "it" is the street. We make such sentences from a small grammar, and train a
# model to say which noun "it" stands for. The model is functional Keras, made of this package's
# layers.

# %%
ANIMALS, PLACES = ["animal", "dog", "cat", "horse"], ["street", "river", "bridge", "field"]
OF_ANIMALS, OF_PLACES = ["tired", "afraid", "old", "sick"], ["wide", "long", "wet", "steep"]
SENTENCE = "The {} did not cross the {} because it was too {}"
LEXICON = sorted({*SENTENCE.split(), *ANIMALS, *PLACES, *OF_ANIMALS, *OF_PLACES} - {"{}"})
IT = SENTENCE.split().index("it")

sentences, meant = [], []
for animal in ANIMALS:
    for place in PLACES:
        for adjective in [*OF_ANIMALS, *OF_PLACES]:
            sentences.append(SENTENCE.format(animal, place, adjective).split())
            meant.append(animal if adjective in OF_ANIMALS else place)
ids = np.array([[LEXICON.index(word) for word in words] for words in sentences])
nouns = np.array([LEXICON.index(noun) for noun in meant])
order = np.random.default_rng(0).permutation(len(ids))
learnt, held_out = order[:-24], order[-24:]

config = StackConfig(
    blocks=(BlockOptions(num_heads=4, key_dim=8, feed_forward_dim=64, dropout=0.0).block(),),
    num_layers=2,
)
tokens = Input((len(sentences[0]),), dtype="int32")
embed, encoder = Embeddings(len(LEXICON), 32, dropout=0.0), Encoder(config)
all_real = ops.ones_like(tokens, dtype="bool")
state_of_it = encoder(embed(tokens, all_real), all_real)[:, IT]
model = Model(tokens, layers.Dense(len(LEXICON))(state_of_it))
model.compile(
    optimizers.Adam(0.003), losses.SparseCategoricalCrossentropy(from_logits=True),
    metrics=["accuracy"], jit_compile=False,
)  # fmt: skip
model.fit(ids[learnt], nouns[learnt], batch_size=26, epochs=60, verbose=0)
_, accuracy = model.evaluate(ids[held_out], nouns[held_out], verbose=0)
assert accuracy > 0.9
print(f"{accuracy:.0%} of the sentences that were held out")

# %% [markdown]
# The state of "it" now holds its noun, so it must have come there from another place. These are
# the weights of "it" in each head, for two sentences that differ in their last word.


# %%
def attention_of(words: list[str]) -> np.ndarray:
    """Returns the attention weights of all blocks and heads: (blocks, heads, words, words)."""
    row = np.array([[LEXICON.index(word) for word in words]])
    keep = np.ones(row.shape, bool)
    found, hidden = [], embed(row, keep)
    for block in encoder.blocks:
        found.append(block.attention(hidden, return_weights=True)[1][0])
        hidden = block(hidden)
    return np.stack([ops.convert_to_numpy(one) for one in found])


@styled
def attention_of_it(words: list[str]) -> Figure:
    """Draws a row for each head: where "it" looks."""
    rows = attention_of(words)[:, :, IT].reshape(-1, len(words))
    names = [f"block {number // 4 + 1}, head {number % 4 + 1}" for number in range(len(rows))]
    figure = new_figure(7, 3.6)
    axes = figure.subplots()
    image = draw_weights(axes, rows, highest=1)
    label_tokens(axes, names, words)
    axes.set_title(f"“it”, too {words[-1]}")
    figure.colorbar(image, ax=axes, label="attention weight")
    return figure


tired = SENTENCE.format("animal", "street", "tired").split()
wide = SENTENCE.format("animal", "street", "wide").split()
assert np.allclose(attention_of(tired).sum(axis=-1), 1, atol=1e-5)
attention_of_it(tired)

# %%
attention_of_it(wide)

# %% [markdown]
# The model never sees a rule. That its answer changes with the last word shows that attention
# carried the adjective, too.

# %%
answers = [
    LEXICON[int(ops.argmax(model(np.array([[LEXICON.index(word) for word in words]]))[0]))]
    for words in (tired, wide)
]
assert answers == ["animal", "street"]

# %% [markdown]
# ## Single features
#
# A score is a sum: each feature of the query times that of the key. For a pair of words the
# picture shows the features of q, of k and of their products in each head, and their sum divided
# by √8, which is the score. Heads differ in which features agree.

# %%
attention = encoder.blocks[0].attention
hidden = embed(np.array([[LEXICON.index(word) for word in tired]]), np.ones((1, len(tired)), bool))
queries = ops.convert_to_numpy(attention.project_queries(hidden))[0, :, IT]
keys = ops.convert_to_numpy(attention.project(hidden)[0])[0, :, -1]
compared = ComparedTokens("it", "tired", queries, keys)
_, found = attention(hidden, return_scores=True)
assert np.allclose(compared.scores, found[0, :, IT, -1], atol=1e-5)
query_key_features(compared)
