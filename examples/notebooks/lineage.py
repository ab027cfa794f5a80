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
# # From word vectors to XLNet
#
# A word first had one vector, whatever stood around it. Then models read the sentence before they
# gave it one. This notebook trains both on the same sentences, and asks them for the meaning of
# one word. At the end stands which idea of the family tree is what in this package.

# %%
import re
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from keras import ops, optimizers, utils
from matplotlib.figure import Figure

import keras_transformer as kt
from keras_transformer.layers import LayerMix
from keras_transformer.plotting.style import COLOURS, new_figure, styled
from keras_transformer.plotting.vectors import word_plane
from keras_transformer.vectors.files import VectorFile
from keras_transformer.vectors.neighbours import WordVectors
from keras_transformer.vectors.options import VectorOptions
from keras_transformer.vectors.train import train_vectors

utils.set_random_seed(0)
plt.show()  # Chooses where Jupyter shows pictures; there are none yet.

# %% [markdown]
# ## Static vectors
#
# Skip-gram learns a word's vector by telling the words around it. The sentences are the English
# ones of the package's own corpus.

# %%
corpus = kt.demo_corpus()
english, spanish = list(corpus.train.source), list(corpus.train.target)
with tempfile.TemporaryDirectory() as folder:
    text = Path(folder, "english.txt")
    text.write_text("\n".join(english[:8_000]), "utf-8")
    path = train_vectors([text], Path(folder, "vectors.txt"), VectorOptions(dim=48, epochs=6))
    vectors = WordVectors(VectorFile.open(path))
print("near “doctor”:", [word for word, _ in vectors.neighbours("doctor", 6)])
print("near “watch”: ", [word for word, _ in vectors.neighbours("watch", 6)])

# %%
SHOWN = (
    "doctor teacher nurse lawyer Madrid Rome Paris London red blue black white watch camera".split()
)
word_plane(vectors, SHOWN)

# %% [markdown]
# ## One word, two meanings
#
# A watch is worn, and one may watch a film. The Spanish side says which is meant: "reloj" is the
# one on the wrist. A static vector is the same in both, so nothing that reads it alone can do
# better than to say always the more frequent one.

# %%
LENGTH = 14
WATCH = re.compile(r"\bwatch\b")


def words_of(sentence: str) -> list[str]:
    """Returns words and punctuation."""
    return re.findall(r"\w+|[^\w\s]", sentence)


seen = [
    number
    for number, sentence in enumerate(english)
    if WATCH.search(sentence) and len(words_of(sentence)) <= LENGTH
]
senses = np.array(["reloj" in spanish[number] for number in seen])
static = np.stack([vectors["watch"] for _ in seen])
assert (static == static[0]).all()
most_frequent = max(senses.mean(), 1 - senses.mean())
print(
    f"{len(seen)} sentences, {senses.mean():.0%} of them about the wrist: {most_frequent:.0%} at best"
)

# %% [markdown]
# ## A contextual model
#
# GPT's idea (Radford et al. 2018): learn to tell the next word from all words before it. Ours is
# small: two blocks, 64 features and 4,000 sentences. It never sees the Spanish side.

# %%
START, END = 2, 3
vocabulary = sorted({word for sentence in english for word in words_of(sentence)})
lexicon = {word: 4 + number for number, word in enumerate(vocabulary)}


def to_rows(texts: list[str]) -> np.ndarray:
    """Returns a start, the words' ids, an end, and 0 for padding."""
    rows = [[START, *(lexicon[word] for word in words_of(text)), END] for text in texts]
    return np.array([row + [0] * (LENGTH + 2 - len(row)) for row in rows], np.int32)


def make_model() -> kt.DecoderOnly:
    """Returns a small GPT that has learnt nothing."""
    return kt.build_decoder(
        kt.DecoderConfig.preset(
            "gpt2-tiny", vocab_size=4 + len(lexicon), model_dim=64, num_heads=4, feed_forward_dim=128,
            num_layers=2, dropout=0.0,
        )
    )  # fmt: skip


short = [number for number in range(4_000) if len(words_of(english[number])) <= LENGTH]
rows = to_rows([english[number] for number in {*short, *seen}])
model = make_model()
model.compile(optimizers.Adam(0.003), kt.SmoothedCrossEntropy(0.0), jit_compile=False)
record = model.fit(
    {"token_ids": rows[:, :-1]}, rows[:, 1:], sample_weight=(rows[:, 1:] != 0).astype("float32"),
    batch_size=64, epochs=4, verbose=0,
).history  # fmt: skip
print(f"loss: {record['loss'][-1]:.2f} nats a word; knowing nothing {np.log(len(lexicon)):.2f}")

# %% [markdown]
# Each layer of the model gives each word a state. Are those of "watch" telling? Twenty labelled
# sentences give the mean state of each meaning, and the rest are sorted by the nearer mean. A
# model that has learnt nothing is the comparison.


# %%
def states_of_watch(model: kt.DecoderOnly, texts: list[str]) -> np.ndarray:
    """Returns the states of "watch" of all layers: (layers, sentences, features)."""
    places = [1 + words_of(text).index("watch") for text in texts]
    every = model.states_of_layers(to_rows(texts))
    return np.stack([ops.convert_to_numpy(one)[np.arange(len(texts)), places] for one in every])


