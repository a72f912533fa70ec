# shellcheck shell=bash
# What packaging/try.sh does in a system that has Python and nothing else, given what to try
# and the architecture; the last line says what held.
set -euo pipefail
what=$1 arch=$2
cd /root

# same WHAT EXPECTED GOT
same() {
  [[ $2 == "$3" ]] || {
    echo "$1: expected '$2', got '$3'"
    exit 1
  }
}

# runs LLMPROF: the first command of the README, and what it leaves
runs() {
  rm -rf tmp
  "$1" recipes/deepseek_ocr.lua capture=recorded run.id=first --quiet
  same "is there a report" yes "$([[ -s tmp/stage2/first/report.html ]] && echo yes)"
  same "the collector" yes "$("$1" -e 'return (require "llmprof.collector").find() and "yes"')"
  rm -rf tmp
}

# nothing_left WHAT: no file of ours is there; an empty folder may be, pip leaves those
nothing_left() {
  same "left of $1" '' "$(find / -xdev -path '*llmprof*' ! -type d)"
}

# knows_tag PYTHON: is its pip one of those that know the wheel's platform tag?
knows_tag() {
  "$1" -c 'import pip; exit(tuple(map(int, pip.__version__.split(".")[:2])) < (20, 3))'
}

try_wheel() {
  local bin=/opt/tried/bin file
  file=$(echo /tmp/packages/llmprof_gpu-*_"$arch".whl)
  python3 -m venv /opt/tried
  if ! knows_tag "$bin/python"; then
    [[ $("$bin/pip" install --no-index "$file" 2>&1) == *"not a supported wheel"* ]]
    echo "as said: refused by $("$bin/pip" --version | cut -d' ' -f1,2), 20.3 is needed"
    rm -rf /opt/tried
    return
  fi
  "$bin/pip" install --no-index "$file"
  runs "$bin/llmprof"
  "$bin/pip" install --no-index --force-reinstall "$file"
  runs "$bin/llmprof-gpu"
  "$bin/pip" uninstall -y llmprof-gpu
  nothing_left "the wheel"
  rm -rf /opt/tried
  echo "pip install, run, again, uninstall; $(getconf GNU_LIBC_VERSION)"
}

# An older package of one file more: what an upgrade starts from.
older() {
  dpkg-deb -R "$1" /tmp/older
  sed -i 's/^Version: .*/Version: 0.0.1-1/' /tmp/older/DEBIAN/control
  touch /tmp/older/usr/share/llmprof/gone
  dpkg-deb --root-owner-group -b /tmp/older /tmp/older.deb
}

try_deb() {
  local file version
  file=$(echo "/tmp/packages/llmprof_"*"_$(dpkg --print-architecture).deb")
  version=$(dpkg-deb -f "$file" Version)
  older "$file"
  export DEBIAN_FRONTEND=noninteractive
  apt-get install -y /tmp/older.deb
  same "version before" 0.0.1-1 "$(dpkg-query -W -f '${Version}' llmprof)"
  apt-get install -y "$file"
  same "version after" "$version" "$(dpkg-query -W -f '${Version}' llmprof)"
  same "a file that is gone" '' "$(find /usr/share/llmprof/gone 2>/dev/null || true)"
  runs llmprof
  same "changed files" '' "$(dpkg -V llmprof)"
  apt-get purge -y llmprof
  same "its state" '' "$(dpkg-query -W -f '${Status}' llmprof 2>/dev/null || true)"
  rm -rf /tmp/older /tmp/older.deb
  nothing_left "the package"
  echo "install, upgrade to $version, run, purge"
}

try_archive() {
  local file
  file=$(echo /tmp/packages/llmprof-*-linux-"$arch".tar.gz)
  (cd /tmp/packages && sha256sum -c "${file##*/}.sha256")
  tar xf "$file"
  runs ./llmprof-*/bin/llmprof
  rm -rf llmprof-*
  echo "checksum, unpacked, run"
}

"try_$what"
