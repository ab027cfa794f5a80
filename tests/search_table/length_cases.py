"""Search cases: length penalties, limits, and when a search ends."""

from scripted_search import (
    ALWAYS_C,
    BOS,
    EOS,
    GARDEN_PATH,
    LATER_AND_BETTER,
    SHORT_OR_LONG,
    UNK,
    A,
    B,
    C,
    always,
    case,
)

CASES = [
    case(
        f"with exponent 1 the {kind} penalty prefers the {wins} one",
        SHORT_OR_LONG,
        [[ids]],
        beam_size=2,
        length_penalty=1.0,
        length_penalty_type=kind,
    )
    for kind, wins, ids in (("gnmt", "short", [A]), ("exponent", "long", [A, B, C]))
]
CASES += [
    case(
        "no end before min_length",
        {(0, 0, BOS): {EOS: 0.6, A: 0.3}, (0, 1, A): {EOS: 0.9, B: 0.05}},
        [[[A, B]]],
        min_length=2,
    ),
    case(
        "no beam ends before min_length",
        GARDEN_PATH,
        [[[A, A], [A, C]]],
        min_length=2,
        beam_size=2,
        num_hypotheses=2,
    ),
    case(
        "max_length_ratio gives each sentence its limit",
        always({C: 0.9}, sentences=4),
        [[[C] * 2], [[C] * 3], [[C] * 5], [[C] * 5]],
        source_lengths=[1, 2, 3, 9],
        max_length_ratio=1.5,
    ),
    case(
        "a ratio leaves room for one token",
        ALWAYS_C,
        [[[C]]],
        source_lengths=[3],
        max_length_ratio=0.01,
    ),
    case(
        "beams are cut at the limit of their sentence",
        always({C: 0.6, A: 0.3}, sentences=3),
        [[[C], [A]], [[C, C], [C, A]], [[C, C, C, C], [C, C, C, A]]],
        source_lengths=[1, 2, 4],
        max_length_ratio=1.0,
        beam_size=2,
        num_hypotheses=2,
    ),
    case(
        "a sentence that has ended takes nothing more at the limit",
        # Of the first the beam left open would win: A C B with 0.2375.
        {
            (0, 0, BOS): {A: 0.5, EOS: 0.4},
            (0, 1, A): {C: 0.5, EOS: 0.45},
            (0, 2, C): {B: 0.95},
            **{(1, *place): {C: 0.9} for _, *place in ALWAYS_C},
        },
        [[[A], []], [[C, C, C], [C, C, UNK]]],
        min_length=0,
        early_stopping="first",
        beam_size=2,
        num_hypotheses=2,
        max_length=3,
        length_penalty=1.0,
        length_penalty_type="exponent",
    ),
    case(
        "stopping at the first K that finished still counts a cut in that step",
        {(0, 0, BOS): {EOS: 0.3, A: 0.5}, (0, 1, A): {B: 0.6, EOS: 0.2}},
        [[[A, B], []]],
        min_length=0,
        early_stopping="first",
        beam_size=2,
        num_hypotheses=2,
        max_length=2,
        length_penalty=1.0,
    ),
]
CASES += [
    case(
        f"a search that stops at {stop} finds what it finds until then",
        LATER_AND_BETTER,
        [expected],
        min_length=0,
        early_stopping=stop,
        beam_size=2,
        num_hypotheses=2,
        length_penalty=1.0,
        length_penalty_type="exponent",
    )
    for stop, expected in (
        ("first", [[A], []]),
        ("likely", [[A, C], [A]]),
        ("exact", [[A, C], [A, C, A, B]]),
    )
]
