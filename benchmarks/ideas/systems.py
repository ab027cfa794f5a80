"""The systems of the lineage: what each learns from text without labels, and what its tuning
begins with, as flags of the commands.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Flags = Mapping[str, Any]


@dataclass(frozen=True)
class Pretraining:
    """One model that is made before any task is known.

    Attributes:
        name: Of its run, or of its file of vectors; systems may share it.
        flags: Of `train`, or of `vectors` where there is a method.
        share: Of the minutes that its system has.
    """

    name: str
    flags: Flags
    share: float = 1.0


@dataclass(frozen=True)
class System:
    """A row of the table.

    Attributes:
        name: What the table calls it.
        year: Of the paper.
        pretraining: What it is made of.
        tuning: Flags of `train` on a task; a text in braces is the path of a pretraining. None
            where it has no part in tasks with labels.
        language_model: Name of the pretraining that continues texts, if there is one.
        reads_pairs: Whether it has a part in tasks on two texts.
    """

    name: str
    year: int
    pretraining: tuple[Pretraining, ...] = ()
    tuning: Flags | None = field(default_factory=dict)
    language_model: str | None = None
    reads_pairs: bool = True


def _vectors(name: str, year: int, method: str) -> System:
    path = f"{method}.txt"
    made = Pretraining(path, {"method": method})
    return System(name, year, (made,), {"init_vectors": f"{{{path}}}"})


def _both_directions(name: str, year: int, run: str, last: Flags, **flags: Any) -> System:
    """Two language models, each with half of the time, whose states are features."""
    both = tuple(
        Pretraining(
            f"{run}-{direction}",
            {"task": "causal-lm", "preset": "lstm-tiny", "direction": direction, **flags},
            0.5,
        )
        for direction in ("forward", "backward")
    )
    features = {"features": [f"{{{run}-forward}}", f"{{{run}-backward}}"], **last}
    return System(name, year, both, features, f"{run}-forward")


_TRANSLATION = Pretraining("translation", {"task": "translation", "preset": "tiny"})
_GPT = Pretraining("gpt", {"task": "causal-lm", "preset": "gpt2-tiny"})
_BERT = {"task": "masked-lm", "preset": "bert-tiny"}
SYSTEMS = (
    System("bag of words", 1954),
    _vectors("word2vec", 2013, "skip-gram"),
    _vectors("GloVe", 2014, "glove"),
    _vectors("fastText", 2017, "fasttext"),
    System("CoVe", 2017, (_TRANSLATION,), {"features": ["{translation}"]}),
    _both_directions("ELMo", 2018, "elmo", {}),
    _both_directions("Flair", 2018, "flair", {"feature_layers": "last"}, tokenizer_type="char"),
    # Its tuning, on the weights of the same language model as GPT.
    System("ULMFiT", 2018, (_GPT,), {"init": "{gpt}", "layer_decay": 0.8, "unfreeze_steps": 15}),
    System("GPT", 2018, (_GPT,), {"init": "{gpt}"}, "gpt"),
    System("CVT", 2018, (), {"unlabelled_text": Path("text.txt")}, reads_pairs=False),
    System("BERT", 2018, (Pretraining("bert", _BERT),), {"init": "{bert}"}),
    System(
        "ERNIE's phrases",
        2019,
        (Pretraining("ernie", {**_BERT, "masking": "phrases", "phrases": Path("phrases.txt")}),),
        {"init": "{ernie}"},
    ),
    System(
        "Transformer-XL",
        2019,
        (
            Pretraining(
                "transformer-xl",
                {"task": "causal-lm", "preset": "transformer-xl-tiny", "packing": "stream"},
            ),
        ),
        None,
        "transformer-xl",
    ),
    System(
        "XLNet",
        2019,
        (Pretraining("xlnet", {"task": "permutation-lm", "preset": "xlnet-tiny"}),),
        {"init": "{xlnet}"},
    ),
    System("Transformer, no pretraining", 2017),
)