def share_right(states: np.ndarray, labelled: int = 20) -> float:
    """Returns the share of sentences whose meaning the nearer mean tells."""
    known, known_senses = states[:labelled], senses[:labelled]
    means = np.stack([known[known_senses == sense].mean(axis=0) for sense in (False, True)])
    distances = np.linalg.norm(states[labelled:, None] - means, axis=-1)
    return float((distances.argmin(axis=-1) == senses[labelled:]).mean())


texts = [english[number] for number in seen]
trained, untrained = (states_of_watch(one, texts) for one in (model, make_model()))
found = {
    "trained": [share_right(states) for states in trained],
    "untrained": [share_right(states) for states in untrained],
}
print("share right of each layer, embeddings first:")
for name, shares in found.items():
    print(f"{name:<10}", [f"{share:.2f}" for share in shares])
assert max(found["trained"][1:]) > max(0.75, most_frequent, *found["untrained"])

# %% [markdown]
# That is the point of pretraining: plain text taught the model what twenty labels alone could not.
# The first entry, the embedding, is static but for its position. [Figures with 60 to 6,000
# labels](../../docs/results/transfer.md) come from real captions.

# %%
shown = trained[1 + int(np.argmax(found["trained"][1:]))]
centred = shown - shown.mean(axis=0)
left, lengths, _ = np.linalg.svd(centred, full_matrices=False)


@styled
def picture_of_senses(points: np.ndarray) -> Figure:
    """Draws a point for each sentence, coloured by what "watch" means in it."""
    figure = new_figure(6, 4)
    axes = figure.subplots()
    for sense, label in ((True, "worn on the wrist"), (False, "to look at")):
        axes.plot(*points[senses == sense].T, ".", color=COLOURS[int(sense)], label=label)
    axes.set(title="States of “watch”", xlabel="first component", ylabel="second component")
    axes.legend()
    return figure


picture_of_senses(left[:, :2] * lengths[:2])

# %% [markdown]
# ## One side or both
#
# GPT reads from left to right: a word's state depends on what stands before it. BERT reads both
# sides. We change the last word of a row, and look at whose states change.

# %%
sizes = {"vocab_size": 30, "model_dim": 16, "num_heads": 2, "feed_forward_dim": 32, "num_layers": 1}
bert = kt.build_encoder(kt.EncoderConfig.preset("bert-tiny", **sizes))
gpt = kt.build_decoder(kt.DecoderConfig.preset("gpt2-tiny", **sizes))
sentence, changed = np.array([[2, 7, 8, 9, 10]]), np.array([[2, 7, 8, 9, 11]])


def moved(model: kt.EncoderOnly | kt.DecoderOnly) -> list[bool]:
    """Returns whose states change with the last word."""
    one, other = (
        ops.convert_to_numpy(model.states_of_layers(ids)[-1])[0] for ids in (sentence, changed)
    )
    return [not np.allclose(a, b, atol=1e-5) for a, b in zip(one, other, strict=True)]


assert moved(bert) == [True] * 5
assert moved(gpt) == [False] * 4 + [True]

# %% [markdown]
# ## All layers in a mix
#
# ELMo takes no single layer: it learns a weight for each (`LayerMix`). At the start it is their
# mean. Which layers a task prefers is read off these weights: in the large models of the
# literature syntax sits in early ones and meaning in late ones. Ours has only two blocks, so we do
# not claim it.

# %%
mix = LayerMix()
mixed = ops.convert_to_numpy(mix([layer[None] for layer in trained]))[0]
assert np.allclose(mixed, trained.mean(axis=0), atol=1e-5)
print(f"the mean of all layers: {share_right(mixed):.2f}")

# %% [markdown]
# ## The family tree in this package
#
# | idea | here |
# |---|---|
# | skip-gram, CBOW, fastText, GloVe, Poincaré | `keras-transformer vectors --method …` ([word vectors](../../docs/word_vectors.md)) |
# | node2vec, lda2vec | example scripts ([node2vec](../node2vec.py), [lda2vec](../lda2vec.py)) |
# | static vectors as a start | `train --init-vectors` ([fine-tuning](../../docs/fine_tuning.md)) |
# | CoVe | `--features` of a translation, or `--init` of its encoder ([features](../../docs/contextual_features.md)) |
# | ELMo, Flair | language models of both directions as `--features`, also of LSTMs (`--preset lstm-tiny`), `LayerMix`, tags with `--crf` |
# | ULMFiT | `--init`, `--layer-decay`, `--unfreeze-steps` ([fine-tuning](../../docs/fine_tuning.md)) |
# | GPT, GPT-2 | `--task causal-lm` ([families](../../docs/families.md)) |
# | BERT | `--task masked-lm`, with `--next-sentence` its second task |
# | ERNIE | `--masking` of whole words, spans and given phrases |
# | Transformer-XL | `--preset transformer-xl-tiny --packing stream`: segments with a memory |
# | CVT | `--unlabelled-text` of `classify` and `tag` ([families](../../docs/families.md)) |
# | XLNet | `--task permutation-lm --preset xlnet-tiny`: tokens predicted in random order |
