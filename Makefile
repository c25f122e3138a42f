# Parley's development loop. `make help` lists the targets.
#
# Every environment is made from one lock file and carries a stamp named for that file's content: set-up needs the
# network once, then never again until the lock changes. Tools run as `python -m`, so a checkout may be moved.

SHELL := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:

# Bytecode is kept whatever the caller's environment says: a run of the tests starts hundreds of processes.
export PYTHONDONTWRITEBYTECODE :=

# The first supported Python of these; PYTHON=... on the command line overrides the search.
SUPPORTED := import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))
PYTHON ?= $(shell for p in python3.11 python3.12 python3.13 python3; do \
	$$p -c '$(SUPPORTED)' 2>/dev/null && { echo $$p; break; }; done)

VENV := .venv
PY := $(VENV)/bin/python
stamp = $(1)/.made-from-$(notdir $(2))-$(firstword $(shell cksum < $(2)))

RUNTIME := $(call stamp,$(VENV),requirements/runtime.lock)
DEV := $(call stamp,$(VENV),requirements/dev.lock)
SCHEMATHESIS := $(call stamp,.venv-schemathesis,requirements/schemathesis.lock)
A2A_KIT := $(call stamp,.venv-a2a-kit,requirements/a2a-kit.lock)
BENCH := $(call stamp,.venv-bench,requirements/bench.lock)
UV_ENV := $(call stamp,.venv-uv,requirements/uv.lock)

# Node.js and pyright's own code are in wheels pinned by requirements/dev.lock, so the first run fetches nothing.
PYRIGHT := PYRIGHT_PYTHON_IGNORE_WARNINGS=1 $(PY) -m pyright

SWAGGER_UI := console/swagger-ui
SWAGGER_UI_VERSION := 5.35.0
SWAGGER_UI_FILES := LICENSE NOTICE swagger-ui-bundle.js swagger-ui-bundle.js.LICENSE.txt swagger-ui.css
# The package's `dist.integrity`: npm view swagger-ui-dist@VERSION dist.integrity
SWAGGER_UI_INTEGRITY := sha512-U06rpMtW9V3XPGOBeamTUSr0Z09jMX4IJuANpE/EZbAhw0G8CgwrzU4YmXkn/h0wCDNsXdGarTNNHC3sU8yVUQ==
# The console's libraries. Preact 11 has no file for a plain script, and its modules need an import map.
VENDOR := console/vendor
PREACT_VERSION := 10.29.8
PREACT_FILES := LICENSE dist/preact.umd.js hooks/dist/hooks.umd.js
PREACT_INTEGRITY := sha512-ej2aVZ+vZ8WO7tvlQWRM9N63A0KzF9q4mWJfDUHgYaIofWY9hu74QdnQrjoPMmZi2/nZ5gN0bJCQF49xQqx09Q==
HTM_VERSION := 3.1.1
HTM_FILES := LICENSE dist/htm.umd.js
HTM_INTEGRITY := sha512-983Vyg8NwUE7JkZ6NmOqpCZ+sh1bKv2iYTlUkzlWmA5JD2acKoxd4KVxbMmxX/85mtfdnDmTFoNKcg5DGAvxNQ==
UPLOT_VERSION := 1.6.32
UPLOT_FILES := LICENSE dist/uPlot.esm.js dist/uPlot.min.css
UPLOT_INTEGRITY := sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==
MARKDOWN_IT_VERSION := 15.0.3
MARKDOWN_IT_FILES := LICENSE dist/browser/markdown-it.umd.min.js
MARKDOWN_IT_INTEGRITY := sha512-+Az7Ojz3iRGu8KYMvJ6xVhvrxP3eE+vEtJX75Ow88XBpcQNV/0lGX5ZynIIBftREo4DC2jsveAMDaeltmm8QvQ==
# Its tables are in markdown-it's file, so its licence is here.
ENTITIES_VERSION := 8.1.0
ENTITIES_FILES := LICENSE
ENTITIES_INTEGRITY := sha512-kxL7msIffSuh9aaFAMD7rxAIuTRMAHMeBtgHW2yUdWw732ZNh4MehkF2gdjvtdmikkaIP9bFDDJOPlsvm7avrA==
INTEGRITY := import base64, hashlib, sys; \
	print("sha512-" + base64.b64encode(hashlib.sha512(open(sys.argv[1], "rb").read()).digest()).decode())

