/* SPDX-License-Identifier: BSD-3-Clause */

#include <byteswap.h>
#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "rp_pcap.h"
#include "ut.h"

static char path[64];
static char why[256];

static int
open_bytes(const void *bytes, size_t len, struct rp_pcap **ret_pcap)
{
	int fd, rc;

	snprintf(path, sizeof(path), "/tmp/rp-pcap-XXXXXX");
	fd = mkstemp(path);
	if (fd < 0 || write(fd, bytes, len) != (ssize_t)len)
		abort();
	close(fd);
	why[0] = '\0';
	rc = rp_pcap_open(path, ret_pcap, why);
	unlink(path);
	return rc;
}

/* A file of one frame: header of 6 words, record of 4 words, 5 bytes. */
struct file {
	uint32_t word[10];
	uint8_t frame[8];
};

#define FILE_LEN (10 * 4 + 5)

static struct file
make_file(uint32_t magic, uint32_t subsecond, bool swap)
{
	struct file f = {
		.word = {magic, 2 | 4 << 16, 0, 0, 65535, 1, 1700000000, subsecond, 5, 99},
		.frame = {1, 2, 3, 4, 5},
	};

	if (swap)
		for (size_t i = 0; i < RP_ARRAY_LEN(f.word); i++)
			f.word[i] = bswap_32(f.word[i]);
	return f;
}

static void
rp_pcap_next__both_orders_and_resolutions__give_the_same_frame(void)
{
	for (int kind = 0; kind < 4; kind++) {
		bool ns = (kind & 1) != 0, swap = (kind & 2) != 0;
		struct file f =
			make_file(ns ? 0xA1B23C4D : 0xA1B2C3D4, ns ? 123456789 : 123456, swap);
		struct rp_pcap_frame frame;
		struct rp_pcap *pcap;

		UT_OK(open_bytes(&f, FILE_LEN, &pcap));
		UT_EQ(rp_pcap_next(pcap, &frame, why), 1);
		UT_EQ(frame.ts_us, INT64_C(1700000000123456));
		UT_EQ(frame.len, 5);
		UT_EQ(frame.wire_len, 99);
		UT_MEM(frame.data, f.frame, 5);
		UT_EQ(rp_pcap_next(pcap, &frame, why), 0);
		UT_EQ(rp_pcap_next(pcap, &frame, why), 0);
		rp_pcap_close(pcap);
	}
}

static void
rp_pcap_open__not_a_classic_ethernet_capture__is_refused_by_name(void)
{
	struct file f = make_file(0xA1B2C3D4, 0, false);
	struct rp_pcap *pcap;

	UT_EQ(open_bytes(&f, 0, &pcap), -EPROTO);
	UT_STR(why, "shorter than a pcap header");
	UT_EQ(open_bytes(&f, 23, &pcap), -EPROTO);
	UT_STR(why, "shorter than a pcap header");
	f.word[0] = 0x0A0D0D0A;
	UT_EQ(open_bytes(&f, FILE_LEN, &pcap), -EPROTO);
	UT_HAS(why, "pcapng");
	f.word[0] = 0x12345678;
	UT_EQ(open_bytes(&f, FILE_LEN, &pcap), -EPROTO);
	UT_STR(why, "not a pcap file");
	f = make_file(0xA1B2C3D4, 0, false);
	f.word[5] = 113;
	UT_EQ(open_bytes(&f, FILE_LEN, &pcap), -EPROTO);
	UT_STR(why, "not an Ethernet capture");
	UT_EQ(rp_pcap_open("/nonexistent/file", &pcap, why), -ENOENT);
	rp_pcap_close(NULL);
}

static void
rp_pcap_open__upper_bits_of_the_link_type__are_not_part_of_it(void)
{
	struct file f = make_file(0xA1B2C3D4, 0, false);
	struct rp_pcap *pcap;

	f.word[5] |= 0x40000000;
	UT_OK(open_bytes(&f, FILE_LEN, &pcap));
	rp_pcap_close(pcap);
}

static void
rp_pcap_next__file_cut_anywhere__says_which_record(void)
{
	struct file f = make_file(0xA1B2C3D4, 0, false);

	for (size_t len = 24; len < FILE_LEN; len++) {
		struct rp_pcap_frame frame;
		struct rp_pcap *pcap;

		UT_OK(open_bytes(&f, len, &pcap));
		if (len == 24) {
			UT_EQ(rp_pcap_next(pcap, &frame, why), 0);
		} else {
			UT_EQ(rp_pcap_next(pcap, &frame, why), -EPROTO);
			UT_STR(why, "record 1 is cut off");
		}
		rp_pcap_close(pcap);
	}
}

static void
rp_pcap_next__impossible_length__is_refused(void)
{
	static const uint32_t bad[] = {262145, 0x7FFFFFFF, 0xFFFFFFFF};

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++) {
		struct file f = make_file(0xA1B2C3D4, 0, false);
		struct rp_pcap_frame frame;
		struct rp_pcap *pcap;

		f.word[8] = bad[i];
		UT_OK(open_bytes(&f, FILE_LEN, &pcap));
		UT_EQ(rp_pcap_next(pcap, &frame, why), -EPROTO);
		UT_STR(why, "record 1 claims an impossible length");
		rp_pcap_close(pcap);
	}
}

/* Any damage: frames and one verdict at the end, never a frame beyond the file. */
static void
rp_pcap_next__random_damage__ends(void)
{
	struct rp_rng rng = ut_rng(1);
	static uint8_t bytes[65536];
	FILE *in = fopen(ut_data("captures/ud_pingpong_v4.pcap"), "re");
	size_t len = in == NULL ? 0 : fread(bytes, 1, sizeof(bytes), in);

	if (len == 0)
		abort();
	fclose(in);
	for (int i = 0; i < 2000; i++) {
		uint8_t copy[4096];
		struct rp_pcap_frame frame;
		struct rp_pcap *pcap;
		int n = 0, rc;

		memcpy(copy, bytes, len);
		for (int k = 0; k < 4; k++)
			copy[rp_rng_below(&rng, len)] = (uint8_t)rp_rng_next(&rng);
		if (open_bytes(copy, rp_rng_below(&rng, len + 1), &pcap) != 0) {
			UT_TRUE(why[0] != '\0');
			continue;
		}
		while ((rc = rp_pcap_next(pcap, &frame, why)) == 1) {
			UT_TRUE(frame.len <= len);
			n++;
		}
		UT_TRUE(rc == 0 || rc == -EPROTO);
		UT_TRUE(n <= 1000);
		rp_pcap_close(pcap);
	}
}

static const struct ut_test tests[] = {
	UT(rp_pcap_next__both_orders_and_resolutions__give_the_same_frame),
	UT(rp_pcap_open__not_a_classic_ethernet_capture__is_refused_by_name),
	UT(rp_pcap_open__upper_bits_of_the_link_type__are_not_part_of_it),
	UT(rp_pcap_next__file_cut_anywhere__says_which_record),
	UT(rp_pcap_next__impossible_length__is_refused),
	UT(rp_pcap_next__random_damage__ends),
};

UT_MAIN("pcap", tests)
