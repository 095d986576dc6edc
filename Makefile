# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Every target does its own set-up (tools/setup.sh), which takes no time when nothing has changed.
# Variables: DATA=folder of class folders (demo, bench), PYTHON=interpreter, ARGS=more arguments for
# demo, bench and, in test and test-dali, pytest.

SETUP = tools/setup.sh
PY = .venv/bin/python
BUILD = build/dev

.PHONY: help all build demo test test-dali wheel bench check clean distclean

help:
	@echo "make demo        run the training pipeline on sample photographs (DATA=folder for yours)"
	@echo "make test        all C and Python tests; compares with recorded results of DALI"
	@echo "make test-dali   install DALI and compare with it directly"
	@echo "make build       build and install into .venv"
	@echo "make wheel       self-contained wheel in dist/"
	@echo "make bench       Headrace, DALI and torchvision side by side (DATA=folder for yours)"
	@echo "make check       formatting, include direction, licence headers"
	@echo "make clean       remove builds (distclean: .venv and caches, too)"

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

test-dali:
	@$(SETUP) system venv torch peers install
	@$(PY) tests/ops/record.py --check
	@$(PY) -m pytest tests --dali $(ARGS)

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
