# SPDX-License-Identifier: Apache-2.0
# Copyright The Headrace authors
# Every target first runs the set-up steps that it needs (tools/setup.sh). They are fast if nothing has changed.
# Variables:
#   DATA    data set for demo and bench: a folder with one subfolder of images per class
#   PYTHON  Python interpreter for .venv
#   ARGS    further arguments of demo and bench, or of pytest in test and test-dali

SETUP = tools/setup.sh
PY = .venv/bin/python
BUILD = build/dev
PARALLEL = -n auto --maxprocesses 8 --dist worksteal

# Otherwise every process of the tests would compile the modules that it imports: four seconds for PyTorch.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help all build demo test test-dali wheel wheel-aarch64 video-wheel bench bench-kernels docs check clean distclean

help:
	@echo "make demo        run the training pipeline on sample photographs (or on DATA=folder)"
	@echo "make test        run all C and Python tests; they compare with recorded results of DALI"
	@echo "make test-dali   install DALI and run the tests that compare with it directly"
	@echo "make build       build and install into .venv"
	@echo "make wheel       build a self-contained wheel in dist/ (make wheel-aarch64: for 64-bit Arm)"
	@echo "make video-wheel build the wheel of headrace-video, which decodes videos and the sound of containers, in dist/"
	@echo "make bench       measure Headrace, DALI and torchvision (on DATA=folder)"
	@echo "make bench-kernels  time every kernel at each CPU level (BASE=file: and compare with its earlier output)"
	@echo "make docs        build the documentation in build/docs/html"
	@echo "make check       check formatting, include directions and licence headers"
	@echo "make clean       remove builds (distclean: also .venv and caches)"

all: build

build:
	@$(SETUP) system venv install

demo: build
	@if [ -z "$$DATA" ]; then $(PY) tools/make_demo_data.py .cache/demo-data; fi
	@mkdir -p demo
	@.venv/bin/headrace demo "$${DATA:-.cache/demo-data}" -o demo/contact-sheet.png $(ARGS)

# Packages for the tests are downloaded while the compiler works. Tests that measure times run last, alone.
test:
	@$(SETUP) system nginx venv
	@$(SETUP) test & packages=$$!; $(SETUP) install && cmake --build $(BUILD) && wait $$packages
	@status=0; \
	ctest --test-dir $(BUILD) --output-on-failure --parallel $$(nproc) || status=1; \
	$(PY) -m pytest tests $(PARALLEL) $(ARGS) || status=1; \
	$(PY) -m pytest $$(grep -rl --include='test_*.py' mark.timing tests) -m timing -n 0 $(ARGS) --no-cov || \
	    [ $$? = 5 ] || status=1; \
	exit $$status

test-dali:
	@$(SETUP) system venv test peers install
	@$(PY) tests/ops/record.py --check
	@$(PY) -m pytest tests --dali $(PARALLEL) $(ARGS)

wheel:
	@$(SETUP) system venv wheel

wheel-aarch64:
	@$(SETUP) system venv install wheel-aarch64

video-wheel:
	@$(SETUP) system venv video-wheel

bench:
	@$(SETUP) system venv test peers install
	@$(PY) bench/compare.py $${DATA:+--data "$$DATA"} $(ARGS)

bench-kernels:
	@$(SETUP) system
	@cmake -S . -B build/kernels -G Ninja >&2
	@cmake --build build/kernels --target test_kernels_levels >&2
	@build/kernels/tests/test_kernels_levels --bench $(BASE)

docs:
	@$(SETUP) system venv docs install
	@$(PY) tools/docs/notebooks.py --pages build/docs/notebooks
	@$(PY) tools/docs/build.py build/docs

check:
	@$(SETUP) system lint venv
	@tools/check/all.sh

clean:
	rm -rf build dist .cache/install.stamp

distclean: clean
	rm -rf .venv .cache .pytest_cache .mypy_cache .hypothesis
