#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# in_veth.sh PROGRAM [ARG...]: run it in a network namespace of its own that holds
# the two ends of a cable, rpmdrv-a and rpmdrv-b. Skips (77) without the right to.

set -euo pipefail

if [ "$(id -u)" -ne 0 ] || ! unshare --net true 2>/dev/null; then
	echo "in_veth: skipped: needs root, for network namespaces and AF_PACKET"
	echo "0 passed, 0 failed, 1 skipped"
	exit 77
fi

# The namespace goes with its last process: nothing to clean up.
# shellcheck disable=SC2016 # the inner shell expands
exec unshare --net bash -euc '
	ip link add rpmdrv-a type veth peer name rpmdrv-b
	for i in rpmdrv-a rpmdrv-b; do
		ip link set "$i" addrgenmode none arp off up
	done
	exec "$@"
' in_veth "$@"
