# Everything a person types here works on a fresh machine: `make demo`, `make test`.
SHELL := /bin/bash
PYTHON ?= python3
BIN := .venv/bin
RELEASE := .venv-release/bin
SOAK_SECONDS ?= 120
LEADERS_SECONDS ?= 3600

.DEFAULT_GOAL := help
.PHONY: help setup demo test test-fast test-engine test-soak lint format crds docs site lock bench clean

help: ## Show this list
	@awk -F':.*## ' '/^[a-z-]+:.*## /{printf "  %-10s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: .venv/.ready ## Make .venv with the locked dependencies

.venv/.ready: pyproject.toml requirements/base.txt requirements/dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "ridgeline needs Python 3.11 or newer; name one with: make setup PYTHON=python3.11"; exit 1; }
	@echo "setup: making .venv with the locked dependencies"
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/dev.txt
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
	@touch $@

demo: setup ## Watch two rolls on a real cluster (brings it up, takes it down)
	@$(BIN)/python -m tests.demo $(DEMO_ARGS)

test: setup ## Run every test, on a real cluster where it matters
	@$(BIN)/python -m pytest $(TEST_ARGS)

test-fast: setup ## Run the quick unit and property tests alone (about two minutes)
	@$(BIN)/python -m pytest tests/unit tests/property -q -m "not slow"

test-engine: setup ## Test against the real vLLM on CPU (installs 6 GB; half an hour on two cores)
	@$(BIN)/python -m tests.engine.install
	@RIDGELINE_ENGINE=1 $(BIN)/python -m pytest tests/engine -q $(TEST_ARGS)

test-soak: setup ## Watch ten minutes of steady state: nothing but the Lease is written
	@RIDGELINE_SOAK_SECONDS=600 $(BIN)/python -m pytest tests/e2e/test_steady_state.py -q

.PHONY: test-soak-day
test-soak-day: setup ## Play a day of traffic, people and faults in simulated time (ten minutes); write the table
	@$(BIN)/python -m tests.soak $(SOAK_ARGS)
	@$(BIN)/python -m tests.tools.soak_table docs/reliability.md

.PHONY: test-scenarios
test-scenarios: setup ## Roll into what looks well and is not, on a real cluster (a few minutes)
	@RIDGELINE_SCENARIOS=1 $(BIN)/python -m pytest tests/e2e/test_e2e_scenarios.py -q $(TEST_ARGS)

.PHONY: test-faults
test-faults: setup ## Strike every fault at every step of a roll on a real cluster (an hour); write the table
	@$(BIN)/python -m tests.faults
	@$(BIN)/python -m tests.tools.real_fault_matrix docs/reliability.md

.PHONY: test-bad-day
test-bad-day: setup ## Strike an API server, Prometheus and machine that fail in every other way (half an hour); write the table
	@$(BIN)/python -m tests.faults.day
	@$(BIN)/python -m tests.tools.bad_day_table docs/reliability.md

.PHONY: test-leaders
test-leaders: setup ## Stop and kill two operators for an hour (LEADERS_SECONDS), an observer beside them; write the table
	@$(BIN)/python -m tests.leaders --seconds $(LEADERS_SECONDS) $(if $(LEADERS_SEED),--seed $(LEADERS_SEED))
	@$(BIN)/python -m tests.tools.leaders_table docs/reliability.md

lint: setup ## Check style, types, import contracts, generated files
	@$(BIN)/ruff format --check --quiet . || { echo "run: make format"; exit 1; }
	@$(BIN)/ruff check --quiet .
	@$(BIN)/mypy
	@$(BIN)/lint-imports --no-cache > .lint-imports.log || { cat .lint-imports.log; exit 1; }
	@rm -f .lint-imports.log
	@$(BIN)/python -m ridgeline.api.crd --check
	@$(BIN)/python -m ridgeline.telemetry.document --check docs/reference/telemetry.md
	@$(BIN)/python -m ridgeline.settings.document --check docs/reference/accelerators.md
	@$(BIN)/python -m ridgeline.settings.model_document --check docs/reference/models.md
	@$(BIN)/python -m ridgeline.settings.engine_contract_document --check docs/reference/engine-versions.md
	@for page in reasons configuration metrics cli alerts; do \
	  $(BIN)/python -m tests.tools.$$page --check docs/reference/$$page.md || exit 1; done
	@$(BIN)/python -m tests.tools.chart --check
	@$(BIN)/python -m tests.tools.guard --check
	@$(BIN)/python -m sphinx -q -W --keep-going -b dummy -d .cache/doctrees -c docs/site docs .cache/site
	@$(BIN)/yamllint --strict crds deploy
	@test ! -e operator/__init__.py || { echo "operator/__init__.py shadows the standard library"; exit 1; }

