"""Which language a text is in, by a served classifier whose labels are codes of languages."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import NamedTuple

import numpy as np

from keras_transformer.serving.errors import ServingError
from keras_transformer.serving.http.translators.language_names import is_code
from keras_transformer.serving.models.judgements import Judgement, judge
from keras_transformer.serving.models.outputs import strings
from keras_transformer.serving.models.served import Reading
from keras_transformer.serving.models.service import Service
from keras_transformer.serving.models.versioning.versions import LoadedVersion

_CLASSIFY: Judgement = "classify"
# Characters that say enough, and that a classifier has room for.
_MOST_CHARACTERS = 200
# Of what is less probable clients are not told.
_LEAST_PERCENT = 1.0


class Detected(NamedTuple):
    """A language that a text may be in.

    Attributes:
        language: Its code.
        confidence: How probable it is, in percent.
    """

    language: str
    confidence: float


def find_detector(service: Service) -> LoadedVersion | None:
    """Returns the first served classifier of languages; None if there is none."""
    for options in service.models:
        try:
            loaded = service.find(options.name)
        except ServingError:
            continue
        model = loaded.model
        if isinstance(model, Reading) and _CLASSIFY in model.signatures:
            if len(model.labels) > 1 and all(map(is_code, model.labels)):
                return loaded
    return None


async def detect(
    service: Service,
    detector: LoadedVersion,
    texts: Sequence[str],
    *,
    timeout: float | None = None,
    waiting: Callable[[], AbstractContextManager[None]] = nullcontext,
) -> list[Detected]:
    """Returns the languages that texts of one language may be in, the most probable first.

    Args:
        service: Answers requests.
        detector: What `find_detector` returned.
        texts: The texts, of which the beginnings are read.
        timeout: Seconds after which it gives up, at most the server's own limit.
        waiting: As for `Service.predict`.

    Raises:
        ServingError: There is no result.
    """
    begins = strings([text[:_MOST_CHARACTERS] for text in texts])
    found = await judge(service, detector, _CLASSIFY, begins, timeout=timeout, waiting=waiting)
    codes = [code for code, _ in found[0]]
    shares = np.mean([[share for _, share in row] for row in found], axis=0)
    rows = [Detected(codes[place], 100 * float(shares[place])) for place in np.argsort(-shares)]
    return [one for one in rows if one.confidence >= _LEAST_PERCENT] or rows[:1]
