"""The terms that a request gives each of its rows."""

import functools
from collections.abc import Callable, Sequence

from keras_transformer.markup.terms import Glossary
from keras_transformer.serving.errors import refusal
from keras_transformer.serving.models.rows import GLOSSARY, Arrays
from keras_transformer.text.subwords.slots import Lift

# Each text is searched for all of its terms.
_MOST_TERMS = 1000


class RowTerms:
    """Reads the terms of requests.

    Args:
        lift_with: Returns a function that finds terms, beside the server's, in texts.
    """

    def __init__(self, lift_with: Callable[[Glossary], Lift | None]) -> None:
        # Requests often have the same ones.
        self._lift_of = functools.lru_cache(maxsize=16)(
            lambda lines: lift_with(Glossary.parse(lines, "glossary"))
        )

    def lifts(self, inputs: Arrays, rows: int) -> list[Lift | None]:
        """Returns the function that finds the terms of each row; None for a row without terms.

        Raises:
            ServingError: A line is no term, or there are too many.
        """
        if GLOSSARY.name not in inputs:
            return [None] * rows
        return [
            self.lift([one.decode(errors="replace") for one in row], f"row {number} of glossary")
            for number, row in enumerate(inputs[GLOSSARY.name].tolist())
        ]

    def lift(self, lines: Sequence[str], name: str) -> Lift | None:
        """Returns the function that finds some terms; None if there are none.

        Args:
            lines: A term each; blank lines fill up a row.
            name: Their name in errors.

        Raises:
            ServingError: A line is no term, or there are too many.
        """
        terms = tuple(line for line in lines if line.strip())
        if len(terms) > _MOST_TERMS:
            raise refusal(
                f"{name} has {len(terms)} terms, more than {_MOST_TERMS}: give those that the text "
                "has."
            )
        try:
            return self._lift_of(terms) if terms else None
        except ValueError as error:
            raise refusal(str(error).replace(GLOSSARY.name, name, 1)) from error
