#!/usr/bin/env bash
# deb.sh [ARCHITECTURE...]: Debian packages in build/packages, one for every release of
# Debian and Ubuntu with the glibc of common.sh or newer; x86_64 and aarch64 unless named.
# shellcheck source=packaging/common.sh
source "$(dirname -- "$0")/common.sh"

need dpkg-deb=dpkg
pack DEB '*.deb' "$@"
