"""What an architecture of Hugging Face is on the way out: the form of the models that it holds, the
fields of its config, the tensors, and the files of its tokenizer.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keras_transformer.export.pretrained.forms import ModelForm
from keras_transformer.export.pretrained.outgoing import Outgoing
from keras_transformer.pretrained.huggingface.fields import ACTIVATIONS
from keras_transformer.pretrained.weight_table import Array

# Of each name that ours has for an activation, the first of Hugging Face's.
THEIR_ACTIVATIONS = {ours: theirs for theirs, ours in reversed(ACTIVATIONS.items())}


@dataclass(frozen=True)
class Architecture:
    """An architecture.

    Attributes:
        form: The models that it holds; its name is the architecture's.
        config: Returns the fields of `config.json` that are not special ids.
        tensors: Returns the weights by name.
        save_tokenizer: Writes the tokenizer's files to a directory.
        check: Raises a `ValueError` for what the form does not show.
        check_files: Takes the model and the architecture's name and raises a `ValueError` for what
            the files of Hugging Face cannot say.
    """

    form: ModelForm
    config: Callable[[Outgoing], dict[str, Any]]
    tensors: Callable[[Outgoing], dict[str, Array]]
    save_tokenizer: Callable[[Outgoing, Path], None]
    check: Callable[[Outgoing], None]
    check_files: Callable[[Outgoing, str], None] = lambda outgoing, name: None
