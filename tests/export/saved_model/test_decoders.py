"""SavedModels of decoders: what they answer, beside the Keras generator, how they load, what they
say of themselves, and what is refused.
"""

import dataclasses
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from saved_models import (
    answered_warmup,
    description_of,
    flat,
    operators_of,
    read_graph,
    read_signatures,
)

from keras_transformer.artefact.search_signatures import (
    AnswerSizes,
    generator_id_signatures,
    generator_text_signatures,
)
from keras_transformer.config.decoder_only import DecoderConfig
from keras_transformer.decoding.generator import Generator
from keras_transformer.export import export_saved_model
from keras_transformer.models.decoder_only import build_decoder
from keras_transformer.text.tokenizer import Tokenizer

PROMPTS = ["the red", "", "hello ", "a small house stands by the river and the birds are blue"]
LONG = "the red dog runs to the house and we see three birds by the river of a small book"
LEARNED = {"max_positions": 20}
MODERN = {
    "positions": "none",
    "max_positions": None,
    "rotary_base": 100.0,
    "norm_kind": "rms_norm",
    "gated_feed_forward": True,
    "use_bias": False,
    "num_key_value_heads": 1,
    "query_key_norm": True,
    "window": 3,
    "attention_soft_cap": 0.5,
    "final_logit_soft_cap": 3.0,
    "starts_prompts": False,
}
BEAM = {"beam_size": 2, "num_hypotheses": 2, "max_length": 6}
GREEDY = {"max_length": 7, "repetition_penalty": 1.3, "min_length": 2}


@dataclasses.dataclass(frozen=True)
class Served:
    """A SavedModel in a session, what it was made of, and the Keras generator beside it."""

    path: Path
    model: Any
    search: dict[str, Any]
    generator: Any
    run: Callable[..., dict[str, np.ndarray]]


@pytest.fixture(scope="module")
def make_decoder(randomize: Callable[..., Any]) -> Callable[..., Any]:
    """`make_decoder(**fields)`: a random decoder, 8 wide."""

    def make(**fields: Any) -> Any:
        sizes = {
            "vocab_size": 60,
            "model_dim": 8,
            "feed_forward_dim": 12,
            "num_heads": 2,
            "num_layers": 1,
        }
        return randomize(build_decoder(DecoderConfig(**{**sizes, **fields})))

    return make


@pytest.fixture(scope="module")
def serve_decoder(
    make_decoder: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path_factory: pytest.TempPathFactory,
    open_session: Callable[[Path], Any],
) -> Callable[..., Served]:
    """`serve_decoder(kind)`: "text" has learned positions and beams, "ids" is modern and greedy."""
    made: dict[str, Served] = {}

    def serve(kind: Any) -> Served:
        if kind not in made:
            fields, search = {"text": (LEARNED, BEAM), "ids": (MODERN, GREEDY)}[kind]
            model = make_decoder(**fields)
            path = export_saved_model(
                model,
                tmp_path_factory.mktemp("decoder") / "demo",
                tokenizer=tokenizer,
                signatures=kind,
                max_source_length=16,
                **search,
            )
            generator = Generator(model, tokenizer, max_text_length=16, long_texts="cut")
            made[kind] = Served(path, model, search, generator, open_session(path))
        return made[kind]

    return serve


@pytest.mark.exhaustive
def test_generate_n_best_gives_all_continuations(serve_decoder: Callable[..., Any]) -> None:
    served = serve_decoder("text")
    prompts = [*PROMPTS, LONG, "new\nline", "tab\t"]
    found = served.run("generate_n_best", prompt=prompts)
    wanted = served.generator.generate_n_best(prompts, **served.search)
    for row, few in enumerate(wanted):
        assert [text.decode() for text in found["texts"][row]] == [one.text for one in few]
        for name, values in (
            ("scores", [one.score for one in few]),
            ("log_probabilities", [one.log_probability for one in few]),
        ):
            np.testing.assert_allclose(found[name][row], values, atol=1e-4)


