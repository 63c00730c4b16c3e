# Each target does its own set-up. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
PYTHON ?= python3
BIN := .venv/bin
export PYTHONDONTWRITEBYTECODE := # else each start of a command compiles all modules again
RUN := PYTHONPATH=exporter:toolbox $(BIN)/python

# every target that has a line in the help
.PHONY: $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' $(firstword $(MAKEFILE_LIST)))

help: ## list the targets
	@awk -F ':.*## ' '/^##@ / { printf "\n%s\n", substr($$0, 5) } /^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile
	@echo; echo 'make -C lab help lists what takes long or needs root: kernels, attacks, engines, collectors, benches, pictures'

##@ Try it

demo: .venv/poller ## start the exporter on recorded clients and a loopback OCI region; no account needed
	@$(BIN)/fss-exporter demo $(ARGS)

##@ Test

test: .venv/bin/python ## the tests, with a real prometheus and promtool (ARGS="tests/fss_toolbox/fio -n0" for a few, one by one)
	@$(MAKE) --no-print-directory -j 2 servers $(if $(ARGS),.venv/dev,.venv/compiled)
	@$(BIN)/python -m pytest -n 3 --dist loadfile $(ARGS)

UNIT := $(addprefix tests/fss_exporter/,background catalogue model nfs oci/test_series_store.py test_*.py) tests/fss_kernel_counting \
	tests/fss_toolbox/fio tests/fss_toolbox/sizing tests/fss_toolbox/test_*.py tests/lab tests/test_*.py
LONGER := $(addprefix --deselect ,tests/fss_exporter/nfs/test_fuzz.py tests/fss_kernel_counting/test_generated_tables.py \
	tests/test_services_as_documented.py tests/fss_toolbox/test_tables.py::test_a_terminal_gets_colour_unless_it_wants_none)

unit: .venv/dev ## the quick tests: no browser, no prometheus, no loopback region
	@$(BIN)/python -m pytest -n 2 --dist loadfile $(UNIT) $(LONGER) $(ARGS)

accuracy: .venv/dev ## estimate against packet captures (ARGS=DIRECTORY tries other recordings)
	@$(RUN) -m tools.check.accuracy $(ARGS)

test-incidents: .venv/dev servers ## every incident of the rules; `make test` runs one (minutes; ARGS="-k 'clients and hang'" for a few)
	@$(BIN)/python -m pytest -n 3 --dist loadfile tests/rules/with_every_incident.py tests/e2e/with_incidents.py $(ARGS)

test-servers: .venv/dev servers ## agents and pollers beside a real prometheus, alertmanager and node_exporter, pollers that are killed, and weeks of history (minutes, most of them waiting)
	@$(BIN)/python -m pytest -n 3 --dist loadfile tests/rules/with_long_silence.py tests/rules/with_space_forecast.py \
	  tests/rules/with_error_budget.py tests/rules/with_lost_agents.py tests/fss_exporter/oci/with_observed_ceilings.py \
	  tests/fss_toolbox/plan/with_plan_replay.py tests/fss_toolbox/plan/with_advice_followed.py tests/fss_toolbox/plan/with_placement_followed.py \
	  tests/fss_toolbox/calibrate/with_end_to_end.py tests/fss_toolbox/calibrate/with_hidden_costs.py tests/fss_toolbox/demo/with_demo.py \
	  tests/e2e/with_clock.py tests/e2e/with_alerting.py tests/e2e/with_births.py tests/e2e/with_collecting.py \
	  tests/e2e/with_faults.py tests/e2e/with_node_exporter_rules.py tests/e2e/with_secured_scrape.py tests/e2e/with_standby.py $(ARGS)

test-hostile: .venv/dev ## damaged answers of OCI, and figures on pages from outside that are none (a minute)
	@$(BIN)/python -m pytest -n 2 tests/fss_exporter/oci/with_fuzzed_answers.py tests/fss_exporter/oci/with_hostile_answers.py tests/fss_toolbox/with_pages_from_outside.py $(ARGS)

