# `make demo` and `make test` set up everything they need: see scripts/setup.
.DEFAULT_GOAL := help
.PHONY: help setup demo quick test serve bench lint integrations wheel docs audit sbom lock page clean

PYTHON ?= python3
# One more than CI has cores, as tests also wait; with two more the processor was never idle, and nothing was quicker.
WORKERS ?= 3
BIN := .venv/bin
STAMP := .venv/.ready
# Java starts from it in half the processor time, some fifty times in the tests.
ARCHIVE := .venv/share/omnigraph/spark-classes.jsa

# Where memory has room for it, tests keep their graphs there: on a disk they wait for its flushes, a third of the time.
ROOMY_MEMORY := $(shell test "$$(df --output=avail -k /dev/shm 2>/dev/null | tail -n 1)" -gt 12000000 2>/dev/null && echo /dev/shm)
TEST_TMPDIR ?= $(if $(TMPDIR),$(TMPDIR),$(if $(ROOMY_MEMORY),$(ROOMY_MEMORY),/tmp))

# Hundreds of processes start in the tests: without compiled files each would compile pandas again.
unexport PYTHONDONTWRITEBYTECODE

help:  ## show this list
	@grep -hE '^[a-z]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 10

$(STAMP): requirements.lock pyproject.toml scripts/setup
	@PYTHON="$(PYTHON)" scripts/setup

setup: $(STAMP)  ## create .venv with the locked dependencies, and Java when it is missing

demo: $(STAMP)  ## tell the product's story on real data
	@$(BIN)/python examples/demo.py

quick: $(STAMP)  ## run the tests that take neither Java nor S3 nor long: about two minutes
	@TMPDIR=$(TEST_TMPDIR) $(BIN)/python -m pytest -n 2 -m "not long and not s3" tests/unit tests/golden tests/conformance

$(ARCHIVE): $(STAMP)
	@$(BIN)/omnigraph --quiet spark prepare || echo "without Java, the tests of Spark fail"

test: $(STAMP) lint $(ARCHIVE)  ## run every test
	@TMPDIR=$(TEST_TMPDIR) $(BIN)/python -m pytest -n $(WORKERS) --no-loadscope-reorder

lint: $(STAMP)  ## style, types and the direction of imports
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy & types=$$!; $(BIN)/lint-imports --no-cache; imports=$$?; wait $$types && exit $$imports

bench: $(STAMP)  ## measure for at most 20 minutes and write dist/benchmarks/report.md, with plots
	@$(BIN)/python benchmarks/_report.py

serve: $(STAMP)  ## start the server on the demo graph
	@test -d demo-graph -a ! -e demo-graph.unfinished || $(BIN)/python examples/demo.py < /dev/null
	@$(BIN)/omnigraph serve demo-graph --unauthenticated

integrations: $(STAMP)  ## run the tests of LangChain, LlamaIndex, igraph and Dagster with the libraries of today
	@$(BIN)/uv run --isolated --no-project --with-requirements requirements.lock --with-editable . --with langchain-core \
	  --with llama-index-core --with igraph --with dagster python -m pytest -n 0 tests/integrations

wheel: $(STAMP)  ## install the wheel in new environments of Python 3.11 to 3.13, and follow the tutorial there
	@$(BIN)/python scripts/try_wheel.py

docs: $(STAMP)  ## build the site of the documentation in site/
	@$(BIN)/uv tool run --from zensical==0.0.73 zensical build --config-file mkdocs.yml

audit: $(STAMP)  ## compare the locked dependencies with known vulnerabilities
	@$(BIN)/uv tool run --from pip-audit==2.10.1 pip-audit --strict --disable-pip --requirement requirements.lock

sbom: $(STAMP)  ## list what is installed, as CycloneDX, in dist/sbom.json
	@mkdir -p dist
	@$(BIN)/uv tool run --from cyclonedx-bom==7.3.0 cyclonedx-py environment .venv --output-file dist/sbom.json

lock: $(STAMP)  ## resolve the dependencies again
	@$(BIN)/uv pip compile --quiet --python-version 3.11 --all-extras --group dev --generate-hashes --no-emit-index-url \
	  --no-annotate --no-header pyproject.toml --output-file requirements.lock

page:  ## build the page of the server from webui/, with Node; what it makes is committed
	@$(PYTHON) scripts/build_page.py

clean:  ## remove the environment and caches
	@rm -rf .venv .pytest_cache .mypy_cache .ruff_cache .hypothesis demo-graph demo-graph.unfinished
