"""The terms that a request gives each of its rows."""

import functools
from collections.abc import Callable

from keras_transformer.markup.terms import Glossary
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.models.rows import GLOSSARY, Arrays
from keras_transformer.text.subwords.slots import Lift

# Each text is searched for all of its terms.
_MOST_TERMS = 1000


class RowTerms:
    """Reads the terms of requests.

    Args:
        lift_with: Gives what finds terms, beside the server's, in texts.
    """

    def __init__(self, lift_with: Callable[[Glossary], Lift | None]) -> None:
        # Requests often have the same ones.
        self._lift_of = functools.lru_cache(maxsize=16)(
            lambda lines: lift_with(Glossary.parse(lines, "glossary"))
        )

    def lifts(self, inputs: Arrays, rows: int) -> list[Lift | None]:
        """Returns what finds the terms of each row; None where the request gives it none.

        Raises:
            ServingError: A line is no term, or there are too many.
        """
        if GLOSSARY.name not in inputs:
            return [None] * rows
        found: list[Lift | None] = []
        for number, row in enumerate(inputs[GLOSSARY.name].tolist()):
            lines = tuple(line for one in row if (line := one.decode(errors="replace")).strip())
            if len(lines) > _MOST_TERMS:
                raise refusal(
                    f"row {number} of glossary has {len(lines)} terms, more than {_MOST_TERMS}: "
                    "give those that the text has."
                )
            try:
                found.append(self._lift_of(lines) if lines else None)
            except ValueError as error:
                raise refusal(f"row {number} of {error}") from error
        return found
