# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Every target does its own set-up (tools/setup.sh) and is quick when there is nothing to do.
# Variables: DATA=folder of class folders (demo, bench), PYTHON=interpreter, ARGS=more arguments for
# demo, test (pytest) and bench.

SETUP = tools/setup.sh
PY = .venv/bin/python
BUILD = build/dev

.PHONY: help all build demo test wheel bench check clean distclean

help:
	@echo "make demo    train-pipeline demo on sample photographs (DATA=folder for yours)"
	@echo "make test    all C and Python tests"
	@echo "make build   build and install into .venv"
	@echo "make wheel   self-contained wheel in dist/"
	@echo "make bench   Headrace, DALI and torchvision side by side (DATA=folder for yours)"
	@echo "make check   format, include direction, licence headers, types"
	@echo "make clean   remove builds (distclean: .venv and caches too)"

all: build

build:
	@$(SETUP) system venv install

demo: build
	@if [ -z "$$DATA" ]; then $(PY) tools/make_demo_data.py .cache/demo-data; fi
	@mkdir -p demo
	@.venv/bin/headrace demo "$${DATA:-.cache/demo-data}" -o demo/contact-sheet.png $(ARGS)

test:
	@$(SETUP) system venv torch install
	@cmake --build $(BUILD)
	@status=0; \
	ctest --test-dir $(BUILD) --output-on-failure || status=1; \
	$(PY) -m pytest tests $(ARGS) || status=1; \
	exit $$status

wheel:
	@$(SETUP) system venv wheel

bench:
	@$(SETUP) system venv torch peers install
	@$(PY) bench/compare.py $${DATA:+--data "$$DATA"} $(ARGS)

check:
	@$(SETUP) system lint venv
	@tools/check/all.sh

clean:
	rm -rf build dist .cache/install.stamp

distclean: clean
	rm -rf .venv .cache .pytest_cache .mypy_cache .hypothesis
