"""The configurations that a search by hand would try, as flags of `train` that cost no more than
the defaults.
"""

from collections.abc import Iterator
from typing import Any

from small.corpora import Row
from small.measure import COST_OF_R_DROP

# (optimizer, rate, tokens of a batch, share of warm-up, dropout, R-Drop, pieces' factor)
_TRANSLATION: tuple[tuple[str, float, int, float, float, float, float], ...] = (
    ("muon", 0.004, 1024, 0.25, 0.15, 3, 1),
    ("muon", 0.004, 1024, 0.1, 0.15, 3, 1),
    ("muon", 0.004, 512, 0.1, 0.15, 3, 1),
    ("muon", 0.004, 256, 0.1, 0.15, 3, 1),
    ("muon", 0.004, 512, 0.1, 0.15, 3, 0.5),
    ("muon", 0.004, 512, 0.1, 0.15, 3, 2),
    ("muon", 0.004, 512, 0.1, 0.3, 3, 1),
    ("muon", 0.004, 512, 0.1, 0.1, 5, 1),
    ("muon", 0.002, 512, 0.1, 0.15, 3, 1),
    ("muon", 0.008, 512, 0.1, 0.15, 3, 1),
    ("muon", 0.004, 512, 0.1, 0.2, 0, 1),
    ("muon", 0.004, 512, 0.1, 0.3, 0, 1),
    ("muon", 0.004, 1024, 0.25, 0.2, 0, 0.5),
    ("muon", 0.004, 2048, 0.25, 0.15, 3, 1),
    ("adam", 0.002, 512, 0.1, 0.2, 0, 1),
    ("adam", 0.002, 1024, 0.1, 0.3, 0, 1),
    ("adam", 0.004, 1024, 0.25, 0.15, 3, 1),
    ("adam", 0.002, 512, 0.1, 0.15, 3, 1),
    ("adam", 0.001, 256, 0.1, 0.2, 0, 1),
    ("adam", 0.002, 256, 0.1, 0.15, 3, 0.5),
)
# Of single texts: (rate, tokens of a batch, share of warm-up, dropout, share of the cost)
_TEXTS = tuple(
    (rate, tokens, warmup, dropout, share)
    for rate, tokens in (
        (0.0005, 512),
        (0.001, 512),
        (0.002, 512),
        (0.005, 512),
        (0.001, 256),
        (0.002, 1024),
    )
    for warmup, dropout, share in ((0.1, 0.1, 1), (0.1, 0.3, 1), (0.06, 0.1, 0.5))
) + ((0.003, 2048, 0.1, 0.1, 1), (0.001, 1024, 0.25, 0.1, 1))

# Of the defaults' pieces, in turns.
_PIECES = (1, 0.5, 0.7, 1.2)


def configurations(row: Row, default: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yields twenty, each with as many updates as cost what the defaults did.

    Args:
        row: The corpus and its task.
        default: What `measure` returned of the defaults.
    """
    if row.task == "translation":
        for optimizer, rate, tokens, warmup, dropout, r_drop, factor in _TRANSLATION:
            passes = COST_OF_R_DROP if r_drop else 1
            yield {
                **_updates(default["cost"] / passes, tokens, warmup),
                "optimizer": optimizer,
                "learning_rate": rate,
                "r_drop": r_drop,
                "vocab_size": max(
                    default["vocab_size"] // 2, round(default["vocab_size"] * factor)
                ),
                "model.dropout": dropout,
            }
        return
    factor = 2 if row.start == "BERT, LoRA" else 1
    for number, (rate, tokens, warmup, dropout, share) in enumerate(_TEXTS):
        pieces = default["vocab_size"] * _PIECES[number % len(_PIECES)]
        yield {
            **_updates(default["cost"] * share, tokens, warmup),
            "learning_rate": rate * factor,
            "model.dropout": dropout,
            # A BERT has its own vocabulary.
            **({"vocab_size": round(pieces)} if row.start == "scratch" else {}),
        }


def _updates(cost: float, tokens: int, warmup: float) -> dict[str, Any]:
    updates = max(2, round(cost / tokens))
    return {
        "batch_tokens": tokens,
        "max_steps": updates,
        # So many that the updates end the run.
        "epochs": updates,
        "warmup_steps": max(1, round(warmup * updates)),
    }
