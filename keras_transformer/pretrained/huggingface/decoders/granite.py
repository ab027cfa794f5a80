"""Granite (IBM 2024), a Llama whose embeddings, scores, sub-layers and logits are multiplied by
numbers of the config. All of them go into weights, so that what is read is a Llama.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from keras_transformer.pretrained.huggingface.decoders.common import HEAD
from keras_transformer.pretrained.huggingface.decoders.llama import LLAMA
from keras_transformer.pretrained.huggingface.fields import Fields
from keras_transformer.pretrained.weight_table import Entry


def with_multipliers(fields: Fields, entries: Iterable[Entry]) -> Iterator[Entry]:
    """Yields the entries of a Granite, whose tensors are multiplied as its config says."""
    entries = list(entries)
    embedding, residual, attention, logits = (
        fields.number(name, 1.0)
        for name in (
            "embedding_multiplier",
            "residual_multiplier",
            "attention_multiplier",
            "logits_scaling",
        )
    )
    width = fields.integer("hidden_size") // fields.integer("num_attention_heads", least=1)
    is_tied = all(entry.name != HEAD for entry in entries)
    factors = {
        "model.embed_tokens": embedding,
        # The last norm takes back what a head that is tied to the embeddings has too much.
        "model.norm": 1 / (logits * (embedding if is_tied else 1.0)),
        "q_proj": attention * fields.integer("head_dim", width) ** 0.5,
        "o_proj": residual,
        "down_proj": residual,
    }
    for entry in entries:
        layer = entry.name.rpartition(".")[0]
        found = (factors[name] for name in factors if layer.endswith(name))
        yield replace(entry, factor=next(found, 1.0))


# By `model_type`.
GRANITES = {"granite": replace(LLAMA, adapt=with_multipliers)}