test-properties: .venv/dev ## the tests with generated inputs, on 500 inputs each; `make test` has 100 (minutes)
	@$(BIN)/python -m pytest -n 2 --dist loadfile -m hypothesis --hypothesis-profile=many $(ARGS)

test-packages: .venv/dev ## build the archives, and deb and rpm of the agent; install, run and remove them in scratch folders, and poll with the SDK of the image
	@tools/ensure-tools rpmbuild && $(BIN)/python -m pytest tests/deploy/with_packages.py tests/deploy/with_release.py tests/deploy/with_prune_sdk.py $(ARGS)

test-memory: .venv/dev ## the memory of six hours of an agent, of an hour of a poller, and under attack (a minute)
	@$(BIN)/python -m pytest tests/e2e/with_memory.py tests/fss_exporter/nfs/with_churn_memory.py tests/fss_exporter/web/with_attacks.py $(ARGS)

test-browser: .venv/dev ## the status page in a real browser, and its accessibility
	@tools/ensure-tools chromium && $(BIN)/python -m pytest tests/e2e/with_status_page.py tests/e2e/with_accessibility.py $(ARGS)

test-dashboards: .venv/dev servers ## every query of every dashboard, in a real prometheus that scrapes the demo (five minutes, most of them waiting)
	@$(BIN)/python -m pytest tests/e2e/with_dashboards.py $(ARGS)

test-compose: .venv/dev servers ## the files of deploy/compose with the prometheus and alertmanager of this host, on the running demo (minutes, most of them waiting)
	@$(BIN)/python -m pytest tests/deploy/with_compose.py $(ARGS)

test-terminal: .venv/dev ## fss-exporter top in a real terminal at three widths, with and without colour, and how it ends
	@tools/ensure-tools tmux && $(BIN)/python -m pytest tests/fss_toolbox/top/with_terminal.py tests/fss_toolbox/top/with_ends.py $(ARGS)

test-cli: .venv/dev .venv-cli/bin/oci ## the real OCI CLI creates the rendered alarms in the demo region
	@$(BIN)/python -m pytest --timeout 600 tests/fss_toolbox/alarms/with_oci_cli.py $(ARGS)

test-systemd: .venv/dev .venv-ansible/bin/ansible .venv-ansible-el8/bin/ansible ## packages and the Ansible role over SSH, on a Debian with a running systemd (root; half an hour)
	@tools/ensure-tools debootstrap debian-archive-keyring rpmbuild ssh curl openssl && ANSIBLE_PLAYBOOKS="$(addsuffix /bin/ansible-playbook,$(CURDIR)/.venv-ansible $(CURDIR)/.venv-ansible-el8)" \
	  $(BIN)/python -m pytest tests/deploy/with_systemd.py $(ARGS)

test-terraform: .venv/dev ## the real terraform, which Go builds where it is not installed, formats the module and what is rendered
	@TERRAFORM=$$(command -v terraform || tools/check/engine terraform) && export TERRAFORM && $(BIN)/python -m pytest tests/deploy/with_terraform.py $(ARGS)

##@ Check

check: .venv/bin/python ## what a change must pass: ruff, mypy, import contracts, chart and image lint, dashboards, packages, browser, terminal, memory, real servers, hostile answers, tests
	@$(BIN)/python tools/check/parts.py run check

verify: .venv/bin/python ## what CI does not run (.ci/parts.toml), with results in build/verified.json (root; hours; PARTS="engines soak" for a few)
	@$(BIN)/python tools/check/parts.py verify $(PARTS)

format: .venv/dev ## fail if a file is not formatted (fix: .venv/bin/ruff format)
	@$(BIN)/ruff format --check --quiet . || { echo 'not formatted; run: .venv/bin/ruff format'; exit 1; }

lint: .venv/dev ## ruff
	@$(BIN)/ruff check --quiet .

types: .venv/dev ## mypy --strict, tests included
	@$(BIN)/mypy exporter/fss_exporter exporter/fss_kernel_counting toolbox/fss_toolbox lab tests tools

