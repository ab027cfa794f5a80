"""Every kind of model, exported for every target, translates as it does in Keras: a few small
models that hold each choice of the config at least once."""

import random
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

from keras_transformer.config import SpecialIds
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import Manifest, OnnxTranslator, export_onnx
from keras_transformer.export.onnx.heads import screening
from keras_transformer.runtime.onnx_graphs.cache import BLOCK_TOKENS
from keras_transformer.text.tokenizer import Tokenizer, train_tokenizer
from tools.covering import some

# With blocks of 24 and one id over, the candidates are searched by blocks.
LARGE_VOCABULARY = 601
AS_T5 = "relative bias, RMSNorm, no positions, decoding from padding"
VARIANTS: dict[str, dict[str, Any]] = {
    "pre-norm, two vocabularies, learned positions": {
        "norm": "pre",
        "share_embeddings": "target",
        "target_vocab_size": 50,
        "positions": "learned",
        "max_positions": 40,
        "activation": "gelu",
        # 18 wide together, not model_dim.
        "num_heads": 3,
        "key_dim": 6,
        "value_dim": 6,
    },
    "post-norm, three embeddings, large vocabulary": {
        "share_embeddings": "none",
        "target_vocab_size": LARGE_VOCABULARY,
        "activation": "swish",
        "num_encoder_layers": 2,
        "num_decoder_layers": 1,
    },
    "pre-norm, one head, other widths of keys and values": {
        "norm": "pre",
        "num_heads": 1,
        "key_dim": 5,
        "value_dim": 7,
        "num_decoder_layers": 1,
    },
    "post-norm, three heads, other widths of keys and values": {
        "num_heads": 3,
        "key_dim": 8,
        "value_dim": 5,
    },
    "pre-norm, rotary positions": {"norm": "pre", "rotary_base": 100.0, "positions": "none"},
    AS_T5: {"special_ids": SpecialIds(decoder_start=SpecialIds.pad), "num_encoder_layers": 2},
}
FALLBACK = (
    "key_dim ({key_dim}) differs from value_dim ({value_dim}), but this package's attention "
    "operators need them to be equal"
)
# As with a vocabulary that is large enough for it.
SCREENED = "screened"
CASES = [
    *some(
        ((one, form) for one in VARIANTS for form in ("onnxruntime", SCREENED, "native")),
        ("post-norm, three embeddings, large vocabulary", SCREENED),
    ),
    # tf2onnx takes its time: test_export and test_portable have one of its artefacts.
    *(pytest.param((variant, "portable"), marks=pytest.mark.exhaustive) for variant in VARIANTS),
]
SEARCHES: list[dict[str, Any]] = [
    {"max_length": 3 * BLOCK_TOKENS},
    {"beam_size": 4, "num_hypotheses": 4, "max_length": 3 * BLOCK_TOKENS},
]


class Variant:
    """A model of random weights, its tokenizers, and what Keras makes of the texts."""

    def __init__(self, model: Any, source: Tokenizer, target: Tokenizer, texts: list[str]) -> None:
        self.model, self.source, self.target = model, source, target
        self.sources = source.encode(texts)
        translator = Translator(model, source, target)
        self.found = [translator.translate_ids(self.sources, **search) for search in SEARCHES]


@pytest.fixture(scope="module")
def variant(
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    as_t5: dict[str, Any],
    tokenizer: Tokenizer,
    texts: list[str],
) -> Callable[[str], Variant]:
    """`variant(name)` is made once."""
    made: dict[str, Variant] = {}

    def get(name: str) -> Variant:
        if name not in made:
            fields = {**(as_t5 if name == AS_T5 else {}), **VARIANTS[name]}
            target = target_tokenizer(fields.get("target_vocab_size"), tokenizer)
            model = randomize(make_model(**fields), scale=0.3)
            made[name] = Variant(model, tokenizer, target, texts)
        return made[name]

    return get


def target_tokenizer(vocabulary: int | None, source: Tokenizer) -> Tokenizer:
    """A tokenizer of as many ids, of words that were made up."""
    if vocabulary is None:
        return source
    letters = random.Random(0)
    words = ["".join(letters.choices("abcdefghijklmnoprstuvw", k=6)) for _ in range(800)]
    texts = [" ".join(words[start : start + 8]) for start in range(0, len(words), 8)]
    return train_tokenizer(texts, vocabulary, "bpe")


