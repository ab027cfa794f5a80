"""The sizes that benchmarks measure are models of other engines, too."""

from types import SimpleNamespace
from typing import Any

import encoding.sizes
import generation.sizes
import pytest

from keras_transformer.export.pretrained.huggingface.write import architecture_of
from keras_transformer.export.pretrained.outgoing import Outgoing

SIZES: dict[str, Any] = {**encoding.sizes.SIZES, **generation.sizes.SIZES}


@pytest.mark.parametrize(
    ("size", "architecture"),
    [
        ("gpt2", "GPT2LMHeadModel"),
        ("llama", "LlamaForCausalLM"),
        ("qwen", "Qwen2ForCausalLM"),
        ("bert-base", "BertModel"),
        ("minilm", "BertModel"),
        ("modernbert", "ModernBertModel"),
    ],
)
def test_a_size_has_an_architecture(size: str, architecture: str) -> None:
    model = SimpleNamespace(config=SIZES[size].config)
    tokenizer: Any = SimpleNamespace(kind="sentencepiece")
    assert architecture_of(Outgoing(model, tokenizer, tokenizer)).form.name == architecture