format: setup ## Format the code
	@$(BIN)/ruff format --quiet . && $(BIN)/ruff check --quiet --fix .

crds: setup ## Generate crds/, the copies in chart and kustomize, and pages of docs/reference
	@$(BIN)/python -m ridgeline.api.crd
	@$(BIN)/python -m ridgeline.telemetry.document docs/reference/telemetry.md
	@$(BIN)/python -m ridgeline.settings.document docs/reference/accelerators.md
	@$(BIN)/python -m ridgeline.settings.model_document docs/reference/models.md
	@$(BIN)/python -m ridgeline.settings.engine_contract_document docs/reference/engine-versions.md
	@for page in reasons configuration metrics cli alerts; do \
	  $(BIN)/python -m tests.tools.$$page docs/reference/$$page.md || exit 1; done
	@$(BIN)/python -m tests.tools.compared docs/concepts/compared.md
	@$(BIN)/python -m tests.tools.chart
	@$(BIN)/python -m tests.tools.guard
	@$(BIN)/python -m tests.tools.kustomize
	@$(BIN)/python -m tests.tools.stand_in_releases
	@$(BIN)/python -m tests.tools.argocd

docs: crds

site: setup ## Build the documentation as a site into dist/site, links checked
	@$(BIN)/python -m sphinx -q -W --keep-going -b html -c docs/site docs dist/site
	@echo "site: open dist/site/index.html"

lock: setup ## Lock the dependencies anew (hashes, no registry addresses)
	@$(BIN)/python -m tests.tools.lock
	@$(BIN)/python -m uv pip compile --quiet requirements/release.in --universal --generate-hashes \
	  --no-emit-index-url --no-header --no-annotate --python-version 3.11 --output-file requirements/release.txt

.PHONY: audit sbom lint-workflows
.venv-release/.ready: requirements/release.txt
	@test -x $(RELEASE)/python || $(PYTHON) -m venv .venv-release
	@$(RELEASE)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	@touch $@

audit: .venv-release/.ready ## Compare what the operator runs on with known vulnerabilities (asks PyPI)
	@$(RELEASE)/pip-audit --strict --disable-pip --require-hashes --progress-spinner off -r requirements/base.txt

sbom: .venv-release/.ready ## List what the operator runs on, as CycloneDX: dist/ridgeline.cdx.json
	@mkdir -p dist
	@PYTHONWARNINGS=ignore $(RELEASE)/cyclonedx-py requirements requirements/base.txt --pyproject pyproject.toml \
	  --mc-type application --output-reproducible --output-format JSON --output-file dist/ridgeline.cdx.json

lint-workflows: .venv-release/.ready ## Look for what can be abused in the workflows of .github
	@$(RELEASE)/zizmor --offline --no-progress --quiet .github

bench: setup ## Run the benchmarks in their short forms
	@$(BIN)/python -m benchmarks.tick
	@$(BIN)/python -m benchmarks.prediction
	@$(BIN)/python -m benchmarks.telemetry --replicas 2000 --cycles 2
	@$(BIN)/python -m benchmarks.control --quick
	@$(BIN)/python -m benchmarks.rollback
	@$(BIN)/python -m benchmarks.scale --sizes 5,10 --replicas 2 --tick-seconds 1 --window-seconds 8 --scrape-seconds 1 --ticks 5

.PHONY: bench-scale
bench-scale: setup ## Measure 1,000 servings of 20 replicas on a real API server (an hour or more); draw docs/images/scale.svg
	@$(BIN)/python -m benchmarks.scale --plot docs/images/scale.svg

clean: ## Remove .venv and every cache in this folder
	@rm -rf .venv .venv-release .cache .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis dist
