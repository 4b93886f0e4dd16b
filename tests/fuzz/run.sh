#!/bin/sh
# SPDX-License-Identifier: MIT
# Usage: tests/fuzz/run.sh BUILD SECONDS [TARGET...]
# Runs each fuzzer of a build made with MEMSPY_FUZZ (cmake --preset fuzz) for that many seconds,
# beginning with its corpus. Fails on the first finding, and says where the input is kept. New
# inputs stay in a folder of this run's own, so any number of runs may go on at once.
set -eu

usage() {
    echo "usage: run.sh BUILD SECONDS [TARGET...]" >&2
    exit 2
}

[ $# -ge 2 ] || usage
build=$1 seconds=$2
shift 2
here=$(cd "$(dirname "$0")" && pwd)
[ $# -gt 0 ] || set -- columns slots reader
found=$(mktemp -d "${TMPDIR:-/tmp}/memspy-fuzz.XXXXXX")

for target in "$@"; do
    program=$build/tests/fuzz/fuzz_$target
    if ! "$program" -help=1 2>&1 | grep -q max_total_time; then
        echo "run.sh: $program is not a libFuzzer program: build with MEMSPY_FUZZ=ON" >&2
        exit 2
    fi
    mkdir "$found/$target"
    echo "fuzz_$target: $seconds s"
    if ! "$program" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=32768 \
            -close_fd_mask=3 -print_final_stats=1 -artifact_prefix="$found/$target-" \
            "$found/$target" "$here/corpus/$target" >"$found/$target.log" 2>&1; then
        tail -n 60 "$found/$target.log"
        echo "fuzz_$target: finding; input and log are in $found" >&2
        exit 1
    fi
    grep -E 'number_of_executed_units|new_units_added' "$found/$target.log"
done
rm -rf "$found"
