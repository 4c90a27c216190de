# Each target works as the first command on a machine with Python 3.11 or newer and make.
# The environment lives in .venv, everything generated in build/; `make clean` removes both.

# the first of these that runs and is new enough; or say which: make test PYTHON=/opt/python/bin/python3
PYTHON ?= python3.14 python3.13 python3.12 python3.11 python3
# more for pytest: make test ARGS="-k kuramoto -x"
ARGS ?=

VENV := .venv
RUN := $(VENV)/bin/python
# An environment knows its folder by absolute path: a checkout that was moved or copied installs again.
HERE := $(shell pwd | cksum | cut -d ' ' -f 1)
READY := $(VENV)/ready-$(HERE)
DESCRIPTION := setup.cfg pyproject.toml $(PINS)
# the versions to install; `make oldest` takes others
PINS := .ci/constraints.txt
OLDEST_PYTHON ?= python3.11
INSTALL := $(RUN) -m pip install --quiet --disable-pip-version-check --no-compile -c $(PINS)
# pip makes bytecode of one file after another, which takes half of an installation; here all processors do, but not of
# the tests of packages, a third of all
BYTECODE := $(RUN) -m compileall -qq -j 0 -x '/tests/' $(VENV)/lib || :
# a file in one process, in order: what its tests share is made once (pytest-xdist #1386: groups are ignored with pytest 9.2)
PYTEST := $(RUN) -m pytest -n logical --maxprocesses 8 --dist loadfile --no-loadscope-reorder
SUITE := $(PYTEST) -m "not long"
DEMO := build/demo/noisy-kuramoto

export PIP_NO_INPUT := 1

.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help demo test long oldest coverage lint types docs benchmark dist clean

help: ## this list
	@echo "usage: make TARGET"
	@awk -F ':.*## ' '/^[a-z]+:.*## / {printf "  %-10s %s\n", $$1, $$2}' Makefile

demo: $(READY)-run ## solve the noisy Kuramoto model, plot it, check it against its exact stationary state
	@mkdir -p $(dir $(DEMO))
	$(VENV)/bin/mfpde solve mfpde/examples/noisy-kuramoto.yaml -o $(DEMO).h5 --force
	$(VENV)/bin/mfpde plot $(DEMO).h5 -o $(DEMO).png
	$(VENV)/bin/mfpde validate kuramoto-order-parameter
	@echo "The figure is $(DEMO).png"

test: $(READY)-test ## the fast test-suite, doctests included
	$(SUITE) $(ARGS)

long: $(READY)-test ## the tests that `make test` leaves out: runs of full size
	$(PYTEST) -m long $(ARGS)

oldest: ## the fast test-suite with the oldest versions that setup.cfg admits, in an environment of its own
	@$(MAKE) --no-print-directory test VENV=$(VENV)-oldest PINS=.ci/oldest.txt PYTHON=$(OLDEST_PYTHON)

coverage: $(READY)-test ## lines and branches that the fast test-suite passes, outside of compiled kernels
	$(SUITE) --cov --cov-report=term --cov-report=html $(ARGS)
	@echo "Line by line: build/coverage/html/index.html"

lint: $(READY)-dev ## style (ruff)
	$(RUN) -m ruff check .

types: $(READY)-dev ## types (mypy, strict)
	$(RUN) -m mypy

docs: $(READY)-docs ## the documentation as HTML, warnings are errors
	$(RUN) -m sphinx -W --keep-going -q -b html -d build/docs/doctrees docs build/docs/html
	@echo "The documentation is build/docs/html/index.html"

benchmark: $(READY)-test ## run the scripts in benchmarks/
	@set -e; for script in benchmarks/*.py; do \
	    [ -e "$$script" ] || { echo "benchmarks/ holds no scripts"; exit 1; }; \
	    echo "$$script"; $(RUN) "$$script"; \
	done

dist: $(READY)-dev ## sdist and wheel
	@rm -rf build/lib build/bdist.* build/dist  # setuptools would pack what an older build left there
	$(RUN) -m build --no-isolation --outdir build/dist .
	@rm -rf mfpde.egg-info

clean: ## remove everything generated, the environment included
	rm -rf build $(VENV) $(VENV)-oldest *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(READY)-run: $(READY) $(DESCRIPTION)
	$(INSTALL) --no-build-isolation -e .
	@$(BYTECODE)
	@touch $@

$(READY)-test $(READY)-dev $(READY)-docs: $(READY)-%: $(READY) $(DESCRIPTION)
	$(INSTALL) --no-build-isolation -e '.[$*]'
	@$(BYTECODE)
	@touch $@

$(READY): $(PINS)
	@if $(RUN) -c 'import sys; sys.exit(sys.version_info < (3, 11))' && $(RUN) -m pip --version; then :; else \
	    for candidate in $(PYTHON); do \
	        "$$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || continue; \
	        found=$$candidate; \
	        "$$candidate" -c 'import ensurepip, venv' || continue; \
	        echo "creating $(VENV) with $$candidate" >&3; \
	        "$$candidate" -m venv --clear $(VENV) && exit 0; \
	    done; \
	    if [ -n "$$found" ]; then \
	        echo "$$found cannot make virtual environments: install its venv module (Debian, Ubuntu: apt install python3-venv)." >&3; \
	    else \
	        echo "mfpde needs Python 3.11 or newer, and none of these runs: $(PYTHON). Say where it is: make PYTHON=/path/to/python3" >&3; \
	    fi; \
	    exit 1; \
	fi 3>&2 >/dev/null 2>&1
	$(INSTALL) setuptools
	@touch $@
