"""Matrices of vocabularies for the screened search."""

import numpy as np
import pytest


class Vocabularies:
    """Matrices of every kind that a screened search may meet, and states for them."""

    KINDS = ("normal", "loud tokens", "alike", "twins", "zeros", "extremes", "few")

    @staticmethod
    def matrix(kind: str, vocabulary: int, width: int, seed: int = 0) -> np.ndarray:
        """A vocabulary of one of `KINDS`: float32 `(vocabulary, width)`."""
        random = np.random.default_rng(seed)
        matrix = random.normal(0, 0.1, (vocabulary, width))
        if kind == "loud tokens":
            matrix[random.integers(0, vocabulary, 9)] *= 100
        elif kind == "alike":  # No byte tells them apart.
            matrix = matrix[:1] + 1e-5 * matrix
        elif kind == "twins":
            matrix = matrix[random.integers(0, 20, vocabulary)]
        elif kind == "zeros":
            matrix[:] = 0
        elif kind == "extremes":  # The largest sums that bytes can give.
            matrix = np.sign(matrix)
        elif kind == "few":
            matrix = matrix[:3]
        return matrix.astype(np.float32)

    @staticmethod
    def states(seed: int, rows: int, spread: float, matrix: np.ndarray) -> np.ndarray:
        """States of which some single out a token, and some have an outlier."""
        random = np.random.default_rng(seed)
        width = matrix.shape[1]
        states = random.normal(0, spread, (rows, width))
        states[::3] += 3 * spread * np.sign(matrix[random.integers(0, len(matrix))])
        states[1::4, random.integers(0, width)] *= 20
        return states.astype(np.float32)


@pytest.fixture(scope="session", params=Vocabularies.KINDS)
def kind(request: pytest.FixtureRequest) -> str:
    """Each kind of `Vocabularies` in turn."""
    return request.param


@pytest.fixture(scope="session")
def vocabularies() -> type[Vocabularies]:
    """`Vocabularies`."""
    return Vocabularies