@pytest.mark.parametrize("signature", ["serving_default", "generate"])
def test_generate_gives_the_best_continuation(
    serve_decoder: Callable[..., Any], signature: str
) -> None:
    served = serve_decoder("text")
    found = served.run(signature, prompt=PROMPTS)
    best = [few[0] for few in served.generator.generate_n_best(PROMPTS, **served.search)]
    assert [text.decode() for text in found["text"]] == [one.text for one in best]
    np.testing.assert_allclose(found["score"], [one.score for one in best], atol=1e-4)


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_generate_ids_gives_the_new_ids(
    serve_decoder: Callable[..., Any], kind: str, tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder(kind)
    rows = tokenizer.encode([*PROMPTS, LONG])
    found = served.run("generate_ids", prompt_ids=pad(rows))
    assert found["ids"].shape == (len(rows), served.search["max_length"])
    for row, [best, *_] in enumerate(served.generator.generate_ids(rows, **served.search)):
        assert np.trim_zeros(found["ids"][row]).tolist() == best.ids
        assert found["score"][row] == pytest.approx(best.score, abs=1e-4)
        assert found["log_probability"][row] == pytest.approx(best.log_probability, abs=1e-4)


def test_xla_compiles_generate_ids(
    serve_decoder: Callable[..., Any], tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder("ids")
    ids = pad(tokenizer.encode(PROMPTS))
    loaded = tf.saved_model.load(str(served.path))
    generate = loaded.signatures["generate_ids"]
    compiled = tf.function(lambda rows: generate(prompt_ids=rows), jit_compile=True)
    found, wanted = compiled(tf.constant(ids)), served.run("generate_ids", prompt_ids=ids)
    np.testing.assert_array_equal(found["ids"], wanted["ids"])
    np.testing.assert_allclose(found["score"], wanted["score"], atol=1e-4)


def test_each_row_has_its_own_options(serve_decoder: Callable[..., Any]) -> None:
    served = serve_decoder("text")
    prompts, lengths, penalties = PROMPTS[:2], [3, 99], [2.0, -1.0]
    found = served.run(
        "generate_with_options",
        prompt=prompts,
        max_length=np.array(lengths, np.int32),
        length_penalty=np.array(penalties, np.float32),
    )
    for row, (prompt, length, penalty) in enumerate(zip(prompts, lengths, penalties, strict=True)):
        own = {"max_length": min(length, 6), "length_penalty": max(penalty, 0.0)}
        [[best, *_]] = served.generator.generate_n_best([prompt], **{**served.search, **own})
        assert found["text"][row].decode() == best.text
        assert found["score"][row] == pytest.approx(best.score, abs=1e-4)


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_score_tells_how_probable_texts_are(
    serve_decoder: Callable[..., Any], kind: str, tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder(kind)
    texts = [*PROMPTS, LONG]
    given = {"text": texts} if kind == "text" else {"token_ids": pad(tokenizer.encode(texts))}
    found = served.run("score", **given)
    wanted = served.generator.score(texts)
    np.testing.assert_allclose(found["score"], [one.score for one in wanted], atol=1e-4)
    totals = [one.log_probability for one in wanted]
    np.testing.assert_allclose(found["log_probability"], totals, atol=1e-4)
    perplexities = served.generator.perplexity(texts)
    np.testing.assert_allclose(found["perplexity"], perplexities, rtol=1e-4)


def test_a_row_does_not_depend_on_the_others(
    serve_decoder: Callable[..., Any], tokenizer: Tokenizer, pad: Callable[..., Any]
) -> None:
    served = serve_decoder("ids")
    rows = tokenizer.encode(PROMPTS)
    together = served.run("generate_n_best", prompt_ids=np.pad(pad(rows), [(0, 0), (0, 3)]))
    for place, row in enumerate(rows):
        alone = served.run("generate_n_best", prompt_ids=pad([row]))
        np.testing.assert_array_equal(alone["ids"][0], together["ids"][place])
        np.testing.assert_allclose(alone["scores"][0], together["scores"][place], atol=1e-4)


def test_an_empty_batch_has_empty_answers(serve_decoder: Callable[..., Any]) -> None:
    nothing, no_ids = np.array([], object), np.zeros((0, 0), np.int32)
    numbers = {"max_length": np.zeros(0, np.int32), "length_penalty": np.zeros(0, np.float32)}
    for kind, signature, inputs in (
        ("text", "generate", {"prompt": nothing}),
        ("text", "generate_n_best", {"prompt": nothing}),
        ("text", "generate_with_options", {"prompt": nothing, **numbers}),
        ("text", "score", {"text": nothing}),
        ("ids", "generate_ids", {"prompt_ids": no_ids}),
        ("ids", "score", {"token_ids": no_ids}),
    ):
        for value in serve_decoder(kind).run(signature, **inputs).values():
            assert value.shape[0] == 0


@pytest.mark.exhaustive
def test_a_c_program_continues_texts(
    serve_decoder: Callable[..., Any], serve: Callable[..., list[str]]
) -> None:
    served = serve_decoder("text")
    prompts = ["the red", "", "hello"]
    wanted = served.generator.generate(prompts, **served.search)
    assert serve(served.path, "serving_default", "prompt", "text", prompts) == wanted


def test_a_c_program_continues_ids(
    serve_decoder: Callable[..., Any], serve: Callable[..., list[str]]
) -> None:
    served = serve_decoder("ids")
    lines = serve(served.path, "generate_ids", "prompt_ids", "ids", ["5 6 7", "9 10 11"])
    rows = served.generator.generate_ids([[5, 6, 7], [9, 10, 11]], **served.search)
    for line, [best, *_] in zip(lines, rows, strict=True):
        assert [int(token) for token in line.split()][: len(best.ids)] == best.ids


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_the_signatures_are_as_declared(serve_decoder: Callable[..., Any], kind: str) -> None:
    served = serve_decoder(kind)
    sizes = AnswerSizes(
        num_hypotheses=served.search.get("num_hypotheses", 1),
        max_length=served.search["max_length"],
    )
    declared = {"text": generator_text_signatures, "ids": generator_id_signatures}[kind](sizes)
    assert read_signatures(served.path) == flat(declared)


@pytest.mark.parametrize("kind", ["text", "ids"])
def test_the_graph_holds_the_decode_step_once_and_what_every_server_runs(
    serve_decoder: Callable[..., Any], kind: str
) -> None:
    served = serve_decoder(kind)
    graph = read_graph(served.path).graph_def
    softmaxes = [
        sum(node.op == "Softmax" for node in one.node_def) for one in graph.library.function
    ]
    operators = operators_of(served.path)
    assert not [one for one in operators if one.startswith("Xla") or "PyFunc" in one]
    assert operators.count("VarHandleOp") == len(served.model.weights)
    # The decoder is there again for `score`, which reads whole texts at once, and for prompts, but
    # with a penalty on repetition, which goes from token to token.
    times = {"text": 3, "ids": 2}[kind]
    assert [count for count in softmaxes if count] == [served.model.config.num_layers] * times
    sentencepiece = {name for name in operators if not hasattr(tf.raw_ops, name)}
    assert bool(sentencepiece) == (kind == "text")


def test_the_description_and_the_warm_up_fit(serve_decoder: Callable[..., Any]) -> None:
    served = serve_decoder("text")
    described = description_of(served.path)
    assert described["config"] == json.loads(served.model.config.to_json())
    assert (described["search"]["beam_size"], described["max_source_length"]) == (2, 16)
    asked = {spec.signature_name for spec, _ in answered_warmup(served.path, served.run)}
    names = {"generate", "generate_n_best", "generate_with_options", "score", "generate_ids"}
    assert asked == {"serving_default", *names}


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"sample": True}, ValueError, "sample=True cannot be exported"),
        ({"max_length_ratio": 2.0}, ValueError, "max_length_ratio is for translations"),
        ({"target_language": "de"}, ValueError, "target_language is for translations, .* got 'de'"),
        ({"min_score": -1.0}, ValueError, "min_score is for translations"),
        ({"banned_sequences": [[60]]}, ValueError, "banned_sequences names token 60"),
        ({"beam_size": 0}, ValueError, "beam_size must be at least 1, got 0"),
        ({"beams": 4}, TypeError, "beams"),
    ],
    ids=str,
)
def test_wrong_options_are_named(
    make_decoder: Callable[..., Any],
    tokenizer: Tokenizer,
    tmp_path: Path,
    options: dict[str, Any],
    kind: type[Exception],
    message: str,
) -> None:
    with pytest.raises(kind, match=message):
        export_saved_model(make_decoder(), tmp_path, tokenizer=tokenizer, **options)
    assert os.listdir(tmp_path) == []
