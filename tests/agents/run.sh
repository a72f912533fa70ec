#!/usr/bin/env bash
# run.sh SCRIPT LLMPROF: a script of this folder with the Python that ./bootstrap.sh test has
# put the client of the protocol into, else with the system's.
set -euo pipefail
PATH=$PWD/build/python/bin:$PATH
exec python3 "tests/agents/$1" "${@:2}"
