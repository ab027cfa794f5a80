"""Puts the weights of an oracle's file into a model of ours. Hugging Face's names of weights are
those of their state dicts.
"""

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import config_from_dict
from keras_transformer.layers.masks import target_padding_mask
from keras_transformer.models.decoder_only import DecoderOnly, build_decoder
from keras_transformer.models.encoder_only import EncoderOnly, build_encoder
from keras_transformer.models.transformer import Transformer, build_transformer

Array = npt.NDArray[Any]
Weights = Mapping[str, Array]

FOLDER = Path(__file__).parents[2] / "tests" / "fixtures" / "oracles"
NAMES = tuple(sorted(path.stem for path in FOLDER.glob("*.npz")))


@dataclasses.dataclass(frozen=True)
class Oracle:
    """A model of ours with the weights of theirs, and what theirs computed.

    Attributes:
        model: With a head or without, as the file says.
        inputs: int32 `(batch, length)` each; padded on the right with id 0.
        outputs: float32, by name: "outputs", or what else the model returns; "hidden_0" and on are
            the states after the embeddings and after each block.
        keep: Boolean `(batch, length)`, True at real tokens; the rest of the outputs means nothing.
    """

    model: Any
    inputs: dict[str, Array]
    outputs: dict[str, Array]
    keep: Array


def load_oracle(name: str, folder: Path = FOLDER, dtype_policy: str | None = None) -> Oracle:
    """Builds the model of an oracle's file.

    Args:
        name: One of `NAMES`.
        folder: Where the files are.
        dtype_policy: Keras dtype policy; the global one if None.
    """
    with np.load(folder / f"{name}.npz") as file:
        arrays = {key: file[key] for key in file.files}
    config = config_from_dict(json.loads(str(arrays.pop("config"))))
    parts: dict[str, dict[str, Array]] = {"input": {}, "output": {}, "weight": {}}
    for key, array in arrays.items():
        part, _, leaf = key.partition("/")
        parts[part][leaf] = array
    model: Any
    if isinstance(config, EncoderConfig):
        model = build_encoder(config, dtype_policy)
        load_bert(model, parts["weight"])
    elif isinstance(config, DecoderConfig):
        model = build_decoder(config, dtype_policy)
        loader = load_llama if "lm_head.weight" in parts["weight"] else load_gpt2
        loader(model, parts["weight"])
    else:
        model = build_transformer(config, dtype_policy)
        load_t5(model, parts["weight"])
    ids = parts["input"].get("token_ids", parts["input"].get("target_ids"))
    keep = np.asarray(target_padding_mask(ids, config.special_ids))
    return Oracle(model, parts["input"], parts["output"], keep)


def load_bert(model: EncoderOnly, weights: Weights) -> None:
    """Puts a BERT's weights into an encoder: PyTorch's linear layers are `(out, in)`."""
    # Their models with a head keep BERT under a name of its own.
    body = without_prefix(weights, "bert.")
    embeddings: Any = model.embeddings
    embeddings.tokens.matrix.assign(body["embeddings.word_embeddings.weight"])
    embeddings.positions.matrix.assign(body["embeddings.position_embeddings.weight"])
    embeddings.token_types.matrix.assign(body["embeddings.token_type_embeddings.weight"])
    put_norm(embeddings.layer_norm, body, "embeddings.LayerNorm")
    for index, block in enumerate(model.encoder_stack.blocks):
        here = without_prefix(body, f"encoder.layer.{index}.")
        for name in ("query", "key", "value"):
            put_linear(getattr(block.attention, f"{name}_linear"), here, f"attention.self.{name}")
        put_linear(block.attention.output_linear, here, "attention.output.dense")
        put_norm(block.attention_residual.layer_norm, here, "attention.output.LayerNorm")
        put_linear(block.feed_forward.hidden, here, "intermediate.dense")
        put_linear(block.feed_forward.output_linear, here, "output.dense")
        put_norm(block.feed_forward_residual.layer_norm, here, "output.LayerNorm")
    if model.pooler is not None:
        put_linear(model.pooler.linear, body, "pooler.dense")
    if model.config.head == "masked_lm":
        put_linear(model.head.transform, weights, "cls.predictions.transform.dense")
        put_norm(model.head.layer_norm, weights, "cls.predictions.transform.LayerNorm")
        model.head.bias.assign(weights["cls.predictions.bias"])
    elif model.head is not None:
        name = "qa_outputs" if model.config.head == "spans" else "classifier"
        put_linear(model.head.linear, weights, name)


