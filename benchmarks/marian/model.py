"""Makes what both engines translate with: a random model in Marian's file, made by Marian, its
vocabulary and its shortlist, and our artefacts of the same.
"""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from sentencepiece import SentencePieceProcessor, SentencePieceTrainer

from keras_transformer.data.sources.corpus import Pairs
from keras_transformer.export import export_run
from keras_transformer.export.onnx.shortlists.model_1 import train_model_1
from keras_transformer.export.placement import placed
from keras_transformer.text.sentencepiece_messages import read_message, write_message
from keras_transformer.training.transfer.import_run import import_run

# Translators in browsers have this form: `tiny11` with SSRU.
_VOCABULARY = 32_000
_FLAGS = {
    "type": "transformer",
    "dim-emb": 256,
    "transformer-heads": 8,
    "transformer-dim-ffn": 1536,
    "enc-depth": 6,
    "dec-depth": 2,
    "tied-embeddings-all": "true",
    "transformer-ffn-activation": "relu",
    "transformer-decoder-autoreg": "rnn",
    "dec-cell": "ssru",
    "after": "1u",
    "mini-batch": 8,
    "cpu-threads": 1,
    "seed": 7,
    "workspace": 500,
    "quiet": "true",
}
_PAIRS_OF_THE_UPDATE = 64
# How many of the first ids every text gets, in both engines.
_ALWAYS = 100
# Pieces that the text has; the others are never in it.
_LEARNT = 12_000


class Model(NamedTuple):
    """Its files.

    Attributes:
        folder: Holds `model.npz`, `vocab.spm`, `list.txt` and `list.bin`, `ours-full` and
            `ours-listed`.
    """

    folder: Path

    def pieces(self) -> SentencePieceProcessor:
        """Returns its vocabulary."""
        return SentencePieceProcessor(model_file=str(self.folder / "vocab.spm"))

    @classmethod
    def make(cls, folder: Path, pairs: Pairs, marian: str, candidates: int) -> "Model":
        """Makes the files, unless they are there.

        Args:
            folder: Where to.
            pairs: What vocabulary and shortlist are learnt from.
            marian: The command of pymarian.
            candidates: How many target pieces a source piece gets.
        """
        if not folder.exists():
            with placed(folder, mark="model.npz", overwrite=False) as place:
                _make_vocabulary(place, pairs)
                _make_model(place, pairs, marian)
                _make_list(place, pairs, marian, candidates)
                import_run(place / "source", place / "run")
                for name, listed in (("full", None), ("listed", place / "list.txt")):
                    form = {"target": "native", "quantize": "int8", "shortlist": listed}
                    export_run(place / "run", place / f"ours-{name}", **form)
        return cls(folder)


def _make_vocabulary(place: Path, pairs: Pairs) -> None:
    texts = [*pairs.source, *pairs.target]
    with (place / "learnt.spm").open("wb") as file:
        SentencePieceTrainer.train(
            sentence_iterator=iter(texts),
            model_writer=file,
            vocab_size=_LEARNT,
            hard_vocab_limit=False,
            bos_id=-1,
            eos_id=0,
            unk_id=1,
            minloglevel=2,
        )
    model = read_message((place / "learnt.spm").read_bytes())
    lowest = min(piece.score for piece in model.pieces)
    while len(model.pieces) < _VOCABULARY:
        # What no text has.
        model.pieces.add(piece=f"\u2581\u2603{len(model.pieces)}", score=lowest - 1)
    model.trainer_spec.vocab_size = _VOCABULARY
    (place / "vocab.spm").write_bytes(write_message(model))


def _make_model(place: Path, pairs: Pairs, marian: str) -> None:
    few = {"few.source": pairs.source, "few.target": pairs.target}
    for name, texts in few.items():
        lines = "".join(f"{text}\n" for text in texts[:_PAIRS_OF_THE_UPDATE])
        (place / name).write_text(lines, encoding="utf-8")
    vocabulary, size = ["vocab.spm"] * 2, [str(_VOCABULARY)] * 2
    flags = [part for name, value in _FLAGS.items() for part in (f"--{name}", str(value))]
    files = ["--train-sets", *few, "--vocabs", *vocabulary, "--dim-vocabs", *size]
    _run(place, [marian, "train", "--model", "model.npz", *files, *flags])
    # The importer takes a folder of one model.
    (place / "source").mkdir()
    for name in ("model.npz", "vocab.spm"):
        (place / "source" / name).hardlink_to(place / name)


def _make_list(place: Path, pairs: Pairs, marian: str, candidates: int) -> None:
    pieces = SentencePieceProcessor(model_file=str(place / "vocab.spm"))
    rows = pieces.encode(list(pairs.source)), pieces.encode(list(pairs.target))
    best = train_model_1(*rows, _VOCABULARY, _VOCABULARY).best(candidates, _VOCABULARY)
    # Only the order of the probabilities matters.
    lines = [
        f"{pieces.id_to_piece(int(target))} {pieces.id_to_piece(source)} {1 / (rank + 2):.6f}\n"
        for source, targets in enumerate(best)
        for rank, target in enumerate(targets)
    ]
    (place / "list.txt").write_text("".join(lines), encoding="utf-8")
    sizes = ["list.txt", str(_ALWAYS), str(candidates), "0"]
    files = ["--dump-shortlist", "list.bin", "--vocabs", "vocab.spm", "vocab.spm"]
    model = ["--from", "model.npz", "--to", "converted.npz"]
    _run(place, [marian, "convert", *model, "--shortlist", *sizes, *files])


def _run(place: Path, command: Sequence[str]) -> None:
    done = subprocess.run(command, cwd=place, check=False, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command[:2])} failed:\n{done.stderr[-2000:]}")
