#!/usr/bin/env bash
# sources.sh: what the packages are made of, as one archive in build/packages, to be handed
# on with them: llmprof as committed, and the sources of the libraries that are linked in.
# shellcheck source=packaging/common.sh
source "$(dirname -- "$0")/common.sh"

(($# == 0)) || give_up 2 "sources.sh takes no arguments"
need git=git
fetch_sources
folder=$work/llmprof-sources
rm -rf -- "$folder"
mkdir -p -- "$folder"
step "collecting the libraries' sources" cp -r -- "$sources/archives" "$folder/libraries"
step "collecting llmprof's source" git -C "$root" archive --prefix=llmprof/ \
  -o "$folder/llmprof.tar.gz" HEAD
step "packing the sources" tar -C "$work" --sort=name --owner=0 --group=0 --numeric-owner \
  --mtime="@$SOURCE_DATE_EPOCH" -cf "$work/llmprof-sources.tar" llmprof-sources
keep "$work/llmprof-sources.tar"
