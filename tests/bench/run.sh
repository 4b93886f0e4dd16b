#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: run.sh [--smoke] [BUILD [OPTION...]]
# Measures, in one go and in interleaved rounds, what memspy and its peers (a preload that does
# nothing, one that only forwards, memusage, heaptrack) add to a pair of malloc and free; the size of
# traces; making processes and starting programs; and the speed and memory of the analyzer. As root it
# installs the peers; one that is not there is left out. BUILD defaults to build-bench; OPTIONs are
# those of bench.py (--rounds N ...).
# --smoke: tiny counts, nothing installed or built; only shows that the bench works.
set -eu

# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
if [ "$smoke" = yes ]; then
    set -- --rounds 1 --pairs 2000 --runs 2 --spawns 4 \
        --only preloaded --only forward --only memusage --only memspy
fi
exec python3 -B "$root/tests/bench/bench.py" "$build" "$@"