contracts: .venv/dev ## who may import whom
	@$(BIN)/lint-imports --no-logo > .venv/contracts.log || { cat .venv/contracts.log; exit 1; }

lint-docs: ## the documents under the project's rules of plain English, with vale (built with Go where it is not installed)
	@tools/check/lint-docs $(ARGS)

lint-rules: ## the rules under pint, without a server (built with Go where it is not installed)
	@tools/check/pint

deploy-check: .venv/dev ## helm lint, kubeconform and hadolint, where they can be had
	@tools/check/chart-tools || { code=$$?; [ $$code -eq 3 ] && exit 0 || exit $$code; }; \
	  $(BIN)/python tools/generate/chart.py check && .tools/bin/hadolint Dockerfile && $(BIN)/python -m pytest tests/deploy/with_helm.py $(ARGS)

dashboard-check: .venv/dev ## draw every dashboard over recorded answers and judge what it shows (needs node)
	@tools/check/node-libraries || { code=$$?; [ $$code -eq 3 ] && exit 0 || exit $$code; }; \
	  tools/ensure-tools chromium && $(BIN)/python -m pytest -p no:randomly tests/dashboards/with_node.py $(ARGS)

advisories: .venv/bin/python .venv-audit/bin/pip-audit ## look up known vulnerabilities of the locked versions (needs a network)
	@$(BIN)/python tools/check/advisories.py .venv-audit/bin/pip-audit requirements/poller.txt requirements/top.txt

##@ Write what is generated

generated: metrics runbook alarms dashboards pages architecture chart ## all of the following, after any change: `git diff` shows what the change means

metrics: .venv/dev ## write docs/metrics.md from the catalogue, and docs/left-out.md from its table
	@PYTHONPATH=exporter:toolbox:. $(BIN)/python -m tools.generate.metrics_page
	@PYTHONPATH=exporter:toolbox:. $(BIN)/python -m tools.generate.left_out_page

runbook: .venv/dev ## write the page /runbook of an exporter from docs/runbook.md
	@$(RUN) -m tools.generate.runbook_page

pages: .venv/dev ## put the output of the commands and the table of services into docs/
	@$(RUN) -m tools.generate.command_pages
	@$(RUN) -m tools.generate.saved_help
	@$(RUN) -m tools.check.demo_tables --write
	@$(RUN) -m tools.generate.services_page

alarms: .venv/dev ## write mql/alarms and mql/other-services from mql/templates
	@$(RUN) -m tools.generate.alarm_files

dashboards: .venv/dev ## write dashboards/*.json from tools/generate/dashboards (ARGS=grafana-com: into build/, for an upload)
	@$(RUN) -m tools.generate.dashboards $(ARGS)

chart: .venv/dev ## after the chart, rules or OCI metrics change: render deploy/kubernetes, docs/scaling.md
	@$(RUN) -m tools.generate.series_lists
	@$(RUN) -m tools.generate.call_budget
	@$(RUN) -m tools.generate.chart_configuration
	@tools/check/chart-tools && $(BIN)/python tools/generate/chart.py render

golden: .venv/dev ## write the golden measured scrape, after an intended change
	@$(RUN) -m tools.generate.golden

alerts-tried: .venv/dev servers ## run every incident, write build/alerts-tried.csv and docs/alerts-tried.md (minutes; ARGS="'clients hang' poller" prints a few)
	@PYTHONPATH=exporter:toolbox:. $(BIN)/python -m tools.generate.alerts_tried $(ARGS)

architecture: .venv/dev ## draw the picture of rooms and imports into docs/architecture.md
	@$(RUN) -m tools.generate.architecture

dependencies: .venv/dev ## write docs/dependencies.md: versions and licences of what agent and poller install
	@$(RUN) -m tools.generate.dependencies

lock: .venv/dev ## resolve the dependencies again and write requirements/
	@$(BIN)/python -m pip install --quiet uv
	@tools/lock