@pytest.fixture(scope="module")
def export(
    variant: Callable[[str], Variant], tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str, str], Path]:
    """`export(name, target)` gives the path of a variant's artefact, made once."""

    @cache
    def exported(name: str, target: str) -> Path:
        made, path = variant(name), tmp_path_factory.mktemp("variant") / "artefact"
        other = {} if made.target is made.source else {"target_tokenizer": made.target}
        with pytest.MonkeyPatch.context() as patch:
            if target == SCREENED:
                target = "onnxruntime"
                patch.setattr(screening, "_LEAST_WEIGHTS", 0)
            return export_onnx(made.model, made.source, path, target=target, **other)

    return exported


# One artefact has the graphs for both.
TOGETHER = {"onnxruntime": "fastest", "native": "fastest"}


@pytest.fixture(scope="module", params=CASES, ids=", ".join)
def case(
    request: pytest.FixtureRequest,
    variant: Callable[[str], Variant],
    export: Callable[[str, str], Path],
) -> tuple[Variant, OnnxTranslator]:
    """A variant and its artefact, opened."""
    name, target = request.param
    path = export(name, TOGETHER.get(target, target))
    manifest = Manifest.read(path)
    falls_back = "other widths" in name and target in ("onnxruntime", "native")
    assert manifest.fallback == (FALLBACK.format(**VARIANTS[name]) if falls_back else None)
    assert 0 < manifest.max_difference <= 1e-4
    wanted = "onnxruntime" if falls_back or target == SCREENED else target
    translator = OnnxTranslator(path, threads=1, target=wanted)
    assert translator.describe()["target"] == wanted
    return variant(name), translator


@pytest.mark.parametrize("search", range(len(SEARCHES)), ids=["greedy", "beam 4"])
def test_ids_and_scores_equal_keras(case: tuple[Variant, OnnxTranslator], search: int) -> None:
    made, translator = case
    wanted = made.found[search]
    found = translator.translate_ids(made.sources, **SEARCHES[search])
    for ours, theirs in zip(found, wanted, strict=True):
        assert [ids for ids, _, _ in ours] == [ids for ids, _, _ in theirs]
        numbers = [[one[1:] for one in few] for few in (ours, theirs)]
        np.testing.assert_allclose(*numbers, rtol=1e-5, atol=1e-4)
    # Long enough for the caches to grow.
    assert max(len(ids) for [(ids, *_), *_] in wanted) > 2 * BLOCK_TOKENS


def test_greedy_search_without_scores_finds_the_same(
    case: tuple[Variant, OnnxTranslator],
) -> None:
    made, translator = case
    found = translator.translate_ids(made.sources, return_scores=False, **SEARCHES[0])
    assert [one.ids for [one] in found] == [ids for [(ids, _, _)] in made.found[0]]


def test_scores_of_given_translations_equal_the_search_s(
    case: tuple[Variant, OnnxTranslator],
) -> None:
    made, translator = case
    cut = SEARCHES[0]["max_length"]
    ended = [
        (source, ids, total)
        for source, [(ids, _, total)] in zip(made.sources, made.found[0], strict=True)
        if len(ids) < min(cut, 40)
    ]
    sources, targets, totals = zip(*ended, strict=True) if ended else ([], [], [])
    alignments = translator._engine.align(sources, targets)
    found = [one.log_probabilities.sum() for one in alignments]
    np.testing.assert_allclose(found, totals, rtol=1e-5, atol=1e-4)


def test_a_large_vocabulary_is_searched_by_blocks(
    case: tuple[Variant, OnnxTranslator],
    export: Callable[[str, str], Path],
    request: pytest.FixtureRequest,
) -> None:
    made, translator = case
    large = made.model.config.target_vocab_size == LARGE_VOCABULARY
    name, target = request.node.callspec.params["case"]
    directory = export(name, TOGETHER.get(target, target))
    graphs = Manifest.read(directory).of_target(translator.describe()["target"]).graphs

    def operators(graph: str) -> Counter[str]:
        proto = onnx.load(directory / graphs[graph].file, load_external_data=False)
        names = [node.op_type for node in proto.graph.node]
        # What is one operator names those that it repeats.
        for attribute in (one for node in proto.graph.node for one in node.attribute):
            names += attribute.s.decode().split()
        return Counter(names)

    if target == "native" and "other widths" not in name:
        assert operators("decoder")["BestContinuationsOfFloats"] == 1
        assert operators("greedy")["BestToken"] == 1
        return
    assert operators("decoder")["TopK"] == (4 if large else 2)
    screened = target == SCREENED
    greedy = operators("greedy")
    assert greedy["MatMulInteger"] == greedy["TopK"] == int(screened)
    assert greedy["ArgMax"] == (2 if large and not screened else 1)
