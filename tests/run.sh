#!/bin/bash
# SPDX-License-Identifier: MIT
# Everything a change must pass, from a clean clone on a fresh Debian: installs what is missing (as
# root), builds with gcc and with clang (warnings are errors), runs every test; runs the unit tests
# under AddressSanitizer and UBSan, and the fuzzers for a minute each.
#
#   --quick     the gcc build and its tests only
#   --no-fuzz   no fuzzers
#   --long      fuzzers for 15 minutes each, the unit tests under ThreadSanitizer as well, and
#               MEMSPY_TEST_LONG=1 for tests that know a longer form
#
# BUILD=DIR names the gcc build (default build-ci); the others are DIR-clang, DIR-asan, DIR-tsan and
# DIR-fuzz. FUZZ_SECONDS=N overrides a fuzzer's time. The last line is "N passed, N failed", where a
# build counts as one test; the status is 0 only when nothing failed and some tests ran.
set -eu

root=$(cd "$(dirname "$0")/.." && pwd)
build=${BUILD:-$root/build-ci}
jobs=$(nproc)
fuzz=yes
quick=no
long=no
fuzz_seconds=${FUZZ_SECONDS:-}
passed=0
failed=0
failures=

usage() {
    sed -n '/^#   --/,/^#$/p' "$0" | sed 's/^# \{0,1\}//' >&2
    exit 2
}

for option in "$@"; do
    case $option in
    --quick) quick=yes ;;
    --no-fuzz) fuzz=no ;;
    --long) long=yes ;;
    *) usage ;;
    esac
done
if [ "$long" = yes ]; then
    export MEMSPY_TEST_LONG=1
    fuzz_seconds=${fuzz_seconds:-900}
fi
fuzz_seconds=${fuzz_seconds:-60}

say() {
    printf '\n== %s\n' "$*"
}

pass() {
    passed=$((passed + $1))
}

fail() { # COUNT WHAT
    failed=$((failed + $1))
    failures="$failures  $2"$'\n'
}

# One build, counted as one test. Returns its status.
build_in() { # DIR CMAKE-OPTION...
    local dir=$1
    shift
    say "build ${dir##*/}: $*"
    if cmake -S "$root" -B "$dir" -G Ninja "$@" && cmake --build "$dir" -j "$jobs"; then
        pass 1
    else
        fail 1 "build of $dir"
        return 1
    fi
}

# The numbers of a ctest run, from the attributes of its JUnit file's first element.
junit() { # FILE ATTRIBUTE
    sed -n "/<testcase/q; s/.*[[:space:]]$2=\"\([0-9]*\)\".*/\1/p" "$1"
}

# Runs ctest and adds up its results. No test at all is a failure.
test_in() { # DIR CTEST-OPTION...
    local dir=$1 status=0 tests bad skipped
    shift
    say "test ${dir##*/}: ctest $*"
    rm -f "$dir/junit.xml"
    ctest --test-dir "$dir" --output-on-failure --no-tests=error --output-junit "$dir/junit.xml" \
        "$@" || status=$?
    if [ ! -s "$dir/junit.xml" ]; then
        fail 1 "ctest in $dir: no results"
        return 0
    fi
    tests=$(junit "$dir/junit.xml" tests)
    bad=$(junit "$dir/junit.xml" failures)
    skipped=$(junit "$dir/junit.xml" skipped)
    if [ "${tests:-0}" -eq 0 ]; then
        fail 1 "ctest in $dir: no tests"
        return 0
    fi
    pass $((tests - bad - skipped))
    [ "$bad" -eq 0 ] || fail "$bad" "$bad of $tests tests in $dir"
    [ "$skipped" -eq 0 ] || echo "$skipped of $tests tests were skipped in $dir"
    # A status without a failed test would be ctest's own trouble.
    [ "$status" -eq 0 ] || [ "$bad" -ne 0 ] || fail 1 "ctest in $dir: status $status"
}

# The unit tests (and those of damaged traces) of a build with sanitizers.
sanitized() { # NAME SANITIZERS LABELS
    build_in "$build-$1" -DCMAKE_BUILD_TYPE=Debug -DMEMSPY_WERROR=ON "-DMEMSPY_SANITIZE=$2" ||
        return 0
    UBSAN_OPTIONS=print_stacktrace=1 test_in "$build-$1" -L "$3" -j "$jobs"
}

# Every fuzzer, as many at once as there are processors.
fuzzers() {
    build_in "$build-fuzz" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_COMPILER=clang \
        -DMEMSPY_FUZZ=ON -DMEMSPY_SANITIZE=address,undefined || return 0
    say "fuzz, $fuzz_seconds s each"
    local source names=()
    for source in "$root"/tests/fuzz/fuzz_*.c; do
        source=${source##*/fuzz_}
        names+=("${source%.c}")
    done
    if printf '%s\n' "${names[@]}" |
        xargs -P "$jobs" -I '{}' "$root/tests/fuzz/run.sh" "$build-fuzz" "$fuzz_seconds" '{}'; then
        pass "${#names[@]}"
    else
        fail 1 "a fuzzer of ${names[*]}"
    fi
}

# shellcheck source-path=SCRIPTDIR source=packages.sh
. "$root/tests/packages.sh"
# shellcheck disable=SC2086  # a list of words
need_packages $TEST_PACKAGES

start=$SECONDS
if build_in "$build" -DCMAKE_C_COMPILER=gcc -DMEMSPY_WERROR=ON; then
    test_in "$build" -j "$jobs"
fi
if [ "$quick" = no ]; then
    build_in "$build-clang" -DCMAKE_C_COMPILER=clang -DMEMSPY_WERROR=ON || true
    sanitized asan address,undefined '^(unit|damage)$'
    [ "$long" = no ] || sanitized tsan thread '^unit$'
    [ "$fuzz" = no ] || fuzzers
fi

say "$((SECONDS - start)) s"
[ -z "$failures" ] || printf 'failed:\n%s' "$failures"
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ] && [ "$passed" -gt 0 ]
