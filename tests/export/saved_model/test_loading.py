"""A SavedModel loads as servers load it: without Python, without our package, and in XLA."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from fresh_process import python
from saved_models import operators_of, read_graph

from tools.covering import some

SENTENCEPIECE = {"SentencepieceOp", "SentencepieceTokenizeOp", "SentencepieceDetokenizeOp"}


def test_a_c_program_translates_text(
    text_served: Any, translators: Callable[..., Any], texts: list[str], serve: Callable[..., Any]
) -> None:
    rows = [*texts, ""]
    found = serve(text_served.path, "serving_default", "text", "translation", rows)
    assert found == translators(text_served)[1].translate(rows, **text_served.search)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", ["text_served", "ids_served"])
def test_a_c_program_translates_ids(
    request: pytest.FixtureRequest,
    name: str,
    texts: list[str],
    translators: Callable[..., Any],
    serve: Callable[..., Any],
) -> None:
    served = request.getfixturevalue(name)
    rows = served.source_tokenizer.encode(texts)
    lines = [" ".join(map(str, row)) for row in rows]
    found = serve(served.path, "translate_ids", "source_ids", "ids", lines)
    wanted = translators(request.getfixturevalue("text_served"))[1].translate_ids(
        rows, **served.search
    )
    assert [line.removesuffix(" 0").split(" 0")[0] for line in found] == [
        " ".join(map(str, few[0][0])) for few in wanted
    ]


FRESH = """
import sys

import numpy as np
import tensorflow as tf

def answer(path, name, value, output):
    signature = tf.saved_model.load(path).signatures["serving_default"]
    return signature(**{name: tf.constant(value)})[output].numpy().tolist()

given, ids, texts = eval(sys.argv[1])
found = [answer(ids, "source_ids", given[0], "ids")]
known = [sorted({"keras_transformer", "tensorflow_text"} & set(sys.modules))]
import tensorflow_text
found.append(answer(texts, "text", given[1], "translation"))
known.append(sorted({"keras_transformer", "tensorflow_text"} & set(sys.modules)))
print((found, known))
"""


@pytest.mark.exhaustive
def test_ids_need_tensorflow_only_and_text_tensorflow_text(
    ids_served: Any, text_served: Any, texts: list[str]
) -> None:
    """In a process that knows nothing of ours."""
    ids = [[5, 6, 7, 8], [9, 10, 0, 0]]
    given = ([ids, texts], str(ids_served.path), str(text_served.path))
    done = python("-c", FRESH, repr(given))
    found, known = eval(done.stdout.splitlines()[-1])
    assert found == [
        ids_served.run("serving_default", source_ids=ids)["ids"].tolist(),
        text_served.run("serving_default", text=texts)["translation"].tolist(),
    ]
    assert known == [[], ["tensorflow_text"]]


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "name", [pytest.param("text_served", marks=pytest.mark.exhaustive), "ids_served"]
)
def test_xla_compiles_translate_ids(
    request: pytest.FixtureRequest, name: str, pad: Callable[..., Any], texts: list[str]
) -> None:
    served = request.getfixturevalue(name)
    ids = pad([*served.source_tokenizer.encode(texts[:3]), []])
    loaded = tf.saved_model.load(str(served.path))
    translate = loaded.signatures["translate_ids"]
    compiled = tf.function(lambda rows: translate(source_ids=rows), jit_compile=True)
    found, wanted = compiled(tf.constant(ids)), served.run("translate_ids", source_ids=ids)
    np.testing.assert_array_equal(found["ids"], wanted["ids"])
    np.testing.assert_allclose(found["score"], wanted["score"], atol=1e-4)


@pytest.mark.parametrize(
    "name",
    ["text_served", pytest.param("other_served", marks=pytest.mark.exhaustive), "ids_served"],
)
def test_the_graph_holds_what_every_server_runs(request: pytest.FixtureRequest, name: str) -> None:
    served = request.getfixturevalue(name)
    operators = operators_of(served.path)
    assert not [one for one in operators if one.startswith("Xla") or "PyFunc" in one]
    assert operators.count("VarHandleOp") == len(served.model.weights)
    assert set(operators) & {"While", "StatelessWhile"}
    wanted = set() if name == "ids_served" else SENTENCEPIECE
    assert {one for one in operators if not hasattr(tf.raw_ops, one)} == wanted


@pytest.mark.parametrize("name", ["text_served", "ids_served"])
def test_every_input_and_output_has_the_batch_first(
    request: pytest.FixtureRequest, name: str
) -> None:
    signatures = read_graph(request.getfixturevalue(name).path).signature_def
    names = {"serving_default", "translate_ids", "translate_n_best", "score", "encode"}
    assert names | {"translate_with_options"} == {one for one in signatures if one[0] != "_"}
    for signature in names | {"translate_with_options"}:
        spec = signatures[signature]
        for tensor in (*spec.inputs.values(), *spec.outputs.values()):
            assert tensor.tensor_shape.dim[0].size == -1


@pytest.mark.parametrize("name", some(["text_served", "other_served", "ids_served"], "ids_served"))
def test_encoder_and_decode_step_stand_in_the_graph_once(
    request: pytest.FixtureRequest, name: str
) -> None:
    served = request.getfixturevalue(name)
    functions = read_graph(served.path).graph_def.library.function
    softmaxes = [sum(node.op == "Softmax" for node in function.node_def) for function in functions]
    # The decoder stands there a second time for `score`, which reads whole targets at once, and a
    # third time for prefixes, which are read at once, too.
    decoder = 2 * served.model.config.num_decoder_layers
    assert sorted(filter(None, softmaxes)) == sorted(
        [served.model.config.num_encoder_layers, *[decoder] * 3]
    )
