# What a contributor runs; `make` alone lists it. A fresh clone needs python3 (3.11 or newer) and pip.
VENV := .venv
BIN := $(VENV)/bin
PYTHON ?= python3
INSTALLED := $(VENV)/installed

.DEFAULT_GOAL := help
.PHONY: help check lint format test slow ci nightly docs site gallery bench-smoke paper coverage hooks clean

help: ## list these targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# README's second command without its tests; again whenever the dependencies change.
$(INSTALLED): pyproject.toml
	$(PYTHON) -m venv --without-pip $(VENV)
	$(PYTHON) -m pip --python $(BIN)/python install -q -e '.[dev]'
	@touch $@

check: lint test ## before a commit: lint, types, import contracts, fast tests

lint: $(INSTALLED) ## ruff, format check, mypy, import contracts; changes nothing
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy -p fuzztui
	$(BIN)/mypy benchmarks/*.py experiments/*.py
	$(BIN)/lint-imports
	$(BIN)/zizmor --offline --quiet .github

format: $(INSTALLED) ## format the code, and fix what ruff can fix
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

test: $(INSTALLED) ## the fast tests: about two minutes
	$(BIN)/pytest

slow: $(INSTALLED) ## the slow tests that this branch's changes need
	$(BIN)/python .ci/lanes.py --explain
	$(BIN)/pytest -m "slow and not nightly" $$($(BIN)/python .ci/lanes.py)

ci: ## what CI runs for a change (installs AFL++ and other tools when it may)
	.ci/run

nightly: ## what CI runs each night: every test, six times the examples
	.ci/run --all

docs: $(INSTALLED) ## write generated pages of docs/, the man page, the schema and the figures of README and docs again
	$(BIN)/python -m fuzztui.tools.schema.docs < docs/campaign.md > docs/campaign.md.new
	mv docs/campaign.md.new docs/campaign.md
	$(BIN)/fuzztui man > docs/fuzztui.1.new
	mv docs/fuzztui.1.new docs/fuzztui.1
	$(BIN)/fuzztui schema > campaign.schema.json.new
	mv campaign.schema.json.new sample_campaigns/campaign.schema.json
	$(BIN)/python benchmarks/readme.py
	$(BIN)/python docs/reference.py

site: $(INSTALLED) ## build the book into site/: `make site && python3 -m http.server -d site` shows it
	$(BIN)/mkdocs build --strict

gallery: $(INSTALLED) ## make the pictures of docs/gallery.md again: look at them (needs tmux; minutes)
	$(PYTHON) -m pip --python $(BIN)/python install -q -e '.[samples]'
	$(BIN)/python docs/images/gallery.py

bench-smoke: $(INSTALLED) ## run each benchmark with the smallest budgets
	$(PYTHON) -m pip --python $(BIN)/python install -q -e '.[bench]'
	$(BIN)/pytest -m slow tests/e2e/test_benchmarks.py

paper: $(INSTALLED) ## all tables of the papers and the peers with short budgets: a night on two cores
	$(PYTHON) -m pip --python $(BIN)/python install -q -e '.[bench]'
	$(BIN)/python experiments/paper.py --archive runs/paper.tar.gz

coverage: $(INSTALLED) ## which lines the fast tests execute
	$(PYTHON) -m pip --python $(BIN)/python install -q coverage
	$(BIN)/coverage run -m pytest -n 0
	$(BIN)/coverage combine -q
	$(BIN)/coverage report

hooks: $(INSTALLED) ## run ruff before each commit, mypy and the contracts before each push
	$(BIN)/pre-commit install

clean: ## remove caches and the virtual environment
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis .coverage*
