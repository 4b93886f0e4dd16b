# shellcheck shell=sh
# SPDX-License-Identifier: MIT
# What both benches begin with. Sourced, with the bench's arguments: sets `build` and `smoke`, and
# installs and builds unless the bench only shows that it works.
#
#   [--smoke] [BUILD]   BUILD is a build directory (default build-bench, made when it is not there)

root=$(cd "$(dirname "$0")/../.." && pwd)
smoke=no
if [ "${1:-}" = --smoke ]; then
    smoke=yes
    shift
fi
build=${1:-$root/build-bench}
[ "$#" -eq 0 ] || shift

if [ "$smoke" = no ]; then
    # shellcheck source-path=SCRIPTDIR source=../packages.sh
    . "$root/tests/packages.sh"
    # shellcheck disable=SC2086  # a list of words
    need_packages $BENCH_PACKAGES
    if [ ! -f "$build/CMakeCache.txt" ]; then
        cmake -S "$root" -B "$build" -G Ninja -DCMAKE_BUILD_TYPE=Release
    fi
    cmake --build "$build"
fi
