#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: aarch64_run.sh MEMSPY
# The shim built for aarch64 records a program under qemu-user: its events and its children are in
# the trace. Skipped where there is no cross compiler, no qemu-aarch64 or no libzstd.a of arm64
# (dpkg --add-architecture arm64; apt-get install qemu-user libzstd-dev:arm64).
set -eu
export LC_ALL=C

memspy=$(realpath "$1")
cd "$(dirname "$0")/../.."
compiler=aarch64-linux-gnu-gcc
zstd=/usr/lib/aarch64-linux-gnu/libzstd.a
root=/usr/aarch64-linux-gnu
if ! command -v $compiler qemu-aarch64 >/dev/null || [ ! -e $zstd ]; then
    echo "aarch64_run: no $compiler, qemu-aarch64 or $zstd here"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cp /usr/include/zstd.h "$out"
sources=$(ls shim/*.c shim/*_aarch64.S | grep -v x86_64)
# shellcheck disable=SC2086  # a list
$compiler -std=gnu11 -O2 -fPIC -fvisibility=hidden -ftls-model=initial-exec -fno-stack-protector \
    -fno-builtin -Iinclude -Ishim -I"$out" -shared -o "$out/libmemspy.so" $sources $zstd \
    -Wl,-z,defs -Wl,-z,now -Wl,--exclude-libs,ALL
$compiler -std=gnu11 -O2 -Wall -Wextra -Werror -fno-builtin -o "$out/run" tests/real/aarch64_run.c

cd "$out"
QEMU_LD_PREFIX=$root timeout -s KILL 60 qemu-aarch64 -E LD_PRELOAD="$out/libmemspy.so" \
    -E MEMSPY_OUT=t.mspy ./run >said 2>complained || { cat said complained; exit 1; }
"$memspy" check t.mspy >checked || { cat checked; exit 1; }
"$memspy" report --json t.mspy | python3 -c '
import collections, json, sys
report = json.load(sys.stdin)
kinds = collections.Counter(fork["kind"] for fork in report["forks"] if fork["ok"])
ends = collections.Counter((p["end"], p["status"]) for p in report["processes"])
found = {"malloc": report["calls"]["malloc"], "forks": dict(kinds), "ends": len(ends),
         "failed execs": sum(not e["ok"] for e in report["execs"])}
print("aarch64_run:", found)
assert 1000 <= found["malloc"] <= 1010, "mallocs"
assert kinds == {"vfork": 30}, "forks"
assert ends == {("exit", 0): 1, ("_exit", 3): 10, ("_exit", 4): 10, ("_exit", 5): 10}, ends
assert found["failed execs"] == 10, "execs"
'