cost-rules: .venv/dev ## recording rules with the cost_model of a configuration (ARGS="fss-exporter.yml DIRECTORY")
	@$(RUN) -m tools.generate.cost_rules $(ARGS)

##@ Build and release

dist: .venv/dev ## wheel and sdist into dist/
	@rm -rf dist && $(BIN)/python -m build --no-isolation --quiet --outdir dist .

package: .venv/dev ## deb and rpm of the agent into dist/; ARGS=poller, MACHINE=aarch64
	@tools/release/package $(or $(ARGS),agent)

wheelhouse: .venv/dev ## the program and its dependencies as wheels with hashes, for pip without a network, into dist/
	@tools/release/wheelhouse $(or $(ARGS),agent)

image: ## both container images with buildah, podman or docker (docs/install.md)
	@tools/release/image $(ARGS)

image-check: .venv/dev ## build the images without a registry, start them read-only and without capabilities (root; ARCH=arm64)
	@ARCH=$(ARCH) tools/check/image-check $(ARGS)

unit-check: .venv/dev ## start both units under a real systemd in its own namespaces (root, after image-check)
	@tools/check/unit-check

release: .venv/dev .venv-release/bin/cyclonedx-py ## wheel, source archive, deb, rpm, chart, bills of materials and checksums into dist/
	@tools/release/release

rehearse: .venv/dev ## install what `make release` wrote to dist/ into fresh systems, run it and remove it, and publish to a registry on loopback (root; minutes)
	@tools/ensure-tools debootstrap debian-archive-keyring promtool skopeo docker-registry && $(BIN)/python -m pytest tests/deploy/with_rehearsal.py tests/deploy/with_publish.py $(ARGS)

clean: ## remove what the other targets made
	rm -rf .venv* build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache *.egg-info exporter/*.egg-info

LAB := $(shell sed -n 's/^\([a-z-]*\):.*\#\# .*/\1/p' lab/Makefile)
.PHONY: $(LAB)
$(filter-out help,$(LAB)): # the names of the lab, from here too
	@$(MAKE) --no-print-directory -C lab $@

.PHONY: servers check-tools
servers: # from the distribution
	@tools/ensure-tools prometheus promtool prometheus-alertmanager prometheus-node-exporter systemd-analyze setpriv

check-tools: # of `make check`, in one call because two installations at a time would lock each other out
	@tools/ensure-tools prometheus promtool prometheus-alertmanager prometheus-node-exporter systemd-analyze setpriv chromium rpmbuild tmux

.venv-ansible/bin/ansible .venv-ansible-el8/bin/ansible: .venv-%/bin/ansible: requirements/%.txt
	@tools/make-venv $(PYTHON) .venv-$*
	@echo "installing Ansible (requirements/$*.txt) ..." >&2
	@.venv-$*/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/$*.txt
	@touch $@

.venv-cli/bin/oci: requirements/cli.txt
	@tools/make-venv $(PYTHON) .venv-cli
	@echo "installing the OCI CLI (requirements/cli.txt) ..." >&2
	@.venv-cli/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/cli.txt
	@touch $@

.venv-release/bin/cyclonedx-py: requirements/release.txt
	@tools/make-venv $(PYTHON) .venv-release
	@.venv-release/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/release.txt
	@touch $@

.venv-audit/bin/pip-audit: requirements/audit.txt
	@tools/make-venv $(PYTHON) .venv-audit
	@.venv-audit/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/audit.txt
	@touch $@

.venv/bin/python:
	@tools/make-venv $(PYTHON) .venv

.venv/poller: requirements/poller.txt requirements/top.txt pyproject.toml | .venv/bin/python
	@tools/install poller
	@touch $@

.venv/dev: requirements/dev.txt pyproject.toml | .venv/bin/python
	@tools/install dev
	@touch $@ .venv/poller

.venv/compiled: .venv/dev # once, and not by each worker of `make test`
	@$(BIN)/python -m pytest --collect-only --quiet --quiet >.venv/tests.log || { cat .venv/tests.log; exit 1; }
	@touch $@
