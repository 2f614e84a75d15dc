# Thin front of CMake. `make` builds build/gpmem; `make test` is what CI runs.
.PHONY: all build deps demo test test-slow bench figures fuzz install docs clean format
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
WERROR = $(if $(CI),-DGPMEM_WERROR=ON,)

all: build

build:
	@tools/install-packages build test
	@cmake --preset release $(WERROR) -DCMAKE_INSTALL_PREFIX=$(PREFIX) > /dev/null
	@cmake --build build -j $(JOBS)

dev:
	@tools/install-packages build test
	@cmake --preset dev > /dev/null
	@cmake --build build-dev -j $(JOBS)

test: build dev
	@tools/install-packages test
	ctest --test-dir build-dev -L unit --output-on-failure -j $(JOBS)
	ctest --test-dir build -LE slow --output-on-failure -j $(JOBS)

test-slow: build
	@tools/install-packages test bench
	ctest --test-dir build -L slow --output-on-failure -j $(JOBS)

demo: build
	@tools/demo

install: build
	cmake --install build --prefix $(PREFIX)

clean:
	rm -rf build build-*
