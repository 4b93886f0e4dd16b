#!/bin/bash
# SPDX-License-Identifier: MIT
# The shim compiles for aarch64 without warnings. Skipped where there is no cross compiler.
set -eu

cd "$(dirname "$0")/../.."
compiler=aarch64-linux-gnu-gcc
if ! command -v "$compiler" >/dev/null; then
    echo "aarch64: no $compiler here"
    exit 77
fi
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
compiled=0
# zstd.h is the same on every machine, and the cross compiler has none of its own.
cp /usr/include/zstd.h "$out"
for source in "${@:-shim/*.c shim/*_aarch64.S}"; do
    # shellcheck disable=SC2086  # the default is a pattern
    for file in $source; do
        case $file in *_x86_64.c) continue ;; esac
        "$compiler" -std=gnu11 -O2 -fPIC -fvisibility=hidden -Werror -Wall -Wextra -Wshadow \
            -Wconversion -Wstrict-prototypes -Wmissing-prototypes -Iinclude -Ishim -I"$out" \
            -c "$file" -o "$out/object.o" || exit 1
        compiled=$((compiled + 1))
    done
done
echo "aarch64: $compiled files"
[ "$compiled" -gt 0 ]
