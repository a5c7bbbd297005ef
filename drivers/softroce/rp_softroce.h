/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_SOFTROCE_H
#define RP_SOFTROCE_H

/**
 * @file rp_softroce.h
 * The softroce driver: RoCEv2 in user space over any DPDK ethdev.
 *
 * It owns its IP address: it answers ARP, neighbour solicitations and echo
 * requests, resolves next hops itself, and never looks at the kernel's addresses.
 *
 * Stamps are the host's, for both directions: an ethdev cannot stamp what it
 * sends, and T5 - T2 must lie in one clock (docs/drivers.md).
 *
 * Thread:  as rp_transport.h; EAL is initialised before. Queue pairs are opened
 *          and closed while no lcore uses the port.
 * Memory:  one mempool per port, sized in sr_ethdev_open(); rings of the EAL.
 * Time:    ticks of rp_port_conf.clock.
 */

#include "rp_transport.h"

extern const struct rp_transport_ops rp_softroce_ops;

#endif /* RP_SOFTROCE_H */
