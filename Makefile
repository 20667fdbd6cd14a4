# Two commands do all the set-up on a fresh machine:
#   make demo    the dashboard on the recordings that ship with the product; needs no GPU
#   make test    every test that needs no GPU; needs Chromium and Graphviz
# On a GPU machine with torch installed:
#   make gpu-test

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
# One worker has the only browser, the other all else; see tests/conftest.py.
PYTEST_ARGS ?= -n 2 --dist loadfile --no-loadscope-reorder

SAMPLES = transformer_inference train_step fork_join all_node_types compiled batch_sizes

.PHONY: demo test lint samples gpu-test clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

# torch is its own step: with the version pinned first, nothing else pulls in another build of it.
$(VENV)/test.stamp: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[test,lint]'
	touch $@

demo: $(VENV)/demo.stamp
	$(BIN)/cglens demo

test: $(VENV)/test.stamp lint
	$(BIN)/python -m pytest $(PYTEST_ARGS) tests
	$(BIN)/cglens check graphviz_app/samples/batch_sizes.cgl --policy .ci/policy.toml

lint: $(VENV)/test.stamp
	$(BIN)/ruff check .
	$(BIN)/mypy

# The shipped recordings; commit what this makes. Needs a GPU and torch.
MEASURE = {"bench":true,"replays":30,"nodes":true,"most_graphs":16,"seconds":1.5}

samples:
	for name in $(SAMPLES); do \
	  CGLENS_MEASURE='$(MEASURE)' $(PYTHON) -m graphviz_app record --force --store-sources \
	    --memory-stacks -o graphviz_app/samples/$$name.cgl examples/$$name.py || exit 1; \
	done
	$(PYTHON) -m graphviz_app record --force --store-sources --memory-stacks \
	  -o graphviz_app/samples/stale_input.cgl examples/stale_input.py

gpu-test:
	REQUIRE_GPU=1 GPU_REPORT=tests/gpu/report.json $(PYTHON) -m pytest tests/gpu -q -n 8 -p no:benchmark

clean:
	rm -rf $(VENV) build dist *.egg-info .pytest_cache .mypy_cache .ruff_cache
