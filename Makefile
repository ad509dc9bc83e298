# Every target works from a bare clone: `venv` installs what is missing and is quick when nothing is.

SHELL := /bin/bash
# tools/setup records which Java runtime it found; Spark reads JAVA_HOME.
RUN = JAVA_HOME="$$(cat .venv/java-home)" .venv/bin
SOURCES = src tests tools $(wildcard examples) $(wildcard benchmarks)

.PHONY: help demo test check bench soak docs wheel layers format venv

help:
	@echo "make demo     run an event-time streaming job on embedded Spark"
	@echo "make test     run all tests"
	@echo "make check    format, lint, strict types, import layers"
	@echo "make bench    measure Funke beside PyFlink and Spark, write docs/benchmarks.md"
	@echo "make soak     run streams of random shapes, then disturb a job at random for ten minutes and verify it (SHAPES=100, SECONDS=60, SEED=1, KINDS=kill,pause, FAULTS=1)"
	@echo "make docs     build the documentation site, which \`funke docs\` opens"
	@echo "make wheel    build the package with its documentation into dist/"
	@echo "make layers   check that imports point downwards"
	@echo "make format   format the sources and mend what the linter can mend"
	@echo "make venv     create .venv and install what is missing"

demo: venv
	@$(RUN)/funke run examples/demo.py

test: venv
	@tools/test-packages
	@$(RUN)/python tools/run_tests.py -q -n 3 --dist worksteal

check: venv
	@.venv/bin/ruff format --check $(SOURCES)
	@.venv/bin/ruff check $(SOURCES)
	@.venv/bin/mypy
	@.venv/bin/python tools/layers.py
	@.venv/bin/python tools/words.py

bench: venv
	@$(RUN)/python benchmarks/run.py --write

SECONDS = 600
SHAPES = 500
soak: venv
	@FUNKE_TEST_SHAPES=$(SHAPES) $(RUN)/python -m pytest -q --timeout 3600 -k shape tests/unit/runtime/pipelined
	@$(RUN)/python tools/kafka_soak.py $(if $(SEED),--seed $(SEED)) $(if $(FAULTS),--faults)
	@$(RUN)/python tools/soak.py --seconds $(SECONDS) $(if $(SEED),--seed $(SEED)) $(if $(KINDS),--kinds $(KINDS)) $(if $(FAULTS),--faults)

docs: venv
	@.venv/bin/python tools/docs_site.py

wheel: docs
	@.venv/bin/python -m pip wheel --quiet --no-deps --wheel-dir dist .

layers: venv
	@.venv/bin/python tools/layers.py

format: venv
	@.venv/bin/ruff check --fix $(SOURCES)
	@.venv/bin/ruff format $(SOURCES)

venv:
	@tools/setup
