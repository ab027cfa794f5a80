"""The sizes of the tiny translators, and how many texts are trained on, scored and hostile."""

WIDTH, HIDDEN, HEADS, LAYERS, PIECES, NEW_TOKENS = 16, 24, 2, 2, 160, 20
POSITIONS = 64
BYTE_FALLBACK = 420
TRAINING, SCORED, HOSTILE = 600, 20, 60
BEAMS = (1, 4)
