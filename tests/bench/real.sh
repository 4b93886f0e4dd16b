#!/bin/sh
# SPDX-License-Identifier: MIT
# usage: real.sh [--smoke] [BUILD [OPTION...]]
# The wall time of real programs under memspy and its peers, as a ratio to the bare run, in
# interleaved rounds. BUILD, OPTIONs (of real.py) and --smoke as in run.sh.
set -eu

# shellcheck source-path=SCRIPTDIR source=setup.sh
. "$(dirname "$0")/setup.sh"
if [ "$smoke" = yes ]; then
    set -- --rounds 1 --scale 0.02 --only memspy
fi
exec python3 -B "$root/tests/bench/real.py" "$build" "$@"
