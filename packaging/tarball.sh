#!/usr/bin/env bash
# tarball.sh [ARCHITECTURE...]: archives in build/packages that run wherever they are
# unpacked; x86_64 and aarch64 unless named.
# shellcheck source=packaging/common.sh
source "$(dirname -- "$0")/common.sh"

pack TGZ '*.tar.gz' "$@"
