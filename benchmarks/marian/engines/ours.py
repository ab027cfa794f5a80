"""`OnnxTranslator` on one thread, on the artefact that was made of Marian's file."""

from pathlib import Path

from speed.serving import serve

from keras_transformer import OnnxTranslator

from ..engine import Setting, TextEngine


class Ours(TextEngine):
    """An artefact in int8."""

    def load(self, folder: str, setting: list) -> None:
        """Opens it; the one before is freed first."""
        self._translator, self._setting = None, Setting(*setting)
        name = "ours-listed" if self._setting.listed else "ours-full"
        self._translator = OnnxTranslator(Path(folder) / name, threads=1)

    def run(self, texts: list[str]) -> list[str]:
        """Translates."""
        return self._translator.translate(
            texts,
            beam_size=self._setting.beam_size,
            max_length_ratio=self._setting.ratio,
            length_penalty=0.0,
        )


if __name__ == "__main__":
    serve(Ours())
