# Everything sets itself up: `make demo` and `make test` work on a fresh clone with Python 3.11 or newer.
PYTHON ?= python3
VENV := .venv
RUN := $(VENV)/bin/python
STAMP := $(VENV)/.installed
BENCHMARKS := startup decoders online replay salami change_points multilabel labels ordinal drift manifolds rankings sequences documents trees endless riverfaces states reports threads serve

.PHONY: demo dist serve docs test test-blas test-shuffled test-slow fuzz lint bench plots spark spark-slow spark-bench theory study clean

$(STAMP)-%: pyproject.toml
	test -x $(RUN) || $(PYTHON) -m venv $(VENV)
	$(RUN) -m pip install --quiet --disable-pip-version-check -e '.[$*]'
	touch $@

demo: $(STAMP)-demo
	$(RUN) examples/demo.py

serve: $(STAMP)-serve
	$(VENV)/bin/oskaar serve --data ./state --port 8000 --demo --no-access-log

docs: $(STAMP)-docs
	$(RUN) -m sphinx -W --keep-going -n -q -b html docs docs/_build/html
	@echo "open docs/_build/html/index.html"

# Wheel and source distribution in dist/, checked, and installed in an empty environment that runs the demonstration.
dist: $(STAMP)-dist
	PYTHON=$(PYTHON) TOOLS=$(RUN) .ci/dist

lint: $(STAMP)-dev
	$(RUN) -m ruff check conftest.py docs/conf.py docs/_ext src tests benchmarks examples study
	$(RUN) -m ruff format --check conftest.py docs/conf.py docs/_ext src tests benchmarks examples study
	$(RUN) -m mypy
	$(VENV)/bin/lint-imports --no-logo

test: lint
	$(RUN) -m pytest -n 2 -q

# The default suite with the code that OpenBLAS has for other processors: CORES="Prescott Haswell Zen SkylakeX"
CORES ?= Prescott Haswell Zen
test-blas: $(STAMP)-dev
	for core in $(CORES); do echo "== $$core"; OPENBLAS_CORETYPE=$$core $(RUN) -m pytest -n 2 -q || exit 1; done

# The default suite in another order: make test-shuffled SEED=7 for one that has failed
SEED := $(or $(SEED),$(strip $(shell od -An -N2 -tu2 /dev/urandom)))
test-shuffled: $(STAMP)-dev
	@echo "== SEED=$(SEED)"
	$(RUN) -m pytest -n 2 -q --shuffle $(SEED)

# Property tests on examples that no run has seen, 20 times as many; a failure prints how to see it again.
fuzz: $(STAMP)-dev
	$(RUN) -m pytest -n 2 -q --hypothesis-profile=fuzz

test-slow: $(STAMP)-dev
	$(RUN) -m pytest -q -m "not spark"

bench: $(STAMP)-bench
	cd benchmarks && for file in $(BENCHMARKS); do echo "== $$file"; ../$(RUN) $$file.py || exit 1; done

plots: $(STAMP)-bench
	$(RUN) examples/regret.py
	$(RUN) examples/tutorial_pictures.py

# Spark wants other versions of some packages than the rest of the project: it has an environment of its own.
SPARK := .venv-spark/bin/python
.venv-spark/.installed: pyproject.toml
	.ci/java
	test -x $(SPARK) || $(PYTHON) -m venv .venv-spark
	$(SPARK) -m pip install --quiet --disable-pip-version-check -e '.[spark]' 'hypothesis>=6.100' 'pytest>=8.0' 'scikit-learn>=1.6'
	touch $@

spark: .venv-spark/.installed
	$(SPARK) -m pytest -q -m "spark and not slow" tests/spark
	$(SPARK) examples/spark.py

spark-slow: .venv-spark/.installed
	$(SPARK) -m pytest -q -m "spark" tests/spark

spark-bench: .venv-spark/.installed
	$(SPARK) benchmarks/spark.py

theory: $(STAMP)-bench
	$(RUN) examples/theory

study: $(STAMP)-study
	$(RUN) -m study --jobs 2 --docs

clean:
	rm -rf $(VENV) .venv-spark build dist docs/_build docs/api *.egg-info .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
