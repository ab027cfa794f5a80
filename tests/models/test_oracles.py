"""Our models against Hugging Face transformers: `make oracles` wrote what theirs compute."""

import numpy as np
import pytest

from tools.oracles.weights import NAMES, Oracle, load_oracle


@pytest.fixture(scope="module", params=NAMES)
def oracle(request: pytest.FixtureRequest) -> Oracle:
    """Each oracle in turn."""
    return load_oracle(request.param)


def test_there_are_oracles_of_every_kind() -> None:
    heads = {f"bert_{head}" for head in ("masked_lm", "classification", "tagging", "spans")}
    assert {"bert", "gpt2", "llama", "t5", *heads} <= set(NAMES)


def test_outputs_equal_theirs(oracle: Oracle) -> None:
    outputs = oracle.model(oracle.inputs)
    outputs = outputs if isinstance(outputs, dict) else {"outputs": outputs}
    for name, found in outputs.items():
        theirs, ours = oracle.outputs[name], np.asarray(found)
        assert ours.shape == theirs.shape
        if ours.ndim == 3:
            ours, theirs = ours[oracle.keep], theirs[oracle.keep]
        assert np.abs(theirs).max() > 0.3
        np.testing.assert_allclose(ours, theirs, atol=1e-4)


def test_the_states_of_every_layer_equal_theirs() -> None:
    oracle = load_oracle("bert")
    layers = oracle.model.hidden_states(oracle.inputs)
    assert len(layers) == 3  # The embeddings', and each block's.
    for place, states in enumerate(layers):
        theirs = oracle.outputs[f"hidden_{place}"][oracle.keep]
        np.testing.assert_allclose(np.asarray(states)[oracle.keep], theirs, atol=1e-4)


@pytest.mark.parametrize("name", ["gpt2", "llama"])
def test_cached_steps_equal_theirs(name: str) -> None:
    oracle = load_oracle(name)
    ids, caches = oracle.inputs["token_ids"], oracle.model.empty_caches(3, 8)
    for step in range(8):
        logits, caches = oracle.model.decode_step(ids[:, step], step, caches)
        real = oracle.keep[:, step]
        theirs = oracle.outputs["outputs"][real, step]
        np.testing.assert_allclose(np.asarray(logits)[real], theirs, atol=1e-4)
