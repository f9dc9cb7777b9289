PYTHON ?= python3
BIN := .venv/bin
DEMO := demo

.PHONY: demo library test test-more test-slow test-all mutants bench bench-against docs package zoo zoo-searched format clean hashed

# Both launches are plain Python, some 3 s each, so that the demo needs no library: compiling one takes longer than the whole demo.
demo: export HDEEPRM_LIKE_PYTHON := 1
demo: .venv/installed
	$(BIN)/hdeeprm-like launch --options agents/gaia-first-high_gflops.json --output $(DEMO)/first-high_gflops --overwrite
	$(BIN)/hdeeprm-like launch --options agents/gaia-shortest-high_gflops.json --output $(DEMO)/shortest-high_gflops --overwrite
	$(BIN)/hdeeprm-like metrics $(DEMO)/first-high_gflops $(DEMO)/shortest-high_gflops --save $(DEMO)/metrics.png
	$(BIN)/hdeeprm-like visual compare --run $(DEMO)/first-high_gflops --run $(DEMO)/shortest-high_gflops --save $(DEMO)/utilization.png
	$(BIN)/hdeeprm-like visual gantt_no_label --run $(DEMO)/first-high_gflops --save $(DEMO)/gantt-first.png
	$(BIN)/hdeeprm-like visual gantt_no_label --run $(DEMO)/shortest-high_gflops --save $(DEMO)/gantt-shortest.png
	@echo "The runs and their pictures are in $(DEMO)/"

# Two processes; the tests of one file stay together, for they share what is compiled.
PYTEST := $(BIN)/python -m pytest -n 2 --dist loadfile

# The engine and the decisions twice: as machine code and as plain Python, which a debugger sees.
test: library
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(PYTEST)
	HDEEPRM_LIKE_PYTHON=1 $(PYTEST) tests/decision tests/engine

# What `make test` leaves out to be short: tests marked `more`.
test-more: library
	$(BIN)/mypy
	$(PYTEST) -m "more and not bench"

# What both leave out, because each takes minutes: tests marked `slow`. The workflow `weekly` runs it.
test-slow: library
	$(PYTEST) -m "slow and not bench"

test-all: library
	$(BIN)/mypy
	$(PYTEST) -m "not bench"

# Small faults planted one at a time: which do the tests find? Takes an hour; then only what survived.
mutants: .venv/tested
	$(BIN)/python tests/mutants.py

bench: .venv/tested
	$(BIN)/python -m pytest tests/bench/bench_*.py -m bench -s -p no:warnings

# The speed beside that of another version, as git names it, by alternating runs.
REF ?= 62f3f59
bench-against: .venv/tested
	$(BIN)/python tests/bench/against.py $(REF)

docs: .venv/tested
	$(BIN)/python -m sphinx -W --keep-going -q -b html docs docs/_build/html
	@echo "The site is in docs/_build/html/index.html"

# Wheel and sdist, each installed where there is no numba and tried away from the clone with an empty cache: the wheel with
# everything that the pages show, the sdist with the first pages.
package: .venv/tested
	rm -rf dist && $(PYTHON) -m venv .venv-build && .venv-build/bin/python -m pip install --quiet build
	.venv-build/bin/python -m build --outdir dist . > /dev/null
	.ci/try_package dist/*.whl -m "not bench" -k "typed or installed" tests/package tests/test_docs.py
	.ci/try_package dist/*.tar.gz -k "typed or installed" tests/package tests/test_docs.py
	@echo "Both are in dist/ and work without the clone"

# Searches from nothing: five seeds that begin with round numbers and see made jobs only, 100 s of CPU each. What they find has
# not been better than these round numbers (docs/notebook/learned.md), so zoo:steady, which is of their kind, is not searched.
zoo: .venv/tested
	for seed in 1 2 3 4 5; do mkdir -p runs/cold && \
	  cp agents/zoo/evolution/begin-cold.json runs/cold/ && \
	  sed "s/\"seed\": 1/\"seed\": $$seed/" agents/zoo/evolution/cold.json > runs/cold/options-$$seed.json && \
	  $(BIN)/hdeeprm-like train --method evolution --options runs/cold/options-$$seed.json --output runs/cold/$$seed || exit 1; \
	done
	@echo "The policies are in runs/cold/1/best.json to runs/cold/5/best.json"

# The last search of each shipped searched policy: `slowdown` in some 10 minutes of CPU, `balanced` in 25. They begin with weights
# that earlier searches had found, whose options were not kept, so this does not make them from nothing. One trace is fetched.
zoo-searched: .venv/tested
	test -f traces/CTC-SP2-1996-3.1-cln.swf.gz || $(BIN)/hdeeprm-like fetch-trace CTC-SP2-1996-3.1-cln --folder traces
	$(BIN)/hdeeprm-like train --method evolution --options agents/zoo/evolution/slowdown.json --output runs/zoo-slowdown
	$(BIN)/hdeeprm-like train --method evolution --options agents/zoo/evolution/balanced-usual.json --output runs/zoo-balanced-usual
	$(BIN)/hdeeprm-like train --method evolution --options agents/zoo/evolution/balanced.json --output runs/zoo-balanced
	@echo "The policies are in runs/zoo-slowdown/best.json and runs/zoo-balanced/best.json"

format: .venv/tested
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

clean:
	rm -rf docs/_build docs/reference/made .venv .venv-build .venv-package .oldest $(DEMO) .mypy_cache .ruff_cache .pytest_cache .hypothesis

.venv/installed: pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	@echo "Installing into .venv, for about a minute"
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e .
	touch $@

# Everything but torch with the checksums of its files, for Linux on x86-64 with Python 3.11: what comes after finds it there.
hashed:
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r constraints-hashed.txt

.venv/tested: .venv/installed
	@echo "Installing what learns, draws and tests, some minutes with PyTorch"
	$(BIN)/python -m pip install --disable-pip-version-check --progress-bar off -c constraints.txt -e ".[learn,rl,docs,test]"
	touch $@

# The machine code of all kinds of runs, in the user's cache; made again when a source that it is made of changes.
library: .venv/tested
	$(BIN)/python -m hdeeprm_like.compiler
