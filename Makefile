# `make demo` and `make test` set up everything themselves, in .venv, on a fresh clone.
# PYTHON=/path/to/python3 chooses the interpreter (3.12 or newer); without it one is looked for.

export PYTHON
PY := .venv/bin/python
LOCKED := pyproject.toml .ci/setup

.PHONY: demo test lint unit attack e2e clients bench controls fidelity lock clean

demo: .venv/.run
	@$(PY) -m demo

test: .venv/.dev
	@$(PY) .ci/tiers.py lint unit attack e2e fidelity clients

lint unit attack e2e clients: .venv/.dev
	@$(PY) .ci/tiers.py $@

bench: .venv/.dev  ## writes docs/benchmarks.md; the others of tests/bench run alone
	@$(PY) -m tests.bench

controls: .venv/.dev  ## every trap, defended and with its defence taken away
	@$(PY) -m tests.attacks

fidelity: .venv/.dev  ## writes docs/fidelity.md: shapes of agents, recorded once and replayed ten times
	@$(MAKE) -s .clients/.done || echo "shapes that need the clients are named in the table and not tried"
	@$(MAKE) -s .agents/.done || echo "agents that need packages of their own are named in the table and not tried"
	@$(MAKE) -s .runtimes/.done || echo "runtimes that are not on this machine are named in the table and not tried"
	@$(PY) -m fidelity.sources --write docs/fidelity.md; sources=$$?; \
	$(PY) -m fidelity -n 10 --heavy --write docs/fidelity.md && exit $$sources

lock: .venv/.run  ## UPGRADE="name ..." moves those packages
	.ci/relock

clean:
	rm -rf .venv .clients .agents .runtimes .injections build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

.venv/.run: .ci/lock/run.txt $(LOCKED) .venv/bin/python
	@.ci/setup run

.venv/.dev: .ci/lock/dev.txt $(LOCKED) .venv/bin/python
	@.ci/setup dev

# Asked for by the tier `clients` alone, in its turn: whoever cannot fetch them still has all the others.
.clients/.done: .ci/lock/clients.txt tests/clients/package-lock.json tests/clients/fetch.go .ci/setup .ci/openssl-git \
		.ci/rust-for-all .venv/bin/python
	@.ci/setup clients

# Asked for by `make fidelity` alone.
.agents/.done: .ci/lock/agents.txt .ci/setup .venv/bin/python
	@.ci/setup agents

# Asked for by `make fidelity` alone.
.runtimes/.done: .ci/runtimes .ci/debs
	@.ci/runtimes

# Asked for by hand, before `python -m tests.bench.bench_bisect`.
.injections/.done: .ci/lock/injections.txt .ci/setup .venv/bin/python
	@.ci/setup injections

.venv/bin/python:  # missing, or a link to an interpreter that has gone
	@.ci/setup venv
