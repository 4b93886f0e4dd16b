#!/bin/sh
# SPDX-License-Identifier: MIT
# From a clone to a first report, on a fresh Debian: installs what is missing (as root), builds,
# records a real program (the C compiler: a driver, its compiler proper and its assembler are one
# trace) and prints the report. BUILD=DIR builds elsewhere than in build/.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build}
# shellcheck source-path=SCRIPTDIR source=../tests/packages.sh
. "$root/tests/packages.sh"

# shellcheck disable=SC2086  # a list of words
need_packages $BUILD_PACKAGES

# A build directory that exists keeps its settings; a new one leaves the tests out, which need more
# packages (tests/run.sh has directories of its own).
if [ -f "$build/CMakeCache.txt" ]; then
    cmake -S "$root" -B "$build"
else
    cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DMEMSPY_TESTS=OFF
fi
cmake --build "$build"

trace=$build/quickstart.mspy
rm -f "$trace" "$build/quickstart.o"
LD_PRELOAD=$build/libmemspy.so MEMSPY_OUT=$trace \
    gcc -O2 -c "$root/examples/alloc_ladder.c" -o "$build/quickstart.o"
if [ ! -s "$trace" ]; then
    echo "quickstart: nothing was recorded" >&2
    exit 1
fi

echo
echo "\$ LD_PRELOAD=build/libmemspy.so MEMSPY_OUT=quickstart.mspy gcc -O2 -c alloc_ladder.c"
echo "\$ memspy report quickstart.mspy"
"$build/memspy" report "$trace"
