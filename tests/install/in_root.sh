#!/usr/bin/env bash
# Installs packages as a machine gets them, without the tree that they were built from: in_root.sh PACKAGES TREE MODEL
# ANSWER, in a mount name space of its own (unshare -m) and as root. The root is this machine's, with everything that is
# written to it in memory: dpkg knows what is installed here, so a package whose dependencies are named wrongly is
# refused.
set -euo pipefail
packages=$1 tree=$2 model=$3 wanted=$4
memory=$(mktemp -d)
mount -t tmpfs tmpfs "$memory"
mkdir "$memory/upper" "$memory/work" "$memory/root"
mount -t overlay overlay -o "lowerdir=/,upperdir=$memory/upper,workdir=$memory/work" "$memory/root"
root=$memory/root
mkdir -p "$root/proc" "$root/dev" "$root/root/user"
mount --rbind /dev "$root/dev"
mount --bind /proc "$root/proc"
cp "$packages"/*.deb "$model" "$tree"/tests/install/outside/* "$root/root/user/"
mkdir -p "$root$tree"
mount -t tmpfs tmpfs "$root$tree"

cat >"$root/root/user/user.sh" <<'END'
set -euo pipefail
cd /root/user
export HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
unset CMAKE_PREFIX_PATH PKG_CONFIG_PATH LD_LIBRARY_PATH
run() {
  local start=$SECONDS
  "$@" >step.log 2>&1 || { echo "failed: $*"; tail -40 step.log; exit 1; }
  echo "+ $* [$((SECONDS - start)) s]"
}
agrees() {
  got=$("$1" "$model" | sha256sum | cut -d' ' -f1)
  [ "$got" = "$wanted" ] || { echo "FAILED: $1: other answers than the library's"; exit 1; }
  echo "$1: sha256 $got"
}
for file in /usr/include/wick /usr/lib/libwick_runtime.so.0; do [ ! -e $file ] || { echo "not clean: $file"; exit 1; }; done
run dpkg -i libwick-runtime0_*.deb libwick-runtime-dev_*.deb
run gcc answers.c -o shared $(pkg-config --cflags --libs wick-runtime)
agrees ./shared
run gcc -static answers.c -o wholly $(pkg-config --static --cflags --libs wick-runtime)
agrees ./wholly
run cmake -S . -B build -G "Unix Makefiles"
run cmake --build build
agrees build/answers
run wick_select_ops "$model"
if ls wick-tools_*.deb >/dev/null 2>&1; then
  run dpkg -i wick-tools_*.deb
  run wick inspect "$model"
  run dpkg -i libwick-dev_*.deb
  run dpkg -r libwick-dev wick-tools
fi
run dpkg -r libwick-runtime-dev
[ ! -e /usr/include/wick ] || { echo "FAILED: headers stay behind"; exit 1; }
agrees ./shared # the library's own package is all that a program needs
END
chroot "$root" env model="$(basename "$model")" wanted="$wanted" bash /root/user/user.sh
