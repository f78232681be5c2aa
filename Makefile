# make demo    four acts beside scikit-learn: tables, and the figure out/demo.png; a minute
# make docs    the documentation with the example gallery: build/docs/html/index.html
# make check-docs    dead links, undocumented names, doctests, spelling
# make test    everything that must hold on every commit (Python, C++, C++ under sanitizers)
# make torture attack the package for hours: damaged states, signals, threads, failing allocations, bit rot; can be interrupted
# make paper-ertekin2011    tables and figures of the LASVM-NC paper, ours beside the published; about an hour, can be interrupted
# make paper-laskov2006     figures of the incremental SVM paper, the same way; about an hour
# make paper-keerthi2005    tables and figure of the finite Newton paper, the same way; about 20 minutes
# make paper-kecman2016     tables and figures of the OL SVM paper, the same way; about 90 minutes
# make paper-melki2018     tables and figures of the OLLAWV chapter under nested cross-validation; hours, ARGS=--large: days
# make wheels               sdist and wheels of Linux x86-64 in dist; make try-wheels installs them into empty environments
# make report               all of these results, and the benchmarks, on one page: out/report.html
# Each target sets itself up in .venv; the second time is quick.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Without MAKEFLAGS: ninja would look for the job server of make -j, to which recipes have no access.
PIP := env MAKEFLAGS= $(BIN)/python -m pip --disable-pip-version-check
CMAKE := env MAKEFLAGS= $(BIN)/cmake
export PATH := $(CURDIR)/$(BIN):$(PATH)
# Python writes bytecode of what it imports: tests start many processes, which must not compile scikit-learn each time.
unexport PYTHONDONTWRITEBYTECODE

SOURCES := pyproject.toml CMakeLists.txt $(shell find src cpp -name '*.py' -o -name '*.hpp' -o -name '*.cpp' -o -name CMakeLists.txt -o -name py.typed -o -path '*/labelling/page/*')
# One stamp per dependency group and one for the package; all vanish with .venv.
GROUP = $(VENV)/.group-
INSTALLED := $(VENV)/.installed

.PHONY: demo test test-python test-cpp test-cpp-sanitize test-tsan test-asan-python test-slow bench bench-incremental bench-linear bench-distributed bench-cliffs ceilings paper-ertekin2011 paper-laskov2006 paper-keerthi2005 paper-kecman2016 paper-melki2018 report lint format stub clean

demo: $(INSTALLED) $(GROUP)demo
	$(BIN)/python examples/demo.py

# The C++ tests are compiled in the time that installing and Python's tests leave free.
test:
	+$(MAKE) --no-print-directory -j2 test-python build/cpp-sanitize
	$(CTEST_SANITIZE)

# worksteal: neighbouring tests run in one process and share what is computed once for a file.
test-python: $(INSTALLED) $(GROUP)test $(GROUP)test-onnx $(GROUP)test-river
	$(BIN)/python -m pytest -q -n auto --dist worksteal tests --pyargs hingeline

# The oldest NumPy, SciPy, scikit-learn and joblib that pyproject.toml allows. They have wheels for Python 3.11 only:
# make PYTHON=python3.11. Tests of what these versions lack are skipped.
OLDEST := .venv-oldest
.PHONY: test-oldest
test-oldest: $(OLDEST)/.installed
	$(OLDEST)/bin/python -m pytest -q -n auto --dist worksteal $(or $(ARGS),tests)

$(OLDEST)/.group: pyproject.toml | $(BIN)/python
	$(BIN)/python -m venv $(OLDEST)
	$(OLDEST)/bin/python -m pip install --quiet --upgrade "pip>=25.1"
	$(OLDEST)/bin/python -c "import tomllib; print(*tomllib.load(open('pyproject.toml', 'rb'))['project']['dependencies'], sep='\n')" | sed 's/>=/==/' > $(OLDEST)/oldest.txt
	$(OLDEST)/bin/python -m pip install --quiet --no-compile --requirement $(OLDEST)/oldest.txt --group test-oldest
	@touch $@

