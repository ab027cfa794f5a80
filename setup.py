"""The packaging that must be code; `pyproject.toml` has the rest.

`export/` is installed as `keras_transformer.export`, C++ operators are compiled where a compiler
is, and one wheel serves every version of Python.
"""

from glob import glob
from pathlib import Path

from setuptools import Extension, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_ext import build_ext

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
    packages=[
        *find_packages(include=["keras_transformer", "keras_transformer.*"]),
        *(f"keras_transformer.{name}" for name in find_packages(include=["export", "export.*"])),
    ],
    package_dir={"keras_transformer": "keras_transformer", "keras_transformer.export": "export"},
    ext_modules=[OPERATORS],
    cmdclass={"bdist_wheel": Wheel, "build_ext": Library},
)
