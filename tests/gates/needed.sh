#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: needed.sh LIBRARY
# Only libc is needed at load; no relocation writes into the text; the stack of the program that
# loads the library stays non-executable.
set -eu
export LC_ALL=C

library=$1
status=0
dynamic=$(readelf -dW "$library")
segments=$(readelf -lW "$library")

needed=$(echo "$dynamic" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | tr '\n' ' ')
if [ "$needed" != 'libc.so.6 ' ]; then
    echo "needed: needs '$needed', not libc.so.6 alone"
    status=1
fi
if echo "$dynamic" | grep -q TEXTREL; then
    echo "needed: text relocations"
    status=1
fi
# A library without the header counts as one that wants an executable stack.
stack=$(echo "$segments" | awk '$1 == "GNU_STACK" { print $(NF - 1) }')
if [ "$stack" != RW ]; then
    echo "needed: the stack is '$stack', not RW"
    status=1
fi
[ "$status" -ne 0 ] || echo "needed: libc.so.6 alone, no text relocations, no executable stack"
exit "$status"
