"""Shared by the command-line tests: a way to call it, and a translator that needs no model."""

import dataclasses
import io
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from keras_transformer.cli import main
from keras_transformer.config import TransformerConfig
from keras_transformer.search.options import Hypothesis


@dataclasses.dataclass
class Result:
    """What one call of the command line left behind."""

    code: int
    out: str
    err: str


@pytest.fixture
def run_cli(
    monkeypatch: pytest.MonkeyPatch, capfdbinary: pytest.CaptureFixture[bytes]
) -> Callable[..., Result]:
    """Runs `keras-transformer` in this process, with bytes as its standard input."""
    monkeypatch.delenv("KERAS_TRANSFORMER_DEBUG", raising=False)

    def run(*arguments: object, stdin: bytes = b"") -> Result:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        capfdbinary.readouterr()
        code = main([str(argument) for argument in arguments])
        captured = capfdbinary.readouterr()
        return Result(code, captured.out.decode("utf-8"), captured.err.decode("utf-8"))

    return run


@pytest.fixture
def finished_run(tmp_path: Path) -> Path:
    """A run directory as far as it is looked at before TensorFlow is loaded."""
    run = tmp_path / "finished_run"
    run.mkdir()
    config = TransformerConfig.preset("tiny", vocab_size=20)
    (run / "config.json").write_text(config.to_json(), encoding="utf-8")
    (run / "model.keras").touch()
    return run


class ShoutingTranslator:
    """Translates to upper case; remembers the blocks and search options it was called with."""

    min_score = None

    def __init__(self) -> None:
        self.blocks: list[list[str]] = []
        self.search: list[dict] = []

    def translate(self, texts: Sequence[str], **search: object) -> list[str]:
        return [best[0].text for best in self.translate_n_best(texts, **search)]

    def translate_n_best(self, texts: Sequence[str], **search: object) -> list[list[Hypothesis]]:
        self.blocks.append(list(texts))
        self.search.append(search)
        count = int(search.get("num_hypotheses", 1))
        return [[self._hypothesis(text, rank) for rank in range(count)] for text in texts]

    def _hypothesis(self, text: str, rank: int) -> Hypothesis:
        low = self.min_score is not None and "?" in text
        return Hypothesis(text.upper() + "!" * rank, [], -0.5 - rank, -1.0 - rank, None, low)


@pytest.fixture
def translator(monkeypatch: pytest.MonkeyPatch) -> ShoutingTranslator:
    """Stands in for the model of `translate` and `evaluate`."""
    shouting = ShoutingTranslator()
    for command in ("translate", "evaluate"):
        monkeypatch.setattr(
            f"keras_transformer.cli.commands.{command}.open_translator", lambda *_, **__: shouting
        )
    return shouting
