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
# # The whole Transformer
#
# Encoder and decoder together translate. This notebook trains a small Transformer on English and
# Spanish sentences, compares what happens in training with what happens at test, and looks at what
# its heads attend to. The [encoder](encoder.py) and the [decoder](decoder.py) have tutorials of
# their own.

# %%
import matplotlib.pyplot as plt
import numpy as np
from keras import ops, optimizers, utils

import keras_transformer as kt
from keras_transformer.plotting.attention import attention_heads
from keras_transformer.plotting.matrices import numbered_matrices
from keras_transformer.plotting.sentences import see_pair

utils.set_random_seed(0)
plt.show()  # Chooses where Jupyter shows pictures; there are none yet.

# %% [markdown]
# ## The paper's sizes
#
# Six blocks on each side, 512 features, eight heads of 64, an inner layer of 2,048. With 37,000
# tokens, as in the paper, these are 63 million weights; the paper's table rounds to 65 million.

# %%
base = kt.TransformerConfig.preset("base", vocab_size=37_000)
own, cross = base.decoder.blocks[0].own, base.decoder.blocks[0].source
assert (base.num_encoder_layers, base.num_decoder_layers, base.model_dim) == (6, 6, 512)
assert (own.num_heads, own.key_dim) == (cross.num_heads, cross.key_dim) == (8, 64)
assert base.decoder.blocks[0].feed_forward.hidden_dim == 2048
assert base.parameter_count == 63_082_496

# %% [markdown]
# ## A small model
#
# Ours has two blocks on each side and 64 features. The text is the package's own corpus, and its
# tokens are words and parts of words.

# %%
corpus = kt.demo_corpus(2_000)
tokenizer = kt.train_tokenizer([*corpus.train.source, *corpus.train.target], vocab_size=700)
pairs = kt.encode_pairs(corpus.train, tokenizer, tokenizer)
config = kt.TransformerConfig.preset(
    "tiny", vocab_size=tokenizer.vocab_size, model_dim=64, feed_forward_dim=128, num_heads=4,
    num_encoder_layers=2, num_decoder_layers=2, dropout=0.0,
)  # fmt: skip
model = kt.build_transformer(config)
(inputs, labels, weights) = next(iter(kt.training_batches(pairs, batch_tokens=768, seed=0)))
print({name: ids.shape for name, ids in inputs.items()}, labels.shape, weights.shape)

# %% [markdown]
# ## Training: all words at once
#
# The decoder's input is the target behind a start token, and the labels are the target with an end
# token behind. So the labels are the inputs, a place earlier. The mask hides the future, and one
# pass predicts all words.

# %%
target_ids, label_ids = np.array(inputs["target_ids"]), np.array(labels)
special = config.special_ids
assert (target_ids[:, 0] == special.decoder_start).all()
for read, predicted in zip(target_ids, label_ids, strict=True):
    length = int((predicted != special.pad).sum())
    assert predicted[length - 1] == special.eos
    assert read[1:length].tolist() == predicted[: length - 1].tolist()

# %%
model.compile(
    optimizers.Adam(0.003), kt.SmoothedCrossEntropy(), weighted_metrics=[kt.TokenAccuracy()],
    jit_compile=False,
)  # fmt: skip
record = model.fit(
    kt.training_batches(pairs, batch_tokens=768, seed=0), steps_per_epoch=90, epochs=3,
    shuffle=False, verbose=0,
).history  # fmt: skip
assert record["token_accuracy"][-1] > 0.4 > record["token_accuracy"][0]
print([f"{accuracy:.2f}" for accuracy in record["token_accuracy"]])

# %% [markdown]
# ## Test: a word at a time
#
# At test nobody gives the decoder the right words. It reads its own, and starts with none. Given
# the same words, both ways have the same numbers: the row of a place does not depend on the words
# behind it.

# %%
sentence = "Hello, how are you?"
ids = [*tokenizer.encode([sentence])[0], special.eos]
source_ids = np.array([ids], np.int32)
translation = model.generate(source_ids, max_length=20)[0]
read = np.array([[special.decoder_start, *translation]], np.int32)
at_once = ops.convert_to_numpy(model({"source_ids": source_ids, "target_ids": read}))[0]
for place in range(1, read.shape[1]):
    rows = {"source_ids": source_ids, "target_ids": read[:, :place]}
    one_more = ops.convert_to_numpy(model(rows))[0, -1]
    assert np.allclose(one_more, at_once[place - 1], atol=1e-3)
print(sentence, "->", tokenizer.decode([translation.tolist()])[0])

# %% [markdown]
# ## Linear layer and softmax
#
# The last layer multiplies a place's vector by the embedding matrix, which source, target and this
# layer share. Softmax makes probabilities. These are the likeliest tokens behind each one.

# %%
probabilities = ops.convert_to_numpy(ops.softmax(at_once))
assert probabilities.shape == (read.shape[1], tokenizer.vocab_size)
assert np.allclose(probabilities.sum(axis=-1), 1, atol=1e-4)
for row in probabilities:
    best = row.argsort()[-3:][::-1].tolist()
    print([f"{tokenizer.pieces([token])[0]} {row[token]:.2f}" for token in best])

# %% [markdown]
# ## Attention between target and source
#
# Each row is a token that is being written, and shows where in the source the decoder looks for
# it. Queries come from the decoder, keys and values from the encoder.

# %%
pair = see_pair(model, tokenizer, tokenizer, "The doctor buys the red car.")
assert np.allclose(pair.maps.cross.sum(axis=-1), 1, atol=1e-4)
attention_heads(pair, "cross")

# %% [markdown]
# The same, as numbers: the mean of the last block's heads.

# %%
mean = pair.maps.cross[-1, 0].mean(axis=0)
numbered_matrices({"Attention to the source, last block": mean}, pair.written, pair.source)

# %% [markdown]
# ## Self-attention
#
# In the encoder every token may look at every other one. In the decoder the half above the
# diagonal is empty: that is the mask.

# %%
assert np.triu(pair.maps.decoder[0, 0, 0], k=1).max() == 0
attention_heads(pair, "encoder")

# %%
attention_heads(pair, "decoder")
