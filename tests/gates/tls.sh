#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: tls.sh LIBRARY
# The library has one thread-local object of at most 64 bytes, reached through a fixed offset
# (initial-exec): no access may call __tls_get_addr, which can allocate.
set -eu
export LC_ALL=C

library=$1
status=0
relocations=$(readelf -rW "$library")

bytes=$(readelf -lW "$library" | awk '$1 == "TLS" { print $6 }')
bytes=$((${bytes:-0}))
if [ "$bytes" -eq 0 ] || [ "$bytes" -gt 64 ]; then
    echo "tls: $bytes bytes of thread-local storage, not 1 to 64"
    status=1
fi
# The symbol table, not the dynamic one: the object is hidden. $_TLS_MODULE_BASE_ is the linker's.
objects=$(readelf -sW "$library" |
    awk '/^Symbol table/ { table = $3 }
        table ~ /symtab/ && $4 == "TLS" && $8 !~ /MODULE_BASE/ { print $8 }' |
    sort -u | tr '\n' ' ')
count=$(echo "$objects" | wc -w)
if [ "$count" -ne 1 ]; then
    echo "tls: $count thread-local objects, not one: $objects"
    status=1
fi
if readelf --dyn-syms -W "$library" | grep -q __tls_get_addr; then
    echo "tls: calls __tls_get_addr"
    status=1
fi
if echo "$relocations" | grep -E 'DTPMOD|DTPOFF|TLSDESC'; then
    echo "tls: dynamic thread-local relocations, as above"
    status=1
fi
if ! echo "$relocations" | grep -qE '_TPOFF|_TPREL'; then
    echo "tls: no initial-exec relocation"
    status=1
fi
[ "$status" -ne 0 ] || echo "tls: $objects, $bytes bytes, initial-exec"
exit "$status"
