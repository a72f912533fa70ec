#!/usr/bin/env bash
# try.sh RELEASE[:ARCHITECTURE]...: the packages in build/packages, tried in systems of these
# releases of Debian or Ubuntu (bookworm, trixie:aarch64) that have Python and nothing else:
# the wheel, the Debian package, the archive; each is installed, run, renewed and removed.
# Needs root; $LLMPROF_DEBOOTSTRAP has words for debootstrap, as --keyring=FILE for Ubuntu's.
# shellcheck source=packaging/common.sh
source "$(dirname -- "$0")/common.sh"

systems=${TMPDIR:-/tmp}/llmprof-systems # out of the tree: lints walk through that

# system RELEASE ARCHITECTURE: into $system, made once
system() {
  local arch=${2/x86_64/amd64} words
  read -ra words <<<"${LLMPROF_DEBOOTSTRAP:-}"
  system=$systems/$1-$2
  [[ ! -e $system/done ]] || return 0
  say "making a system of $1 for $2"
  rm -rf -- "$system"
  mkdir -p -- "$systems"
  step "debootstrap of $1 for $2" debootstrap --variant=minbase --force-check-gpg \
    --include=python3,python3-venv "${words[@]}" --arch="${arch/aarch64/arm64}" "$1" "$system"
  touch -- "$system/done"
}

# Run in namespaces of its own, without a network: SYSTEM PACKAGES SCRIPT WORD...
# shellcheck disable=SC2016 # is expanded there
inside='mount --make-rprivate / && mount -t proc proc "$0/proc" && mount -t tmpfs tmp "$0/tmp" &&
  mount --rbind /dev "$0/dev" && mkdir "$0/tmp/packages" && mount --bind "$1" "$0/tmp/packages" &&
  exec chroot "$0" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TERM=linux \
    bash -c "${@:2}"'

# try RELEASE ARCHITECTURE WHAT: one of packaging/tries.sh
try() {
  local log=$work/log/try-$1-$2-$3.txt
  begin "$log"
  unshare --mount --net --pid --fork --kill-child -- \
    bash -c "$inside" "$system" "$out" "$(<"$root/packaging/tries.sh")" tries "$3" "$2" \
    >"$log" 2>&1 </dev/null ||
    give_up 1 "$1, $2: $3: $(grep . "$log" | tail -1 | cut -c1-160) ($log)"
  printf '%-9s %-8s %-8s %s\n' "$1" "$2" "$3" "$(tail -1 "$log")"
}

(($#)) || give_up 2 "of which releases? packaging/try.sh bookworm trixie:aarch64"
need debootstrap=debootstrap unshare=util-linux
((EUID == 0)) || give_up 3 "try.sh needs root, to make systems and to go into them"
for word; do
  arch=$(uname -m)
  [[ $word != *:* ]] || arch=${word#*:}
  architectures "$arch"
  system "${word%%:*}" "$arch"
  for what in wheel deb archive; do
    try "${word%%:*}" "$arch" "$what"
  done
done
