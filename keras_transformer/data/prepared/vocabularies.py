"""The tokenizers of a corpus to prepare, trained on its text or given as files, in the files that
its directory holds.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from keras_transformer.data.prepared.options import PrepareOptions
from keras_transformer.data.sources.streams import PairStream
from keras_transformer.text.subwords.opening import SUFFIXES
from keras_transformer.text.tokenizer import Tokenizer, train_fitting_tokenizer
from keras_transformer.text.tokenizer_files import SHARED, SOURCE, TARGET


def make_tokenizers(
    directory: Path,
    train: PairStream,
    given: tuple[Path, ...],
    options: PrepareOptions,
    say: Callable[[str], None],
) -> list[str]:
    """Trains or copies the tokenizers that do not exist yet.

    Args:
        directory: Where the corpus is prepared.
        train: Its training pairs or texts.
        given: Existing model files: one for both sides, or source and target; none to train.
        options: How to train them.
        say: Takes a line of progress.

    Returns:
        The names of the files, one if both sides share a vocabulary.
    """
    is_joint = len(given) == 1 if given else options.joint_vocabulary or train.is_single
    opened = [Tokenizer.load(path) for path in given]
    stems = [SHARED] if is_joint else [SOURCE, TARGET]
    suffixes = [tokenizer.suffix for tokenizer in opened] or [SUFFIXES["sentencepiece"]] * len(
        stems
    )
    names = [stem + suffix for stem, suffix in zip(stems, suffixes, strict=True)]
    for side, name in enumerate(names):
        if (directory / name).exists():
            continue
        if opened:
            tokenizer = opened[side]
        else:
            say(f"training {name}")
            tokenizer = train_fitting_tokenizer(
                _Sentences(train, (0, 1) if is_joint else (side,)),
                options.vocab_size,
                options.tokenizer_type,
                max_sentences=options.tokenizer_sentences,
                # Any task on single texts can then be trained.
                has_mask=train.is_single,
                num_sentinels=options.num_sentinels,
                has_term_marks=bool(options.soft_terms),
            )
        tokenizer.save(directory / name)
    return names


@dataclass(frozen=True)
class _Sentences:
    """The sentences of some sides, as often as they are wanted.

    They come in the order in which `train` reads a corpus in memory, to give the same vocabulary.
    """

    train: PairStream
    sides: tuple[int, ...]

    def __iter__(self) -> Iterator[str]:
        return chain.from_iterable(map(self.train.sentences, self.sides))
