# SPDX-License-Identifier: Apache-2.0
#
# A thin front for Meson, which does the work; "make help" lists the targets. Each one first lets
# scripts/setup install what it needs. A build folder that exists is never configured again: ninja
# follows changes of meson.build by itself.

MESON ?= meson
SETUP ?= scripts/setup
WERROR ?= false
prefix ?= /usr/local
FUZZ_SECONDS ?= 120
ARGS ?= examples/training.yaml
CHAOS ?= 200 600
SOAK ?= 30 8
FRESH ?= bookworm trixie
SAN = -Db_sanitize=address,undefined

# What is checked daily is strict; a user's release build is not, for the sake of newer compilers.
OPTIONS_build = --buildtype=release -Dtests=disabled -Dwerror=$(WERROR)
OPTIONS_build-san = $(SAN) -Dtests=enabled -Dwerror=true
OPTIONS_build-tsan = -Db_sanitize=thread -Dtests=enabled -Dwerror=true
OPTIONS_build-cov = --buildtype=debug -Db_coverage=true -Dtests=enabled
OPTIONS_build-clang = --buildtype=debug -Dtests=enabled -Dwerror=true
OPTIONS_build-fuzz = $(SAN) -Db_lundef=false -Dtests=disabled -Dfuzz=true
CC_build-clang = CC=clang
CC_build-fuzz = CC=clang
BUILDS = build build-san build-tsan build-cov build-clang build-fuzz

.DEFAULT_GOAL := all
.NOTPARALLEL:
.PHONY: all run test chaos soak bench fuzz lint install coverage tsan model model-mutants docs fresh format clean help FORCE

all: build@compile  ## build the release into build/
	@:

run: build@compile  ## build, then run examples/training.yaml: a worker dies, all go on (ARGS="...")
	build/muster run $(ARGS)

test: test@setup build@compile build-san@compile  ## run all tests under ASan and UBSan (TESTS="name ...")
	scripts/test build-san build $(TESTS)

chaos: test@setup build@compile  ## kill workers, agents, connections and the server (CHAOS="200 600": members, seconds)
	MUSTER=build/muster MUSTER_TEST_LIMIT=300 MUSTER_CHAOS="$(CHAOS)" python3 test/e2e/test_chaos.py

soak: test@setup build@compile  ## hours of gangs, kills and drains; nothing may grow (SOAK="30 8": minutes, members)
	MUSTER=build/muster MUSTER_RELEASE=build MUSTER_SOAK="$(SOAK)" python3 test/e2e/test_soak.py

bench: bench@setup build@compile  ## run the benchmarks on the release build (BENCH="server spawn start")
	scripts/bench build $(BENCH)

fuzz: fuzz@setup build-fuzz@compile  ## run each fuzz target for FUZZ_SECONDS (default 120)
	scripts/fuzz build-fuzz $(FUZZ_SECONDS)

lint: test@setup lint@setup build-san@compile build-clang@compile  ## check format, layers, sizes, banned calls, clang-tidy, warnings
	scripts/lint build-clang

install: install@prefix build@compile  ## install the release (prefix=/usr/local, DESTDIR=)
	DESTDIR="$(DESTDIR)" $(MESON) install -C build --no-rebuild

coverage: test@setup coverage@setup build-cov@compile  ## tell what the tests reach, by folder of src/ (SUITES="unit sim")
	scripts/coverage build-cov $(SUITES)

tsan: test@setup build-tsan@compile  ## run all tests under ThreadSanitizer
	scripts/test build-tsan

model: model@setup  ## prove the restart protocol within bounds (model/README.md)
	scripts/model check

model-mutants: model@setup  ## put known bugs into that model; each must be found
	scripts/model mutants

docs: docs@setup build@compile  ## write the pages that are made from tables (docs/reference, docs/machines)
	scripts/docs build/docs/generate/generate

fresh:  ## run the two commands of the README on a fresh Debian (FRESH="bookworm trixie")
	for suite in $(FRESH); do scripts/fresh $$suite || exit; done

format: lint@setup  ## format all C files in place
	scripts/format -i

clean:  ## remove all build folders
	rm -rf $(BUILDS)

help:  ## list the targets
	@sed -n 's/^\([a-z-]*\):.*##  *\(.*\)/\1\t\2/p' $(MAKEFILE_LIST) | expand -t 16

install@prefix: build/build.ninja
	$(MESON) configure build -Dprefix="$(prefix)"

%@setup: FORCE
	@$(SETUP) --group build --group $*

$(BUILDS:=@compile): %@compile: %/build.ninja FORCE
	@$(MESON) compile -C $*

$(BUILDS:=/build.ninja): %/build.ninja: | build@setup
	$(CC_$*) $(MESON) setup $(OPTIONS_$*) $*

FORCE:
