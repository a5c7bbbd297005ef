/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_PCAP_H
#define RP_PCAP_H

/**
 * @file rp_pcap.h
 * Reader of classic pcap files with Ethernet frames: both byte orders, micro- and
 * nanosecond stamps. pcapng is refused by name.
 *
 * Thread:  one owner. Memory: the frame is valid until the next call.
 * Time:    stamps as in the file, in microseconds since the epoch.
 */

#include <stddef.h>
#include <stdint.h>

struct rp_pcap;

struct rp_pcap_frame {
	int64_t ts_us;
	const uint8_t *data;
	uint32_t len;      /* bytes captured */
	uint32_t wire_len; /* bytes on the wire; larger when the capture was cut */
};

/** @return 0, -errno of open, -EPROTO with one line in @p why (256 bytes) */
int rp_pcap_open(const char *path, struct rp_pcap **ret_pcap, char *why);
void rp_pcap_close(struct rp_pcap *pcap);

/** @return 1 a frame, 0 end of file, -EPROTO a damaged record (as above) */
int rp_pcap_next(struct rp_pcap *pcap, struct rp_pcap_frame *ret_frame, char *why);

#endif /* RP_PCAP_H */
