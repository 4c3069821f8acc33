#!/usr/bin/env bash
# Two "hosts" on one machine: two network namespaces with a link of a limited rate between them. `wick launch` starts a
# rank in each through an agent, as it would by ssh, and the ranks talk over the link.
# run.sh PROGRAM WICK MPIRUN [RATE]: prints the program's output and what went over the link; RATE for tc, "200mbit".
# Needs root and iproute2; without them it says so and exits with 77.
set -uo pipefail
program=$1 wick=$2 mpirun=$3 rate=${4:-200mbit}
skip() {
  echo "SKIP: network namespaces are not allowed"
  exit 77
}
if [ -z "$mpirun" ] || [ -z "$wick" ] || ! "$mpirun" --version | grep -q "Open MPI\|OpenRTE"; then
  echo "SKIP: MPI not installed"
  exit 77
fi
[ "$(id -u)" = 0 ] && command -v ip >/dev/null || skip
a=wick-a-$$ b=wick-b-$$ folder=$(mktemp -d)
clean() {
  ip netns del $a 2>/dev/null
  ip netns del $b 2>/dev/null
  rm -r "$folder"
}
trap clean EXIT
ip netns add $a 2>/dev/null && ip netns add $b 2>/dev/null || skip
ip link add wick0 netns $a type veth peer name wick0 netns $b 2>/dev/null || skip
for i in 1 2; do
  ns=$([ $i = 1 ] && echo $a || echo $b)
  ip -n "$ns" addr add 10.77.0.$i/24 dev wick0 && ip -n "$ns" link set wick0 up && ip -n "$ns" link set lo up || skip
  ip netns exec "$ns" tc qdisc add dev wick0 root tbf rate "$rate" burst 64kb latency 100ms 2>/dev/null ||
    echo "tc has no tbf: the link has no limit" >&2
done
# What ssh would do: runs the command line on the host of that address.
cat >"$folder/agent" <<AGENT
#!/bin/sh
case \$1 in
  10.77.0.1) ns=$a ;;
  *) ns=$b ;;
esac
shift
exec ip netns exec \$ns sh -c "\$*"
AGENT
chmod +x "$folder/agent"
bytes() { ip netns exec $a cat /sys/class/net/wick0/statistics/tx_bytes; }
before=$(bytes)
cat >"$folder/mpirun" <<MPIRUN
#!/bin/sh
[ "\$1" = --version ] && exec "$mpirun" --version
# Both hosts have one name: messages between ranks must not go through its memory.
exec "$mpirun" --mca btl tcp,self --mca btl_tcp_if_include wick0 --mca oob_tcp_if_include wick0 --mca pml ob1 "\$@"
MPIRUN
chmod +x "$folder/mpirun"
began=$(date +%s%N)
ip netns exec $a "$wick" launch -n 2 --hosts 10.77.0.1,10.77.0.2 --agent "$folder/agent" --mpirun "$folder/mpirun" \
  -- "$program"
code=$?
echo "exit code $code, $(($(bytes) - before)) bytes sent over $rate, $((($(date +%s%N) - began) / 1000000)) ms" >&2
exit $code
