"""The loss of quantisation on calibration texts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keras_transformer.artefact.files import ArtefactFiles
from keras_transformer.artefact.manifest import Manifest
from keras_transformer.config.encoder_only import EncoderConfig
from keras_transformer.config.families import ModelConfig
from keras_transformer.export.onnx.calibrate.rows import Arrays, answer
from keras_transformer.export.onnx.check.running import CheckedGraph
from keras_transformer.export.onnx.graphs.specs import graph_specs
from keras_transformer.search.confidence import perplexity


@dataclass(frozen=True)
class Loss:
    """A quantised model beside the float32 one.

    Attributes:
        value: The relative growth of the perplexity of tokens over float32's; for an encoder, 1
            minus the mean cosine of its vectors to float32's.
        text: The same as a sentence.
    """

    value: float
    text: str

    @classmethod
    def of_tokens(cls, exact: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> "Loss":
        """Compares the log-probabilities of each text's tokens."""
        tokens = sum(map(len, exact))
        of_exact, of_found = (
            float(np.concatenate(one).sum(dtype=np.float64)) for one in (exact, found)
        )
        before, after = perplexity(of_exact, tokens), perplexity(of_found, tokens)
        value = perplexity(of_found - of_exact, tokens) - 1
        return cls(
            value,
            f"perplexity of {tokens} tokens {before:.3f} in float32, {after:.3f} quantised "
            f"({value:+.2%})",
        )

    @classmethod
    def of_vectors(cls, exact: Sequence[np.ndarray], found: Sequence[np.ndarray]) -> "Loss":
        """Compares vectors `(count, width)` of each text."""
        before, after = np.concatenate(exact), np.concatenate(found)
        sizes = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
        cosine = float(np.mean((before * after).sum(axis=1) / np.maximum(sizes, 1e-30)))
        return cls(1 - cosine, f"mean cosine of {len(before)} vectors to float32's {cosine:.5f}")


def measure_loss(
    config: ModelConfig,
    manifest: Manifest,
    files: ArtefactFiles,
    rows: Sequence[Arrays],
    exact: Sequence[np.ndarray],
) -> Loss:
    """Runs an artefact's graphs on texts, for each of its targets, and returns the largest loss.

    Args:
        config: The model's.
        manifest: The artefact's contract.
        files: Its files.
        rows: The texts, from `text_rows`.
        exact: The float32 graphs' answers.
    """
    compare = Loss.of_vectors if isinstance(config, EncoderConfig) else Loss.of_tokens
    targets = (manifest.of_target(target) for target in manifest.targets)
    losses = [compare(exact, _answers(config, one, files, rows)) for one in targets]
    return max(losses, key=lambda loss: loss.value)


def check_loss(loss: Loss, limit: float | None) -> None:
    """Raises a ValueError if a loss is above a limit."""
    # Written so that NaN is refused too.
    if limit is not None and not loss.value <= limit:
        raise ValueError(
            f"quantisation loses more than max_loss ({limit:g}) on the calibration text: "
            f"{loss.text}. Nothing was exported: raise the limit, calibrate on more text, or "
            "choose another precision."
        )


def _answers(
    config: ModelConfig, manifest: Manifest, files: ArtefactFiles, rows: Sequence[Arrays]
) -> list[np.ndarray]:
    opened: dict[str, CheckedGraph] = {}

    def run(name: str, inputs: Arrays) -> Arrays:
        if name not in opened:
            opened[name] = CheckedGraph(manifest, files, name)
        return opened[name].run(inputs)

    return [answer(config, graph_specs(config), run, row) for row in rows]
