/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_pcap.h"

#include <byteswap.h>
#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WHY_MAX        256
#define MAGIC_US       0xA1B2C3D4u
#define MAGIC_NS       0xA1B23C4Du
#define MAGIC_PCAPNG   0x0A0D0D0Au
#define LINKTYPE_ETHER 1
#define FRAME_MAX      262144 /* what libpcap accepts as well */

struct rp_pcap {
	FILE *file;
	bool swapped;
	bool nanoseconds;
	uint64_t n;
	uint8_t data[FRAME_MAX];
};

static uint32_t
word(const struct rp_pcap *pcap, uint32_t v)
{
	return pcap->swapped ? bswap_32(v) : v;
}

static int
refuse(char *why, const char *text)
{
	snprintf(why, WHY_MAX, "%s", text);
	return -EPROTO;
}

static int
read_header(struct rp_pcap *pcap, char *why)
{
	uint32_t h[6];
	uint32_t magic;

	if (fread(h, sizeof(h), 1, pcap->file) != 1 && ferror(pcap->file) != 0)
		return refuse(why, strerror(errno));
	if (feof(pcap->file) != 0)
		return refuse(why, "shorter than a pcap header");
	magic = h[0];
	if (magic == MAGIC_PCAPNG)
		return refuse(why, "pcapng; convert it with: tcpdump -r IN -w OUT.pcap");
	pcap->swapped = magic == bswap_32(MAGIC_US) || magic == bswap_32(MAGIC_NS);
	magic = word(pcap, magic);
	if (magic != MAGIC_US && magic != MAGIC_NS)
		return refuse(why, "not a pcap file");
	pcap->nanoseconds = magic == MAGIC_NS;
	if ((word(pcap, h[5]) & 0x0FFFFFFF) != LINKTYPE_ETHER)
		return refuse(why, "not an Ethernet capture");
	return 0;
}

int
rp_pcap_open(const char *path, struct rp_pcap **ret_pcap, char *why)
{
	struct rp_pcap *pcap = calloc(1, sizeof(*pcap));
	int rc;

	if (pcap == NULL)
		return -ENOMEM;
	pcap->file = fopen(path, "re");
	if (pcap->file == NULL) {
		rc = -errno;
		free(pcap);
		return rc;
	}
	rc = read_header(pcap, why);
	if (rc != 0) {
		rp_pcap_close(pcap);
		return rc;
	}
	*ret_pcap = pcap;
	return 0;
}

void
rp_pcap_close(struct rp_pcap *pcap)
{
	if (pcap == NULL)
		return;
	fclose(pcap->file);
	free(pcap);
}

int
rp_pcap_next(struct rp_pcap *pcap, struct rp_pcap_frame *ret_frame, char *why)
{
	uint32_t h[4];
	size_t got = fread(h, 1, sizeof(h), pcap->file);
	uint32_t len;

	if (got == 0)
		return ferror(pcap->file) ? refuse(why, "read error") : 0;
	pcap->n++;
	if (got < sizeof(h)) {
		snprintf(why, WHY_MAX, "record %llu is cut off", (unsigned long long)pcap->n);
		return -EPROTO;
	}
	len = word(pcap, h[2]);
	if (len > FRAME_MAX || fread(pcap->data, 1, len, pcap->file) != len) {
		snprintf(why, WHY_MAX, "record %llu %s", (unsigned long long)pcap->n,
			len > FRAME_MAX ? "claims an impossible length" : "is cut off");
		return -EPROTO;
	}
	*ret_frame = (struct rp_pcap_frame){
		.ts_us = (int64_t)word(pcap, h[0]) * 1000000 +
			word(pcap, h[1]) / (pcap->nanoseconds ? 1000 : 1),
		.data = pcap->data,
		.len = len,
		.wire_len = word(pcap, h[3]),
	};
	return 1;
}
