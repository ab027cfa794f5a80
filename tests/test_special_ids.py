"""Special ids in any order through the whole path: a model whose vocabulary is renumbered does the
same with other numbers: on Keras, in every target of the ONNX export, in server and SavedModel.
"""

import dataclasses
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sentencepiece
from served_models import answer, open_served

from keras_transformer.config import SpecialIds
from keras_transformer.decoding.translator import Translator
from keras_transformer.export import OnnxTranslator, export_onnx, export_saved_model
from keras_transformer.text.tokenizer import Tokenizer

# pad, unk, bos, eos as SentencePiece takes them; -1 for none.
ORDERS = {
    "any order": (7, 0, 4, 2),
    "SentencePiece's own": (-1, 0, 1, 2),
    "T5's": (0, 2, -1, 1),
}
# Instead of what the vocabulary's would be.
STARTS: dict[str, Callable[[SpecialIds], int]] = {
    "begin": lambda ids: ids.decoder_start,
    "padding": lambda ids: ids.pad,
    "a language": lambda ids: 11,
}
CASES = [
    ("any order", "a language"),
    pytest.param(("SentencePiece's own", "begin"), marks=pytest.mark.exhaustive),
    pytest.param(("T5's", "padding"), marks=pytest.mark.exhaustive),
]
SEARCHES: list[dict[str, Any]] = [
    {"max_length": 20},
    {"beam_size": 4, "num_hypotheses": 4, "no_repeat_ngram_size": 2, "min_length": 3},
    {"sample": True, "num_hypotheses": 2, "seed": 3},
]
SEARCHES = [{"max_length": 12, **search} for search in SEARCHES]


@dataclasses.dataclass(frozen=True)
class Renumbered:
    """A model with special ids of its own, and what Keras makes of the texts."""

    model: Any
    tokenizer: Tokenizer
    sources: list[list[int]]
    found: list[Any]


def spm_model(texts: list[str], ids: tuple[int, ...]) -> bytes:
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(texts),
        model_writer=writer,
        vocab_size=60,
        model_type="bpe",
        minloglevel=2,
        **dict(zip(("pad_id", "unk_id", "bos_id", "eos_id"), ids, strict=True)),
    )
    return writer.getvalue()


@pytest.fixture(scope="module", params=CASES, ids=" from ".join)
def renumbered(
    request: pytest.FixtureRequest,
    make_model: Callable[..., Any],
    randomize: Callable[..., Any],
    as_t5: dict[str, Any],
    texts: list[str],
) -> Renumbered:
    order, start = request.param
    tokenizer = Tokenizer(spm_model(texts, ORDERS[order]))
    ids = tokenizer.special_ids
    ids = dataclasses.replace(ids, decoder_start=STARTS[start](ids))
    size = tokenizer.vocab_size
    blocks = as_t5 if order == "T5's" else {}
    fields = {"source_vocab_size": size, "special_ids": ids, **blocks}
    model = randomize(make_model(**fields), scale=0.3)
    sources = tokenizer.encode(texts)
    translator = Translator(model, tokenizer)
    found = [translator.translate_ids(sources, **search) for search in SEARCHES]
    return Renumbered(model, tokenizer, sources, found)


def ids_of(found: Any) -> list[list[list[int]]]:
    return [[list(one[0]) for one in few] for few in found]


def test_special_ids_are_not_generated(renumbered: Renumbered) -> None:
    never = renumbered.model.config.special_ids.added_to_text
    for found in renumbered.found:
        assert not never & {token for few in ids_of(found) for row in few for token in row}


@pytest.mark.exhaustive
def test_the_numbers_of_ids_mean_nothing(
    renumbered: Renumbered, make_model: Callable[..., Any]
) -> None:
    """Ids moved up by one, in matrices and texts, give the same translations moved up by one."""
    config = renumbered.model.config
    up = (np.arange(config.source_vocab_size) + 1) % config.source_vocab_size
    moved_ids = SpecialIds(
        **{
            name: None if i is None else int(up[i])
            for name, i in config.special_ids.to_dict().items()
        }
    )
    fields = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    moved = make_model(**{**fields, "special_ids": moved_ids})
    matrix = moved.source_embeddings.tokens.matrix
    moved.set_weights(renumbered.model.get_weights())
    matrix.assign(np.roll(np.asarray(matrix), 1, axis=0))
    sources = [up[row].tolist() for row in renumbered.sources]
    translator = Translator(moved, renumbered.tokenizer)
    # Ties and samples depend on the order of ids.
    for search, found in zip(SEARCHES[:2], renumbered.found[:2], strict=True):
        expected = [[up[np.array(row, int)].tolist() for row in few] for few in ids_of(found)]
        assert ids_of(translator.translate_ids(sources, **search)) == expected


