"""Writes the vectors that Sentence Transformers makes of twenty texts with a published model, whose
directory the command line names. Needs PyTorch and sentence-transformers.

    python -m tools.oracles.real_vectors all-MiniLM-L6-v2 tests/fixtures/minilm_vectors.npz
"""

import sys

import numpy as np
import torch

from tools.oracles.texts import hostile, pairs


def main() -> None:
    """Writes texts and float32 vectors."""
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(1)
    folder, file = sys.argv[1:]
    texts = [*pairs(14, start=400)[0], *hostile(6)]
    vectors = [SentenceTransformer(folder).encode(text) for text in texts]
    np.savez_compressed(file, texts=np.array(texts), vectors=np.array(vectors, np.float32))


if __name__ == "__main__":
    main()
