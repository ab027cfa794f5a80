"""Packaging: which packages are shipped, what the bare install needs and what each extra adds.

The bare install decodes exported artefacts; TensorFlow comes only with the extra `train`. Ranges
stand here, exact versions with hashes in `requirements.lock` (`make lock` renews it).
"""

from glob import glob
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

# The command line on top of the bare install: enough for `keras-transformer translate` and
# `evaluate` with exported artefacts, without TensorFlow.
CLI = [
    "jsonargparse>=4.40,<5",
    "docstring-parser>=0.16,<1",
    "PyYAML>=6,<7",
    "sacrebleu>=2.5,<3",
    "tqdm>=4.66,<5",
]
# `keras-transformer serve`: REST on onnxruntime, without TensorFlow.
SERVE = [
    *CLI,
    "starlette>=1,<2",
    "uvicorn>=0.40,<1",
    "httptools>=0.7,<1",
    "uvloop>=0.22,<1",
    "prometheus-client>=0.22,<1",
]
# TensorFlow Serving's gRPC interface and its file of models; the protos bring TensorFlow.
GRPC = [
    *SERVE,
    "grpcio>=1.76,<2",
    "grpcio-health-checking>=1.76,<2",
    "grpcio-reflection>=1.76,<2",
    "tensorflow-serving-api>=2.20,<2.22",
]
TRAIN = [
    *CLI,
    "tensorflow>=2.20,<2.22",
    "tensorflow-text>=2.20,<2.22",
    "keras>=3.13,<4",
    "tf2onnx>=1.17,<2",
    "onnx>=1.20,<2",
    # tf.summary, which the TensorBoard callback writes with, is no part of tensorflow itself.
    "tensorboard>=2.19,<3",
]
# tensorflow-datasets 4.9.10 imports importlib_resources without declaring it.
TFDS = [*TRAIN, "tensorflow-datasets>=4.9.10,<5", "importlib_resources>=6"]
# Embeddings that begin as word vectors: `train --init-vectors`.
VECTORS = [*TRAIN, "gensim>=4.4,<5"]
# Vocabularies of a tokenizer.json: byte-level BPE and WordPiece. Beside any of the others.
TOKENIZERS = ["tokenizers>=0.21,<1"]
# Models that others trained: `keras-transformer import`, and `export` to their formats.
IMPORT = [*TRAIN, *TOKENIZERS, "safetensors>=0.5,<1"]
# `keras-transformer plot`.
PLOT = [*TRAIN, "matplotlib>=3.10,<4"]
# Training on a Ray cluster and bulk translation as a Ray Data job.
RAY = [*TRAIN, "ray[data,train]>=2.50,<3"]
DEV = [
    *TFDS,
    *GRPC,
    *PLOT,
    *RAY,
    *VECTORS,
    *IMPORT,
    # The engine that benchmarks/ measures against.
    "ctranslate2>=4.8,<5",
    "hypothesis>=6.100,<7",
    # The model code is tried on a second backend.
    "jax>=0.8,<1",
    "mypy>=1.18,<3",
    "playwright>=1.55,<2",
    "pytest>=8,<10",
    "pytest-xdist>=3.6,<4",
    "requests>=2.32,<3",
    "ruff>=0.14,<0.18",
    # The tokenization of published BLEU figures.
    "sacremoses>=0.1.1,<1",
    "schemathesis>=4,<5",
    "setuptools>=77",
    # The optimizer of onnxruntime that benchmarks/ measures against infers shapes with it.
    "sympy>=1.13,<2",
    "uv>=0.9,<1",
]

# onnxruntime operators for `export --target native`; no Python module, but a library that
# onnxruntime loads. Where no compiler is, all else installs and runs.
NATIVE = "keras_transformer/runtime/native"
OPERATORS = Extension(
    "keras_transformer.runtime.onnx_graphs._operators",
    sources=sorted(glob(f"{NATIVE}/**/*.cc", recursive=True)),
    depends=sorted(glob(f"{NATIVE}/**/*.h", recursive=True)),
    include_dirs=[NATIVE, *sorted(glob(f"{NATIVE}/*/"))],
    extra_compile_args=["-std=c++17", "-O3", "-g0", "-fvisibility=hidden", "-Wall", "-Wno-psabi"],
    language="c++",
    optional=True,
)


class Library(build_ext):
    """A library that uses nothing of Python, so that one file serves all versions."""

    def get_ext_filename(self, fullname: str) -> str:
        """Returns the path without the ending that names a version of Python."""
        return str(Path(*fullname.split(".")).with_suffix(".so"))


class Wheel(bdist_wheel):
    """A wheel for every Python; without the operators for every system, too."""

    def get_tag(self) -> tuple[str, str, str]:
        """Returns the tag whose system alone depends on the operators."""
        return "py3", "none", super().get_tag()[2]

    def run(self) -> None:
        """Compiles first: `optional` operators may be left out."""
        self.run_command("build")
        compiled = self.get_finalized_command("build_ext").get_outputs()
        self.root_is_pure = not any(Path(path).exists() for path in compiled)
        super().run()


setup(
    name="keras-seq2seq-transformer",
    version="0.1.0",
    description="Transformer translation: Keras training, ONNX export, decoding without TensorFlow",
    long_description=Path(__file__).with_name("README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    license="Apache-2.0",
    license_files=["LICENSE"],
    python_requires=">=3.11",
    packages=[
        *find_packages(include=["keras_transformer", "keras_transformer.*"]),
        *(f"keras_transformer.{name}" for name in find_packages(include=["export", "export.*"])),
    ],
    package_dir={"keras_transformer": "keras_transformer", "keras_transformer.export": "export"},
    package_data={
        "keras_transformer": ["py.typed"],
        "keras_transformer.data.sources": ["demo_corpus.tsv.gz"],
        "keras_transformer.serving.http": ["page_files/*"],
    },
    ext_modules=[OPERATORS],
    cmdclass={"bdist_wheel": Wheel, "build_ext": Library},
    zip_safe=False,
    install_requires=[
        "numpy>=1.26",
        "onnxruntime>=1.20",
        "sentencepiece>=0.2,<0.3",
        # Finds where sentences end: 1.2 MB, MIT, about 300 languages, needs nothing else.
        "sentencex>=1.0.32,<2",
    ],
    extras_require={
        "cli": CLI,
        "serve": SERVE,
        "grpc": GRPC,
        "train": TRAIN,
        "tfds": TFDS,
        "vectors": VECTORS,
        "tokenizers": TOKENIZERS,
        "import": IMPORT,
        "plot": PLOT,
        "ray": RAY,
        "dev": DEV,
    },
    entry_points={"console_scripts": ["keras-transformer = keras_transformer.cli:main"]},
    classifiers=[
        "Programming Language :: Python :: 3",
        "Topic :: Scientific/Engineering :: Artificial Intelligence",
        "Typing :: Typed",
    ],
)