def served_ids(artefact: Path, renumbered: Renumbered) -> list[list[int]]:
    """What the server answers to padded rows of ids, without padding."""
    pad = renumbered.model.config.special_ids.pad
    model = open_served(artefact, SEARCHES[0])
    found = answer(model, "translate_ids", source_ids=padded(renumbered.sources, pad))["ids"]
    model.close()
    return [[token for token in row if token != pad] for row in found.tolist()]


def padded(rows: list[list[int]], pad: int) -> np.ndarray:
    longest = max(map(len, rows))
    return np.array([[*row, *[pad] * (longest - len(row))] for row in rows], np.int32)


@pytest.mark.parametrize("target", ["onnxruntime", "native"])
def test_emitted_graphs_translate_as_keras(
    renumbered: Renumbered, target: str, tmp_path: Path
) -> None:
    check_export(renumbered, target, tmp_path)


# Slow to export; the model's own functions, of which padding at the start takes the longest way.
@pytest.mark.exhaustive
@pytest.mark.parametrize("renumbered", [("T5's", "padding")], indirect=True)
def test_portable_graphs_translate_as_keras(renumbered: Renumbered, tmp_path: Path) -> None:
    check_export(renumbered, "portable", tmp_path)


def check_export(renumbered: Renumbered, target: str, tmp_path: Path) -> None:
    export_onnx(renumbered.model, renumbered.tokenizer, tmp_path / "a", target=target)
    with OnnxTranslator(tmp_path / "a", threads=1) as translator:
        assert translator.manifest.special_ids == renumbered.model.config.special_ids
        for search, found in zip(SEARCHES, renumbered.found, strict=True):
            assert ids_of(translator.translate_ids(renumbered.sources, **search)) == ids_of(found)
        targets = [row[:5] for [row, *_] in ids_of(renumbered.found[0])]
        texts = renumbered.tokenizer.decode(targets)
        keras_side = Translator(renumbered.model, renumbered.tokenizer)
        sources = renumbered.tokenizer.decode(renumbered.sources)
        ours, theirs = (one.score(sources, texts) for one in (translator, keras_side))
    np.testing.assert_allclose(
        [one.log_probability for one in ours],
        [one.log_probability for one in theirs],
        rtol=1e-5,
        atol=1e-4,
    )
    assert served_ids(tmp_path / "a", renumbered) == [
        best for [best, *_] in ids_of(renumbered.found[0])
    ]


@pytest.mark.exhaustive
def test_a_saved_model_translates_as_keras(renumbered: Renumbered, tmp_path: Path) -> None:
    import tensorflow as tf

    path = export_saved_model(
        renumbered.model, tmp_path / "served", tokenizer=renumbered.tokenizer, **SEARCHES[0]
    )
    loaded = tf.saved_model.load(str(path))
    pad = renumbered.model.config.special_ids.pad
    rows = tf.constant(padded(renumbered.sources, pad))
    found = loaded.signatures["translate_ids"](source_ids=rows)["ids"]
    ids = [[token for token in row if token != pad] for row in found.numpy().tolist()]
    assert ids == [best for [best, *_] in ids_of(renumbered.found[0])]


def test_padding_changes_nothing_where_decoding_starts_with_it(
    make_model: Callable[..., Any], randomize: Callable[..., Any]
) -> None:
    model = randomize(make_model(special_ids=SpecialIds(decoder_start=SpecialIds.pad)))
    source, target = np.array([[5, 6, 3]]), np.array([[0, 7, 8]])
    alone = model({"source_ids": source, "target_ids": target})
    longer = {"source_ids": np.pad(source, ((0, 0), (0, 2)))}
    padded = model({**longer, "target_ids": np.pad(target, ((0, 0), (0, 3)))})
    np.testing.assert_allclose(padded[:, :3], alone, rtol=1e-5, atol=1e-5)
    # The start token is read as any other: without it the rest would see something else.
    other = model({"source_ids": source, "target_ids": np.array([[9, 7, 8]])})
    assert np.abs(np.asarray(other - alone))[:, 1:].max() > 1e-3


def test_marks_of_terms_are_read_and_never_generated() -> None:
    ids = SpecialIds(slots=(4,), term_marks=(5, 6))
    assert ids.never_generated == SpecialIds().never_generated | {5, 6}
    assert SpecialIds(**ids.to_dict()) == ids and "term_marks" not in SpecialIds().to_dict()
    with pytest.raises(ValueError, match="slots, term_marks must be different ids"):
        SpecialIds(slots=(4,), term_marks=(4, 5))
