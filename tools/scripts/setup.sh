#!/usr/bin/env bash
# Installs what the given groups of packages.txt lack: setup.sh [build] [demo] [cross] [check] [bench] [edges] [targets]
# (none given: build demo cross). As root or through sudo; otherwise says what is lacking and exits 1.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
groups=("$@")
[ ${#groups[@]} -gt 0 ] || groups=(build demo cross)

if ! command -v dpkg-query >/dev/null; then
  echo "setup: not a Debian system; the packages of tools/scripts/packages.txt are taken to be there" >&2
  exit 0
fi

missing=() lines=()
while read -r name group purpose; do
  case "$name" in "" | "#"*) continue ;; esac
  [[ " ${groups[*]} " == *" $group "* ]] || continue
  [ "$(dpkg-query -W -f='${db:Status-Status}' "$name" 2>/dev/null)" = installed ] && continue
  missing+=("$name")
  lines+=("$(printf '  %-24s %s' "$name" "$purpose")")
done <"$here/packages.txt"
[ ${#missing[@]} -gt 0 ] || exit 0

lacking() {
  echo "setup: $1. Lacking:" >&2
  printf '%s\n' "${lines[@]}" >&2
  echo "install them with: apt-get install ${missing[*]}" >&2
  exit 1
}

if [ "$(id -u)" = 0 ]; then
  as_root=()
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
  as_root=(sudo -n)
elif command -v sudo >/dev/null && [ -t 0 ]; then
  as_root=(sudo)
else
  lacking "some packages are missing, and this user is neither root nor may use sudo"
fi

echo "setup: installing ${#missing[@]} packages: ${missing[*]}"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
apt() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get -q -o Acquire::Retries=3 \
    -o DPkg::Lock::Timeout=300 "$@" >>"$log" 2>&1
}
apt update || true # an old list may still serve
if ! apt install -y --no-install-recommends "${missing[@]}"; then
  tail -5 "$log" >&2
  lacking "apt-get could not install them (offline?)"
fi