# The extension does not depend on these versions: it is compiled once.
$(OLDEST)/.installed: $(INSTALLED) $(OLDEST)/.group
	rm -rf build/oldest
	$(PIP) wheel --quiet --no-build-isolation --no-deps --wheel-dir build/oldest .
	$(OLDEST)/bin/python -m pip install --quiet --no-compile --force-reinstall --no-deps build/oldest/*.whl
	@touch $@

test-slow: $(INSTALLED) $(GROUP)test $(GROUP)test-onnx $(GROUP)test-browser
	$(BIN)/python -m pytest -q -m slow tests

.PHONY: fuzz
# Damaged model files; ARGS="--count 1000000" for more, --help lists the options.
fuzz: $(INSTALLED) $(GROUP)test
	$(BIN)/python -m tests.fuzz_models $(ARGS)

.PHONY: torture
# ARGS="states --minutes 10" for one campaign; --help lists the options. Results are in out/torture.
torture: $(INSTALLED) $(GROUP)test
	$(BIN)/python -m tests.torture --jobs $$(getconf _NPROCESSORS_ONLN) $(ARGS)

test-cpp: $(GROUP)build
	$(CMAKE) -S . -B build/cpp -G Ninja -DHINGELINE_PYTHON=OFF -DHINGELINE_TESTS=ON -DHINGELINE_WERROR=ON
	$(CMAKE) --build build/cpp
	$(BIN)/ctest --test-dir build/cpp --output-on-failure --timeout 300

CTEST_SANITIZE := $(BIN)/ctest --test-dir build/cpp-sanitize --output-on-failure --timeout 300 --parallel $$(getconf _NPROCESSORS_ONLN)
test-cpp-sanitize: build/cpp-sanitize
	$(CTEST_SANITIZE)

.PHONY: build/cpp-sanitize
build/cpp-sanitize: $(GROUP)build
	@$(CMAKE) -S . -B $@ -G Ninja --log-level=WARNING -DHINGELINE_PYTHON=OFF -DHINGELINE_TESTS=ON -DHINGELINE_SANITIZE=ON -DHINGELINE_WERROR=ON -DCMAKE_CXX_FLAGS_RELEASE=-Og
	@nice -n 19 $(CMAKE) --build $@ -- --quiet

# Threads that share models, under the thread sanitizer.
test-tsan: $(GROUP)build
	$(CMAKE) -S . -B build/tsan -G Ninja -DHINGELINE_PYTHON=OFF -DHINGELINE_TESTS=ON -DHINGELINE_TSAN=ON -DHINGELINE_WERROR=ON -DCMAKE_CXX_FLAGS_RELEASE=-Og
	$(CMAKE) --build build/tsan --target test_model test_run test_machines
	$(BIN)/ctest --test-dir build/tsan --output-on-failure -R '^(guarded|model|run|engine)$$'

# The extension under the address and undefined-behaviour sanitizers, with these tests of Python.
ASAN_TESTS ?= tests/test_threads.py tests/test_bad_kernels.py tests/test_saved_state.py tests/test_allocations.py tests/test_online_streams.py tests/test_incremental_failures.py
test-asan-python: $(INSTALLED) $(GROUP)test
	$(CMAKE) -S . -B build/asan-python -G Ninja -DHINGELINE_SANITIZE=ON -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DPython_EXECUTABLE=$(CURDIR)/$(BIN)/python -Dnanobind_DIR=$$($(BIN)/python -m nanobind --cmake_dir)
	$(CMAKE) --build build/asan-python --target _core
	rm -rf build/asan-python/package && mkdir build/asan-python/package && cp -r src/hingeline build/asan-python/package
	rm -f build/asan-python/package/hingeline/_core*.so && cp build/asan-python/_core*.so build/asan-python/package/hingeline
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libubsan.so)" PYTHONMALLOC=malloc ASAN_OPTIONS=detect_leaks=0:handle_segv=0:verify_asan_link_order=0 PYTHONPATH=build/asan-python/package:. $(BIN)/python -m pytest -q -p no:cacheprovider $(ASAN_TESTS)

# ARGS="--quick" for a minute's worth; --help lists the options, names of cases choose among them.
bench: $(INSTALLED) $(GROUP)bench
	$(BIN)/python -m benchmarks.against $(ARGS)

bench-incremental bench-linear bench-distributed bench-cliffs: bench-%: $(INSTALLED) $(GROUP)bench
	$(BIN)/python -m benchmarks.$* $(ARGS)

ceilings: $(INSTALLED) $(GROUP)bench
	$(BIN)/python -m benchmarks.ceilings $(ARGS)

paper-ertekin2011 paper-laskov2006 paper-keerthi2005 paper-kecman2016 paper-melki2018: paper-%: $(INSTALLED) $(GROUP)demo $(GROUP)bench
	$(BIN)/python -m benchmarks.papers $* $(ARGS)

.PHONY: docs check-docs
# Warnings are errors. The source folder is the root, so that links are the same in the site and in the repository.
docs: $(INSTALLED) $(GROUP)demo $(GROUP)docs
	$(BIN)/python -m sphinx -c docs/site -W --keep-going -q -b html . build/docs/html
	@echo "build/docs/html/index.html"

check-docs: docs $(GROUP)test
	$(BIN)/python tools/check_docs.py

# One self-contained page with the pages and figures of benchmarks/results.
report: $(GROUP)bench
	$(BIN)/python -m benchmarks.report $(ARGS)

.PHONY: wheels try-wheels
# The sdist and the wheels of Linux x86-64, built here and checked: dist. ARGS="--help" lists targets and Pythons.
wheels: $(GROUP)wheels
	$(BIN)/python tools/wheels.py $(ARGS)

# The wheels of dist in empty environments; ARGS names the Pythons.
try-wheels: $(GROUP)wheels
	$(BIN)/python tools/try_wheels.py $(ARGS)

.PHONY: metadata
# Copies version, date and address of the repository from pyproject.toml and CHANGELOG.md to where they are repeated.
metadata:
	$(PYTHON) tools/metadata.py

# The hooks of .pre-commit-config.yaml are these three, and one for the length of commit subjects.
.PHONY: lint-python lint-types lint-cpp
lint: lint-python lint-types lint-cpp

lint-python: $(GROUP)lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .

lint-types: $(INSTALLED) $(GROUP)lint
	cd $(VENV) && bin/mypy --config-file ../pyproject.toml -p hingeline

lint-cpp: $(GROUP)lint
	$(BIN)/clang-format --dry-run --Werror $(shell find cpp -name '*.hpp' -o -name '*.cpp')

format: $(GROUP)lint
	$(BIN)/ruff check --fix --exit-zero .
	$(BIN)/ruff format .
	$(BIN)/clang-format -i $(shell find cpp -name '*.hpp' -o -name '*.cpp')

clean:
	rm -rf $(VENV) $(OLDEST) build out

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(PIP) install --quiet --upgrade "pip>=25.1"

$(GROUP)%: pyproject.toml | $(BIN)/python
	$(PIP) install --quiet --no-compile --group $*
	@touch $@

# One pip at a time, also with -j.
$(GROUP)test: | $(INSTALLED)
$(GROUP)test-onnx: | $(GROUP)test
$(GROUP)test-river: | $(GROUP)test-onnx

$(INSTALLED): $(SOURCES) | $(GROUP)build
	$(PIP) install --quiet --no-build-isolation --no-compile .
	@touch $@
