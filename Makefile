# Two commands: `make demo` shows the whole path, `make test` runs everything CI runs.
# Both make the virtual environment first, from the lock file.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BROWSER := $(VENV)/.browser
SOURCES := keras_transformer export
# A worker a core; the tests of a file share what they export. In their own order: files of a single,
# slow test would else come last, for one worker while the other waits.
PYTEST_FLAGS ?= -n 2 --dist loadfile --no-loadscope-reorder

export TF_CPP_MIN_LOG_LEVEL ?= 3
export PYTHONUNBUFFERED := 1

.PHONY: demo test lock clean

demo: $(INSTALLED)
	$(BIN)/keras-transformer train --data demo --preset tiny --output runs/demo --resume
	$(BIN)/keras-transformer export runs/demo --format onnx --output exported/demo --overwrite
	$(BIN)/python examples/demo.py exported/demo

test: $(INSTALLED) $(BROWSER)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy $(SOURCES)
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

# Without build isolation the pinned setuptools builds our package: nothing unpinned is fetched.
$(INSTALLED): requirements.lock setup.py pyproject.toml $(wildcard export/native/*)
	command -v c++ > /dev/null || { apt-get -qq update && apt-get -qq install -y \
		--no-install-recommends g++ > /dev/null; } || echo "no C++ compiler: no native operators"
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	PYTHONWARNINGS=ignore $(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

# The server's page is tested in a browser, where there is one or root may install one.
$(BROWSER): $(INSTALLED)
	command -v chromium > /dev/null || { apt-get -qq update && apt-get -qq install -y \
		--no-install-recommends chromium > /dev/null; } \
		|| echo "no chromium: the tests of the server's page will be skipped"
	touch $@

lock: $(INSTALLED)
	$(BIN)/uv pip compile setup.py --all-extras --generate-hashes --no-emit-index-url \
		--python-version 3.11 --custom-compile-command "make lock" --upgrade \
		--output-file requirements.lock

clean:
	rm -rf $(VENV) build dist *.egg-info runs exported export/runtime/_operators.*
	rm -rf .pytest_cache .mypy_cache .ruff_cache .hypothesis
