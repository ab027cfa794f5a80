"""Our model in float32, but for the factors of products, which are rounded to bfloat16: what
`keras-transformer train` does by default where that is faster.
"""

import keras
from speed.serving import serve

from keras_transformer.config.families import ModelConfig
from keras_transformer.layers.products.product import multiply_in_bfloat16

from .ours import OurTrainer


class RoundedTrainer(OurTrainer):
    """Stands beside engines in mixed_bfloat16, whose products it has."""

    def make(self, config: ModelConfig, precision: str, jit_compile: bool) -> keras.Model:
        """Builds and compiles the model as for a run."""
        if not multiply_in_bfloat16():
            raise RuntimeError("this processor does not multiply matrices of bfloat16.")
        return super().make(config, "float32", jit_compile=False)


if __name__ == "__main__":
    serve(RoundedTrainer())