def load_gpt2(model: DecoderOnly, weights: Weights) -> None:
    """Puts a GPT-2's weights into a decoder: its linear layers are `(in, out)`, as ours are."""
    body = without_prefix(weights, "transformer.")
    embeddings: Any = model.embeddings
    embeddings.tokens.matrix.assign(body["wte.weight"])
    embeddings.positions.matrix.assign(body["wpe.weight"])
    for index, block in enumerate(model.decoder_stack.blocks):
        here = without_prefix(body, f"h.{index}.")
        put_norm(block.self_attention_residual.layer_norm, here, "ln_1")
        put_norm(block.feed_forward_residual.layer_norm, here, "ln_2")
        attention = block.self_attention
        kernels = np.split(here["attn.c_attn.weight"], 3, axis=1)
        biases = np.split(here["attn.c_attn.bias"], 3)
        for name, kernel, bias in zip(("query", "key", "value"), kernels, biases, strict=True):
            linear = getattr(attention, f"{name}_linear")
            linear.kernel.assign(kernel)
            linear.bias.assign(bias)
        for linear, name in (
            (attention.output_linear, "attn.c_proj"),
            (block.feed_forward.hidden, "mlp.c_fc"),
            (block.feed_forward.output_linear, "mlp.c_proj"),
        ):
            put_linear(linear, here, name, transposed=False)
    put_norm(model.decoder_stack.final_norm, body, "ln_f")


def load_llama(model: DecoderOnly, weights: Weights) -> None:
    """Puts a Llama's weights into a decoder, whose head is not tied."""
    body = without_prefix(weights, "model.")
    model.embeddings.tokens.matrix.assign(body["embed_tokens.weight"])
    for index, block in enumerate(model.decoder_stack.blocks):
        here = without_prefix(body, f"layers.{index}.")
        put_norm(block.self_attention_residual.layer_norm, here, "input_layernorm")
        put_norm(block.feed_forward_residual.layer_norm, here, "post_attention_layernorm")
        for linear, name in (
            (block.self_attention.query_linear, "self_attn.q_proj"),
            (block.self_attention.key_linear, "self_attn.k_proj"),
            (block.self_attention.value_linear, "self_attn.v_proj"),
            (block.self_attention.output_linear, "self_attn.o_proj"),
            (block.feed_forward.hidden, "mlp.gate_proj"),
            (block.feed_forward.gate, "mlp.up_proj"),
            (block.feed_forward.output_linear, "mlp.down_proj"),
        ):
            put_linear(linear, here, name)
    put_norm(model.decoder_stack.final_norm, body, "norm")
    put_linear(model.head.linear, weights, "lm_head")


def load_t5(model: Transformer, weights: Weights) -> None:
    """Puts a T5's weights into an encoder-decoder whose head is tied.

    Theirs divides the states in front of the head by √d; here the last norm's γ is divided.
    """
    model.source_embeddings.tokens.matrix.assign(weights["shared.weight"])
    for side, stack in (("encoder", model.encoder_stack), ("decoder", model.decoder_stack)):
        body = without_prefix(weights, f"{side}.")
        bias = body["block.0.layer.0.SelfAttention.relative_attention_bias.weight"]
        stack.relative.matrix.assign(bias)  # type: ignore[union-attr]
        for index, block in enumerate(stack.blocks):
            for place, part in enumerate(block.sub_layers):
                here = without_prefix(body, f"block.{index}.layer.{place}.")
                put_norm(part.residual.layer_norm, here, "layer_norm")
                layer: Any = part.layer
                if part.attends_to is None:
                    put_linear(layer.hidden, here, "DenseReluDense.wi")
                    put_linear(layer.output_linear, here, "DenseReluDense.wo")
                    continue
                kind = "SelfAttention" if part.attends_to == "own" else "EncDecAttention"
                for name in ("query", "key", "value", "output"):
                    put_linear(getattr(layer, f"{name}_linear"), here, f"{kind}.{name[0]}")
        put_norm(stack.final_norm, body, "final_layer_norm")
    gamma: Any = model.decoder_stack.final_norm.gamma  # type: ignore[union-attr]
    gamma.assign(gamma * model.config.model_dim**-0.5)


def without_prefix(weights: Weights, prefix: str) -> dict[str, Array]:
    """Returns the weights under a prefix without it; all of them if there are none."""
    found = {
        name.removeprefix(prefix): array
        for name, array in weights.items()
        if name.startswith(prefix)
    }
    return found or dict(weights)


def put_linear(linear: Any, weights: Weights, name: str, *, transposed: bool = True) -> None:
    """Assigns a linear layer's kernel and, if it has one, its bias."""
    kernel = weights[f"{name}.weight"]
    linear.kernel.assign(kernel.T if transposed else kernel)
    if linear.use_bias:
        linear.bias.assign(weights[f"{name}.bias"])


def put_norm(norm: Any, weights: Weights, name: str) -> None:
    """Assigns a norm's γ and, if it has one, its β."""
    norm.gamma.assign(weights[f"{name}.weight"])
    if hasattr(norm, "beta"):
        norm.beta.assign(weights[f"{name}.bias"])
