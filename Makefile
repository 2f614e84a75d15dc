# Thin front of CMake. `make` builds build/gpmem; `make test` is what CI runs.
.PHONY: all build dev deps demo test test-slow bench figures notebooks wasm editors vsix gallery docs-versions fuzz install docs dist deb wheel clean format coverage
JOBS ?= $(shell nproc)
PREFIX ?= /usr/local
FUZZ_SECONDS ?= 60
WERROR = $(if $(CI),-DGPMEM_WERROR=ON,)

all: build

# Everything that the other targets install from Debian, at once.
deps:
	@tools/install-packages build test bench docs fuzz format coverage

build:
	@tools/install-packages build
	@tools/configure release $(WERROR) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build build -j $(JOBS)

dev:
	@tools/install-packages build
	@tools/configure dev
	@cmake --build build-dev -j $(JOBS)

# What the tests want comes before anything is built: gpmem-mpi, which they start, is built where there is an MPI.
test:
	@tools/install-packages build test
	@$(MAKE) --no-print-directory build dev
	ctest --test-dir build-dev -L unit --output-on-failure -j $(JOBS)
	ctest --test-dir build -LE slow --output-on-failure -j $(JOBS)

test-slow:
	@tools/install-packages build test bench package
	@$(MAKE) --no-print-directory build
	ctest --test-dir build -L slow --output-on-failure -j $(JOBS)

# The tool alone is built for it: the first look should not wait for the tests.
demo:
	@tools/install-packages build
	@tools/configure release $(WERROR) -DCMAKE_INSTALL_PREFIX=$(PREFIX)
	@cmake --build build -j $(JOBS) --target gpmem
	@tools/demo

# Every speed figure beside its peers (bench/run), and the paper's figures as SVG (tools/figures).
bench: build
	@tools/install-packages bench || echo "going on without them"
	@bench/run

figures: build
	@tools/figures

# Every fuzz target for FUZZ_SECONDS, on the corpora of tests/fuzz/corpus.
fuzz:
	@tools/install-packages build test fuzz
	@tools/configure fuzz
	@cmake --build build-fuzz -j $(JOBS) --target fuzzers
	@tools/fuzz $(FUZZ_SECONDS)

# Binary, libraries, headers, pkg-config file; manual pages, completions, editor files; the Python
# package. The loader's cache is refreshed, so that programs find the library at once.
install: build
	@tools/install-packages docs
	@cmake --install build --prefix $(PREFIX) > /dev/null
	@tools/install-docs build/gpmem $(PREFIX)
	@tools/install-python $(PREFIX)
	@if [ -z "$(DESTDIR)" ] && [ "$$(id -u)" = 0 ]; then ldconfig; fi
	@echo "installed gpmem in $(PREFIX)"

# What a release is made of, in build/dist: the tarball (Python's source distribution, too) with its checksum, Debian's packages,
# and a wheel that needs no compiler.
dist:
	@tools/dist build/dist

deb:
	@tools/install-packages build docs package
	@tools/deb build/dist

wheel:
	@tools/install-packages build package
	@tools/wheel build/dist

# The reference page from the tables, then every page as a site in build/site, links checked; with the playground where
# `make wasm` built it. docs-versions: the same in build/sites/VERSION, beside other versions that are there.
docs: build
	@tools/reference build/gpmem
	@tools/site build/site

docs-versions: build
	@tools/site --versions build/sites

# The pictures of docs/gallery.md, by its programs.
gallery: build
	@tools/gallery build/gpmem

# The pages of docs that are made of programs, as Jupyter notebooks.
notebooks:
	@mkdir -p build/notebooks && ln -sfn ../../docs/img build/notebooks/img
	@for page in $$(grep -l '^```venture' docs/*.md); do \
	  tools/notebook $$page > build/notebooks/$$(basename $$page .md).ipynb; done
	@ls build/notebooks/*.ipynb

# Files for Vim, Neovim, Emacs, Helix and VS Code, with the names of the tool; the extension packed (npm's registry
# has its language client and the packer).
editors: build
	@tools/editors build/gpmem build/editors
	@echo "editor files: build/editors"

vsix: editors
	@cd build/editors/vscode && npm install --omit=dev --no-audit --no-fund && \
	  npx --yes @vscode/vsce package --allow-missing-repository -o ../gpmem.vsix

# The library for web pages and the playground, in build-web/site.
wasm:
	@command -v emcc > /dev/null || apt-get install -y emscripten
	@tools/wasm

format:
	@tools/install-packages format
	@git ls-files '*.c' '*.h' | xargs clang-format -i

# Lines of src that make test reaches, by folder.
coverage:
	@tools/install-packages build test coverage
	@tools/coverage

clean:
	rm -rf build build-*
