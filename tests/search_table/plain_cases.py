"""Search cases: greedy and beam search as such."""

from scripted_search import ALWAYS_C, BOS, EOS, GARDEN_PATH, PAD, SHORT_OR_LONG, UNK, A, B, C, case

CASES = [
    case(
        "greedy follows the most probable token",
        {(0, 0, BOS): {A: 0.6}, (0, 1, A): {B: 0.6}},
        [[[A, B]]],
    ),
    case("greedy may end at once", {(0, 0, BOS): {EOS: 0.6}}, [[[]]]),
    case("greedy is cut at max_length", ALWAYS_C, [[[C] * 5]]),
    case("one token, and it is not the end", ALWAYS_C, [[[C]]], max_length=1),
    case(
        "padding and the start are never generated",
        {(0, 0, BOS): {PAD: 0.5, BOS: 0.3, A: 0.1}},
        [[[A]]],
    ),
    case("the unknown token may be generated", {(0, 0, BOS): {UNK: 0.6}}, [[[UNK]]]),
    case("of equal tokens the lowest id wins", {(0, 0, BOS): {B: 0.3, C: 0.3, A: 0.1}}, [[[B]]]),
    case("of end and word, equal, the end wins", {(0, 0, BOS): {EOS: 0.4, A: 0.4}}, [[[]]]),
    case("greedy takes the garden path", GARDEN_PATH, [[[A]]]),
    case("two beams find the way round", GARDEN_PATH, [[[B]]], beam_size=2),
    case(
        "n best come in order",
        GARDEN_PATH,
        [[[B], [A], [A, A]]],
        beam_size=3,
        num_hypotheses=3,
        length_penalty=0.0,
    ),
    case(
        "without a penalty the short one wins",
        SHORT_OR_LONG,
        [[[A]]],
        beam_size=2,
        length_penalty=0.0,
    ),
    case(
        "with a penalty the long one wins",
        SHORT_OR_LONG,
        [[[A, B, C]]],
        beam_size=2,
        length_penalty=1.5,
    ),
    case(
        "an end below the first K ranks does not count",
        # With two beams the end ranks third at the first token, so the empty translation is lost.
        {
            (0, 0, BOS): {A: 0.4, B: 0.3, EOS: 0.2},
            (0, 1, A): {A: 0.3, C: 0.25},
            (0, 1, B): {B: 0.3, C: 0.25},
        },
        [[[A, A], [A, C]]],
        beam_size=2,
        num_hypotheses=2,
        length_penalty=0.0,
    ),
    case(
        "sentences end at different lengths",
        {
            (0, 0, BOS): {A: 0.9},
            (1, 0, BOS): {B: 0.9},
            (1, 1, B): {C: 0.9},
            (1, 2, C): {A: 0.9},
            (2, 0, BOS): {EOS: 0.9},
            (3, 0, BOS): {C: 0.9},
            (3, 1, C): {C: 0.9},
        },
        [[[A]], [[B, C, A]], [[]], [[C, C]]],
    ),
    case(
        "beams of sentences that end at different lengths",
        {
            (0, 0, BOS): {A: 0.6, B: 0.3},
            (1, 0, BOS): {B: 0.5, C: 0.4},
            (1, 1, B): {C: 0.5, A: 0.4},
            (1, 1, C): {A: 0.9},
            (1, 2, A): {B: 0.6, EOS: 0.3},
            (1, 2, C): {EOS: 0.6, B: 0.3},
            (2, 0, BOS): {EOS: 0.9, A: 0.05},
        },
        [[[A], [B]], [[C, A, B], [B, C]], [[], [A]]],
        beam_size=2,
        num_hypotheses=2,
    ),
    case(
        "what is cut at max_length competes by its score",
        # Ended: 0.45 × 0.5; cut: 0.5 × 0.9, better although it never ended.
        {(0, 0, BOS): {A: 0.5, B: 0.45}, (0, 1, A): {C: 0.9}, (0, 1, B): {EOS: 0.5, A: 0.3}},
        [[[A, C], [B]]],
        beam_size=2,
        num_hypotheses=2,
        max_length=2,
    ),
    case(
        "an end in the last step wins a tie with a cut",
        {(0, 0, BOS): {EOS: 0.4, A: 0.4}},
        [[[], [A]]],
        beam_size=2,
        num_hypotheses=2,
        max_length=1,
    ),
]
