# Thin: every target is a script under tools/scripts. JOBS limits parallel compilation.
ifdef JOBS
export WICK_JOBS := $(JOBS)
endif

.PHONY: all setup install demo web test test-full check reference format bench size clean

all:  ## build the release preset
	@tools/scripts/build.sh

setup:  ## install the Debian packages that are missing, and ONNX Runtime into build/ort
	@tools/scripts/setup.sh
	@tools/scripts/setup_ort.sh || true

install:  ## build what is installed, without tests, and install it: make install PREFIX=/usr/local
	@tools/scripts/install.sh $(if $(PREFIX),"$(PREFIX)")

demo:  ## train, export, compare every path, quantize; writes build/demo/report.json and submission.json
	@tools/scripts/demo.sh

web:  ## build the runtime for browsers, its npm package and the demo page, and serve the page
	@tools/scripts/web.sh

test:  ## build and run the fixed subset (under 15 minutes)
	@tools/scripts/test.sh

test-full:  ## everything, in resumable parts: make test-full [PARTS="sanitize math"]
	@tools/scripts/test_full.sh $(PARTS)

check:  ## format, static analysis, include arrows, docs, reference
	@tools/scripts/check.sh

reference:  ## render the public headers' comments with Doxygen into build/reference/html
	@python3 tools/scripts/check_reference.py --html

format:  ## clang-format every source in place
	@git ls-files -z '*.h' '*.cc' '*.c' '*.cpp' | xargs -0 clang-format-16 -i

bench:  ## ratios against the peers; see docs
	@tools/scripts/bench.sh

size:  ## JSON lines {"what", "bytes"}
	@tools/scripts/size.sh

clean:
	rm -rf build