# $(call install,folder,lock): add the packages of a lock file by uv, which takes a quarter of pip's time; else by pip
install = .venv-uv/bin/uv pip install --quiet --python $(1)/bin/python --require-hashes -r $(2) 2>/dev/null \
	|| $(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes -r $(2)

# $(call make-venv,folder,lock): a new environment with exactly the packages of the lock file
define make-venv
	@[ -n "$(PYTHON)" ] && $(PYTHON) -c '$(SUPPORTED)' || { \
		echo "Parley needs Python 3.11 to 3.13; found: $$($(or $(PYTHON),python3) --version 2>&1)." \
			"Install python3.11, or name one: make PYTHON=/path/to/python3.11" >&2; exit 1; }
	@echo "Making $(1) from $(2)"
	@$(PYTHON) -m venv --clear $(1)
	@$(call install,$(1),$(2))
	@touch $@
endef

# $(call fetch-npm,folder,package,NAME,licence,target): fetch the NAME_FILES of a package's NAME_VERSION into a folder
define fetch-npm
	@tmp=$$(mktemp -d); trap 'rm -rf "$$tmp"' EXIT; \
	npm pack --silent --pack-destination "$$tmp" $(2)@$($(3)_VERSION) >/dev/null; \
	got=$$($(PYTHON) -c '$(INTEGRITY)' "$$tmp"/*.tgz); \
	[ "$$got" = "$($(3)_INTEGRITY)" ] || { \
		echo "$(2) $($(3)_VERSION) is $$got, not $(3)_INTEGRITY of the Makefile: nothing was unpacked" >&2; exit 1; }; \
	tar -xzf "$$tmp"/*.tgz -C "$$tmp"; mkdir -p $(1); \
	cd "$$tmp/package"; cp $($(3)_FILES) $(CURDIR)/$(1)/
	@cd $(1); sha256sum $(notdir $($(3)_FILES)) > SHA256SUMS
	@printf '%s\n' '$(2) $($(3)_VERSION), unchanged files of the npm package ($(4)).' \
		'To renew them: $(3)_VERSION and $(3)_INTEGRITY in the Makefile, then `make $(5)`.' > $(1)/VERSION
endef

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | sort | expand -t 16

.PHONY: run
run: $(RUNTIME) ## Start the gateway for development: no limits for new users, sandbox keys on, unless set otherwise (PORT=9000)
	@$(if $(PORT),PARLEY_PORT=$${PARLEY_PORT:-$(PORT)}) exec $(PY) server.py --development

# Compiled at once, because the account that runs the gateway may not write bytecode into the checkout.
.PHONY: install
install: $(RUNTIME) ## Set up or renew .venv with what the gateway needs to run, for production (docs/operations.md)
	@$(PY) -m compileall -q $(VENV)/lib server.py options.py actors config persistence routes

# NODES is the number of gateways, PORT that of the first, DATA the folder of everything.
NODES ?= 3
cluster: PORT ?= 8001
DATA ?= data/cluster

.PHONY: cluster
cluster: $(RUNTIME) postgres nats ## Start PostgreSQL, NATS and three gateways on this machine, for a try (NODES=5; Ctrl-C stops all)
	@exec $(PY) -m deploy.cluster --nodes $(NODES) --port $(PORT) --data $(DATA)

# With STORE=postgres: the tests for which the store matters, which is not so for unit tests without a store, pages,
# heads and connections of HTTP, the cost of passwords, engines and tool servers.
STORE ?= sqlite
SUITES_postgres = $(shell grep -lE 'tests\.support\.(disk|core|stores|in_process|postgres)\b' tests/unit/test_*.py) \
	tests/actors tests/contract tests/crash tests/service $(NOT_postgres:%=--ignore=tests/service/%)
NOT_postgres = pages tools chat/test_openai_engine.py chat/test_engine_with_tools.py start/test_development_start.py \
	http/test_behind_nginx.py http/test_connections.py http/test_http_heads.py http/test_malformed_bodies.py \
	http/test_parsing_steps.py http/test_unknown_members.py users/test_passwords.py webhooks/test_name_lookups.py

# With CLUSTER=3: the service tests, each request through a random node of three.
ifdef CLUSTER
STORE := postgres
SUITES_postgres := tests/service $(NOT_postgres:%=--ignore=tests/service/%) --ignore=tests/service/start
endif

# Tests wait for half of their time, so there are more processes of them than the two cores of a small machine.
WORKERS ?= 5

.PHONY: environments
environments: python-environments programs ## Set up all that the tests need

.PHONY: python-environments
python-environments: $(DEV) $(SCHEMATHESIS)

.PHONY: programs
programs: browser postgres nats haproxy

.PHONY: test
test: environments ## Run every test but the soak tests, in five processes (ARGS="-n 0" for one; STORE=postgres; CLUSTER=3)
	@STORE=$(STORE) CLUSTER=$(CLUSTER) $(PY) -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 25 $(if $(findstring tests/,$(ARGS)),,$(SUITES_$(STORE))) $(ARGS)

# Tests that hold rules of the house. RULES= leaves them to `make test`.
RULES ?= tests/unit/test_imports.py tests/unit/test_fetched_files.py tests/unit/test_console_files.py tests/unit/test_records.py

.PHONY: check
check: $(DEV) ## Format, lint, types, import directions, the console's files, drift of OpenAPI and of the Python client
	$(PY) -m ruff format --check
	$(PY) -m ruff check
	$(PYRIGHT)
	$(if $(RULES),$(PY) -m pytest -q $(RULES))
	$(PY) -m routes.openapi --check
	$(PY) -m clients.generator --check
	$(PY) -m mypy --no-error-summary -p parley_client

.PHONY: format
format: $(DEV) ## Format the code and apply ruff's safe fixes
	$(PY) -m ruff check --fix-only --quiet
	$(PY) -m ruff format

.PHONY: openapi
openapi: $(DEV) ## Write docs/openapi.json anew from the command table
	$(PY) -m routes.openapi --write

.PHONY: client
client: $(DEV) ## Write the generated files of clients/python anew, from the command table and its asynchronous half
	$(PY) -m clients.generator --write

.PHONY: soak
soak: $(DEV) $(SCHEMATHESIS) ## Run the soak tests: crash loads, the model and fuzzing at full size (minutes)
	$(PY) -m pytest -m soak --durations 25 $(ARGS)

.PHONY: bench
bench: $(RUNTIME) $(BENCH) ## Measure the gateway on this machine
	$(PY) -m bench $(ARGS)

.PHONY: bench-recall
bench-recall: $(DEV) ## Measure how well banks and conversations are remembered
	$(PY) -m bench.recall $(ARGS)

# Browser tests use the system's Chromium, because Playwright's own download of a browser needs the network.
.PHONY: browser
browser:
	@if ! command -v chromium-headless-shell >/dev/null && [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Debian's Chromium for the browser tests"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -qq -y --no-install-recommends chromium-headless-shell || \
			apt-get install -qq -y --no-install-recommends chromium; } >/dev/null || \
			echo "Chromium could not be installed: the browser tests will say so" >&2; \
	fi

# Tests start a PostgreSQL of their own (tests/support/postgres.py); the package's cluster is neither made nor started.
.PHONY: postgres
postgres:
	@if ! ls /usr/lib/postgresql/*/bin/postgres >/dev/null 2>&1 && ! command -v postgres >/dev/null && \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Debian's postgresql for the tests"; \
		no_cluster=/etc/postgresql-common/createcluster.d/parley-tests.conf; \
		mkdir -p "$${no_cluster%/*}"; echo "create_main_cluster = false" > "$$no_cluster"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -qq -y --no-install-recommends postgresql; } >/dev/null || \
			echo "postgresql could not be installed: the tests will say so" >&2; \
		rm -f "$$no_cluster"; \
	fi

# Tests start a NATS server of their own (tests/support/nats.py); the package's service is neither started nor enabled.
.PHONY: nats
nats:
	@if ! command -v nats-server >/dev/null && [ ! -x /usr/sbin/nats-server ] && \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Debian's nats-server for the tests"; \
		unit=/etc/systemd/system/nats-server.service; \
		[ ! -d /run/systemd/system ] || ln -s /dev/null "$$unit"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -qq -y --no-install-recommends nats-server; } >/dev/null || \
			echo "nats-server could not be installed: the tests will say so" >&2; \
		[ ! -d /run/systemd/system ] || { rm -f "$$unit"; systemctl disable --quiet nats-server || true; }; \
	fi

# Tests start an HAProxy of their own (tests/support/haproxy.py); the package's service is neither started nor enabled.
.PHONY: haproxy
haproxy:
	@if ! command -v haproxy >/dev/null && [ ! -x /usr/sbin/haproxy ] && \
		[ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "Installing Debian's haproxy for the tests"; \
		unit=/etc/systemd/system/haproxy.service; \
		[ ! -d /run/systemd/system ] || ln -s /dev/null "$$unit"; \
		{ apt-get update -qq && DEBIAN_FRONTEND=noninteractive \
			apt-get install -qq -y --no-install-recommends haproxy; } >/dev/null || \
			echo "haproxy could not be installed: the tests will say so" >&2; \
		[ ! -d /run/systemd/system ] || { rm -f "$$unit"; systemctl disable --quiet haproxy || true; }; \
	fi

.PHONY: a2a-kit
a2a-kit: $(DEV) $(A2A_KIT) ## Run A2A's compatibility kit: KIT names a checkout of a2aproject/a2a-tck, branch 1.0-dev
	@[ -d "$(KIT)/tests/compatibility" ] || { echo "KIT=<folder> names no checkout of a2a-tck" >&2; exit 1; }
	@A2A_KIT="$(abspath $(KIT))" A2A_KIT_PYTHON="$(CURDIR)/.venv-a2a-kit/bin/python" \
		$(PY) -m pytest -q tests/service/a2a/test_a2a_kit.py $(ARGS)

.PHONY: lock
lock: $(UV_ENV) ## Rebuild the lock files (UPGRADE=1: with the newest versions)
	$(LOCK) pyproject.toml -o requirements/runtime.lock
	$(LOCK) pyproject.toml --group dev -c requirements/runtime.lock -o requirements/dev.lock
	$(LOCK) requirements/schemathesis.in -o requirements/schemathesis.lock
	$(LOCK) requirements/a2a-kit.in -o requirements/a2a-kit.lock
	$(LOCK) requirements/bench.in -o requirements/bench.lock
	$(LOCK) requirements/uv.in -o requirements/uv.lock

LOCK = .venv-uv/bin/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-emit-index-url \
	--custom-compile-command 'make lock' $(if $(UPGRADE),--upgrade)

.PHONY: swagger-ui
swagger-ui: ## Fetch the files of SWAGGER_UI_VERSION from the npm registry into console/swagger-ui
	$(call fetch-npm,$(SWAGGER_UI),swagger-ui-dist,SWAGGER_UI,Apache-2.0,swagger-ui)

.PHONY: console-vendor
console-vendor: ## Fetch the console's libraries from the npm registry into console/vendor
	$(call fetch-npm,$(VENDOR)/preact,preact,PREACT,MIT,console-vendor)
	$(call fetch-npm,$(VENDOR)/htm,htm,HTM,Apache-2.0,console-vendor)
	$(call fetch-npm,$(VENDOR)/uplot,uplot,UPLOT,MIT,console-vendor)
	$(call fetch-npm,$(VENDOR)/markdown-it,markdown-it,MARKDOWN_IT,MIT,console-vendor)
	$(call fetch-npm,$(VENDOR)/entities,entities,ENTITIES,BSD-2-Clause,console-vendor)

.PHONY: clean
clean: ## Remove the environments and caches (data/ stays)
	rm -rf .venv .venv-schemathesis .venv-a2a-kit .venv-bench .venv-uv .ruff_cache .pytest_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(RUNTIME): | $(UV_ENV)
	$(call make-venv,$(VENV),requirements/runtime.lock)

$(DEV): $(RUNTIME)
	@echo "Adding the packages of requirements/dev.lock"
	@$(call install,$(VENV),requirements/dev.lock)
	@touch $@

$(SCHEMATHESIS): | $(UV_ENV)
	$(call make-venv,.venv-schemathesis,requirements/schemathesis.lock)

$(A2A_KIT): | $(UV_ENV)
	$(call make-venv,.venv-a2a-kit,requirements/a2a-kit.lock)

$(BENCH): | $(UV_ENV)
	$(call make-venv,.venv-bench,requirements/bench.lock)

$(UV_ENV):
	@echo "Set-up takes about a minute, this time only"
	$(call make-venv,.venv-uv,requirements/uv.lock)
