#!/bin/sh
# The program is llmprof-gpu, beside this file or what this is a link to.
self=$0
[ ! -h "$self" ] || self=$(readlink -f -- "$self")
exec "${self%/*}/llmprof-gpu" "$@"
