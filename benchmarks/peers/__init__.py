"""Engines that ours is compared with, and the environments in which they run."""

# The folder of a model's Hugging Face files, which the engines' converters read.
HUGGING_FACE = "huggingface"
# One environment for decoders and encoders.
OPENVINO = ("openvino-genai", "optimum-intel", "nncf")
