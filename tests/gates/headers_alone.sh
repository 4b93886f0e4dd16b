#!/bin/bash
# SPDX-License-Identifier: MIT
# usage: headers_alone.sh [ROOT]
# Every header compiles by itself, with both compilers and without a warning: it includes what it
# uses. A header of another architecture (NAME_aarch64.h) is compiled for that one.
set -eu
export LC_ALL=C

cd "${1:-$(dirname "$0")/../..}"
flags=(-std=gnu11 -D_GNU_SOURCE -fsyntax-only -Wall -Wextra -Wno-unused-function -Werror
    -Iinclude)

# One header a line; as many compilers at once as there are processors.
compile() { # HEADER
    local header=$1 machine arch status=0
    machine=$(uname -m)
    arch=$machine
    case $header in
    *_aarch64.h) arch=aarch64 ;;
    *_x86_64.h) arch=x86_64 ;;
    esac
    local gcc=gcc clang=(clang)
    if [ "$arch" != "$machine" ]; then
        gcc=$arch-linux-gnu-gcc
        clang=(clang "--target=$arch-linux-gnu" "-I/usr/$arch-linux-gnu/include")
    fi
    for compiler in "$gcc" "${clang[*]}"; do
        # shellcheck disable=SC2086  # a command and its options
        if ! echo "#include \"$header\"" | $compiler "${flags[@]}" -I. "-I${header%/*}" -x c -; then
            echo "headers_alone: $header does not compile alone with ${compiler%% *}"
            status=1
        fi
    done
    return "$status"
}

headers=()
for header in include/memspy/*.h shim/*.h analyzer/*.h; do
    [ -f "$header" ] && headers+=("$header")
done
if [ "${#headers[@]}" -eq 0 ]; then
    echo "headers_alone: no headers"
    exit 1
fi

status=0
running=0
for header in "${headers[@]}"; do
    compile "$header" &
    running=$((running + 1))
    if [ "$running" -ge "$(nproc)" ]; then
        wait -n || status=1
        running=$((running - 1))
    fi
done
while [ "$running" -gt 0 ]; do
    wait -n || status=1
    running=$((running - 1))
done
[ "$status" -ne 0 ] || echo "headers_alone: ${#headers[@]} headers, two compilers"
exit "$status"
