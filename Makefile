# Every target does its own set-up into .venv.
RUN = .venv/.run
READY = .venv/.ready
BIN = .venv/bin
PYTHON ?= python3

# pip compiles nothing: what Python compiles at the first import must be kept, also where the environment says otherwise
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo studies test test-all test-oldest fuzz coverage docs bench bench-check bench-large lint format audit-deps clean

help:
	@echo "make demo      compare three ways to anonymize 30,000 invented people, release and verify"
	@echo "make studies   the papers' experiments, re-run; ADULT=folder of UCI's Adult, else an invented census"
	@echo "make test      the tests (minutes)"
	@echo "make test-all  the tests, slow ones too, and every law on all its tables"
	@echo "make test-oldest  the unit tests, in an environment of the least versions that are declared"
	@echo "make fuzz      random tables and policies, each release judged afresh; SECONDS=600"
	@echo "make coverage  the tests, and which lines of each module no test runs"
	@echo "make docs      the documentation site, into site/"
	@echo "make bench     the benchmarks; writes benchmarks/results.md"
	@echo "make bench-check  what became slower beside ARX than benchmarks/arx.md has it, by more than 20 %"
	@echo "make bench-large  those of tables bigger than memory; writes docs/growth.md"
	@echo "make audit-deps  known vulnerabilities of the pinned packages; writes build/shoal.cdx.json (CycloneDX)"
	@echo "make lint      ruff, mypy, import-linter, the shape of the code, the subjects of commits"

# an editable install lists its modules: a folder is newer once a module was added to it or taken from it
$(RUN): requirements/run.txt requirements/build.txt pyproject.toml CMakeLists.txt scripts/setup.sh \
		$(wildcard src/shoal/kernels/*.?pp) \
		$(shell find src/shoal -type d -not -name __pycache__)
	@PYTHON="$(PYTHON)" sh scripts/setup.sh run

$(READY): $(RUN) requirements/dev.txt requirements/data.txt
	@sh scripts/setup.sh dev

demo: $(RUN)
	@$(BIN)/python -m shoal.datasets demo --rows 30000 > /dev/null
	@rm -rf demo/out demo/out.private
	@echo "30,000 people who do not exist: demo/census.csv begins so."; echo; head -n 4 demo/census.csv; echo
	@echo "What to release of them, and what must hold then, is asked in demo/policy.toml."
	@echo "Three ways to do it, side by side:"; echo
	$(BIN)/shoal compare demo/census.csv --policy demo/policy.toml --algorithms optimal,mondrian,local --rows 3
	@echo "The policy asks for mondrian: ages stay readable, and it is done at once. Now the release:"; echo
	$(BIN)/shoal anonymize demo/census.csv --policy demo/policy.toml --out demo/out
	@echo; echo "Anybody can check that it holds:"; echo
	$(BIN)/shoal verify demo/out --original demo/census.csv
	@echo "Look at it: demo/out/report.html is its page, demo/out/data.csv the table."
	@echo "Keep to yourself: demo/out.private, whose page tells what was lost and what attacks found."

studies: $(READY)
	$(BIN)/shoal study all --out studies $(if $(ADULT),--adult "$(ADULT)")
	@echo "Tables and figures lie in studies/: open studies/index.md."

test: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist loadgroup -m "not slow"

test-all: $(READY)
	SHOAL_TESTS=all $(BIN)/python -m pytest -q -n auto --dist loadgroup

# an environment of its own; what old versions of others deprecate is no matter of ours
OLDEST = .venv-oldest

test-oldest: requirements/oldest.txt requirements/oldest-tests.txt requirements/build.txt
	@test -x $(OLDEST)/bin/python || $(PYTHON) -m venv $(OLDEST)
	@$(OLDEST)/bin/python -m pip install --quiet -r requirements/build.txt -r requirements/oldest.txt \
		-r requirements/oldest-tests.txt
	@$(OLDEST)/bin/python -m pip install --quiet --no-build-isolation --no-deps .
	$(OLDEST)/bin/python -m pytest -q -W ignore::DeprecationWarning -m "not slow" tests/unit

fuzz: $(READY)
	$(BIN)/python tests/fuzz/fuzz.py --seconds $(or $(SECONDS),600)

coverage: $(READY)
	$(BIN)/python -m pytest -q -n auto --dist loadgroup -m "not slow" --cov --cov-report=term

# the examples of the pages are run by the tests
docs: $(READY)
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "The site lies in site/: open site/index.html."

bench: $(READY)
	$(BIN)/python benchmarks/run.py
	$(BIN)/python benchmarks/survey.py
	$(BIN)/python benchmarks/hybrid.py
	$(BIN)/python benchmarks/mondrian.py
	$(BIN)/python benchmarks/local.py
	$(BIN)/python benchmarks/workload.py
	$(BIN)/python benchmarks/c45.py
	$(BIN)/python benchmarks/join.py
	$(BIN)/python benchmarks/mitigations.py
	$(BIN)/python benchmarks/republish.py
	$(BIN)/python benchmarks/arx.py

bench-check: $(READY)
	@$(BIN)/python benchmarks/arx.py --check

# minutes, and some 10 GB of disk
bench-large: $(READY)
	$(BIN)/python benchmarks/large.py --write
	$(BIN)/python benchmarks/large_mondrian.py --write
	$(BIN)/python benchmarks/spark.py
	$(BIN)/python benchmarks/growth.py

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/python scripts/structure.py
	$(BIN)/python scripts/commits.py

format: $(READY)
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

audit-deps: $(RUN)
	@$(BIN)/python scripts/audit_deps.py

clean:
	rm -rf .venv .venv-oldest build demo studies site .pytest_cache .mypy_cache .ruff_cache .hypothesis .import_linter_cache
