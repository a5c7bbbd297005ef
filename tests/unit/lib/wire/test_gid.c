/* SPDX-License-Identifier: BSD-3-Clause */

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>

#include "rp_gid.h"
#include "ut.h"

static struct rp_gid
gid_of(const char *text)
{
	struct rp_gid gid = {{0}};

	if (rp_gid_parse(text, &gid) != 0)
		abort();
	return gid;
}

static struct rp_gid
any_gid(struct rp_rng *rng)
{
	struct rp_gid gid;

	for (int i = 0; i < 16; i++)
		gid.b[i] = rp_rng_below(rng, 3) == 0 ? 0 : (uint8_t)rp_rng_next(rng);
	for (int i = 0; i < 16; i += 2)
		if (rp_rng_below(rng, 2) == 0)
			gid.b[i] = gid.b[i + 1] = 0;
	if (rp_rng_below(rng, 4) == 0)
		return rp_gid_from_ipv4(gid.b + 12);
	return gid;
}

static void
rp_gid_parse__any_gid_formatted__reads_back(void)
{
	struct rp_rng rng = ut_rng(1);

	for (int i = 0; i < 50000; i++) {
		struct rp_gid gid = any_gid(&rng), back;
		char text[RP_GID_TEXT_MAX], ip[RP_GID_TEXT_MAX];

		UT_OK(rp_gid_parse(rp_gid_format(&gid, text), &back));
		if (!UT_MEM(back.b, gid.b, 16))
			return;
		UT_OK(rp_gid_parse(rp_gid_format_ip(&gid, ip), &back));
		if (!UT_MEM(back.b, gid.b, 16))
			return;
	}
}

/* RFC 5952 section 4, independently: the C library agrees except for ::a.b.c.d. */
static void
rp_gid_format__any_native_address__agrees_with_the_c_library(void)
{
	struct rp_rng rng = ut_rng(2);

	for (int i = 0; i < 50000; i++) {
		struct rp_gid gid = any_gid(&rng);
		char text[RP_GID_TEXT_MAX], want[INET6_ADDRSTRLEN];

		if (inet_ntop(AF_INET6, gid.b, want, sizeof(want)) == NULL ||
			strchr(want, '.') != NULL)
			continue;
		if (!UT_STR(rp_gid_format(&gid, text), want))
			return;
	}
}

static void
rp_gid_format__rfc_5952_examples__are_canonical(void)
{
	static const struct {
		const char *in, *out;
	} row[] = {
		{"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},    /* the first of equal runs */
		{"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"}, /* one group stays */
		{"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},          /* the longest run */
		{"2001:0DB8:AAAA::000F", "2001:db8:aaaa::f"},     /* lower case, no zeros */
		{"0:0:0:0:0:0:0:0", "::"},
		{"0:0:0:0:0:0:0:1", "::1"},
		{"1:0:0:0:0:0:0:0", "1::"},
		{"fe80:0:0:0:0:ff:fe00:a", "fe80::ff:fe00:a"},
		{"::ffff:10.0.0.1", "::ffff:10.0.0.1"},
		{"::ffff:0a00:0001", "::ffff:10.0.0.1"},
		{"10.77.0.1", "::ffff:10.77.0.1"},
		{"::10.0.0.1", "::a00:1"},
		{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
			"ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"},
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		struct rp_gid gid = gid_of(row[i].in);
		char text[RP_GID_TEXT_MAX];

		UT_STR(rp_gid_format(&gid, text), row[i].out);
	}
}

static void
rp_gid_format_ip__ipv4__is_dotted(void)
{
	struct rp_gid v4 = gid_of("10.77.0.1"), v6 = gid_of("fd77::1");
	char text[RP_GID_TEXT_MAX];

	UT_STR(rp_gid_format_ip(&v4, text), "10.77.0.1");
	UT_STR(rp_gid_format_ip(&v6, text), "fd77::1");
}

static void
rp_gid_parse__not_an_address__is_refused(void)
{
	static const char *const bad[] = {"", " ", "10.0.0", "10.0.0.256", "10.0.0.1 ", " ::1",
		"::g", "1:2:3:4:5:6:7", "1:2:3:4:5:6:7:8:9", "::1::", "fe80::1%eth0", "fd77::1/64",
		"0000:0000:0000:0000:0000:ffff:255.255.255.2555", "host"};
	struct rp_gid gid = gid_of("::7");

	for (size_t i = 0; i < RP_ARRAY_LEN(bad); i++)
		if (!UT_EQ(rp_gid_parse(bad[i], &gid), -EINVAL))
			printf("  '%s'\n", bad[i]);
}

static void
rp_gid_is_unicast__each_class__is_named(void)
{
	static const struct {
		const char *text;
		bool ipv4, zero, link_local, multicast, loopback, unicast;
	} row[] = {
		{"::", false, true, false, false, false, false},
		{"0.0.0.0", true, true, false, false, false, false},
		{"::1", false, false, false, false, true, false},
		{"::2", false, false, false, false, false, true},
		{"127.0.0.1", true, false, false, false, true, false},
		{"127.255.255.255", true, false, false, false, true, false},
		{"126.255.255.255", true, false, false, false, false, true},
		{"128.0.0.1", true, false, false, false, false, true},
		{"169.254.1.1", true, false, true, false, false, true},
		{"169.253.1.1", true, false, false, false, false, true},
		{"fe80::1", false, false, true, false, false, true},
		{"febf:ffff::1", false, false, true, false, false, true},
		{"fec0::1", false, false, false, false, false, true},
		{"ff02::1", false, false, false, true, false, false},
		{"fe00::1", false, false, false, false, false, true},
		{"224.0.0.1", true, false, false, true, false, false},
		{"239.255.255.255", true, false, false, true, false, false},
		{"223.255.255.255", true, false, false, false, false, true},
		{"255.255.255.255", true, false, false, true, false, false},
		{"fd77::1", false, false, false, false, false, true},
	};

	for (size_t i = 0; i < RP_ARRAY_LEN(row); i++) {
		struct rp_gid g = gid_of(row[i].text);
		bool ok = UT_EQ(rp_gid_is_ipv4(&g), row[i].ipv4);

		ok &= UT_EQ(rp_gid_is_zero(&g), row[i].zero);
		ok &= UT_EQ(rp_gid_is_link_local(&g), row[i].link_local);
		ok &= UT_EQ(rp_gid_is_multicast(&g), row[i].multicast);
		ok &= UT_EQ(rp_gid_is_loopback(&g), row[i].loopback);
		ok &= UT_EQ(rp_gid_is_unicast(&g), row[i].unicast);
		if (!ok)
			printf("  %s\n", row[i].text);
	}
}

static void
rp_gid_same_prefix__any_length__is_the_first_differing_bit(void)
{
	struct rp_rng rng = ut_rng(3);

	for (int i = 0; i < 20000; i++) {
		bool v4 = rp_rng_below(&rng, 2) == 0;
		unsigned int width = v4 ? 32 : 128, bit = (unsigned int)rp_rng_below(&rng, width);
		struct rp_gid a = any_gid(&rng), b;
		unsigned int at;

		a = v4 ? rp_gid_from_ipv4(a.b) : a;
		if (!v4 && rp_gid_is_ipv4(&a))
			continue;
		at = bit + (v4 ? 96 : 0);
		b = a;
		b.b[at / 8] ^= (uint8_t)(0x80 >> at % 8);
		if (rp_gid_is_ipv4(&a) != rp_gid_is_ipv4(&b))
			continue;
		UT_TRUE(rp_gid_same_prefix(&a, &b, bit));
		UT_FALSE(rp_gid_same_prefix(&a, &b, bit + 1));
		UT_TRUE(rp_gid_same_prefix(&a, &a, width));
		if (!UT_FALSE(rp_gid_same_prefix(&a, &b, width)))
			return;
	}
}

static void
rp_gid_same_prefix__two_families__never_share(void)
{
	struct rp_gid v4 = gid_of("10.0.0.1"), v6 = gid_of("::fffe:a00:1");

	UT_FALSE(rp_gid_same_prefix(&v4, &v6, 0));
}

static void
rp_gid_hash__each_bit_and_the_seed__change_it(void)
{
	struct rp_gid gid = gid_of("fd77::1");
	uint32_t hash = rp_gid_hash(&gid, 5);

	UT_TRUE(rp_gid_hash(&gid, 6) != hash);
	for (int bit = 0; bit < 128; bit++) {
		struct rp_gid other = gid;

		other.b[bit / 8] ^= (uint8_t)(1 << bit % 8);
		UT_TRUE(rp_gid_hash(&other, 5) != hash);
	}
}

/* A subnet of hosts must not collapse into a few slots of a table. */
static void
rp_gid_hash__hosts_of_a_subnet__spread_over_the_slots(void)
{
	uint32_t load[256] = {0}, worst = 0;

	for (uint32_t i = 0; i < 65536; i++) {
		uint8_t v4[4] = {10, 77, (uint8_t)(i >> 8), (uint8_t)i};
		struct rp_gid gid = rp_gid_from_ipv4(v4);
		uint32_t slot = rp_gid_hash(&gid, 0) & 0xFF;

		load[slot]++;
		if (load[slot] > worst)
			worst = load[slot];
	}
	UT_TRUE(worst < 256 + 120);
}

static const struct ut_test tests[] = {
	UT(rp_gid_parse__any_gid_formatted__reads_back),
	UT(rp_gid_format__any_native_address__agrees_with_the_c_library),
	UT(rp_gid_format__rfc_5952_examples__are_canonical),
	UT(rp_gid_format_ip__ipv4__is_dotted),
	UT(rp_gid_parse__not_an_address__is_refused),
	UT(rp_gid_is_unicast__each_class__is_named),
	UT(rp_gid_same_prefix__any_length__is_the_first_differing_bit),
	UT(rp_gid_same_prefix__two_families__never_share),
	UT(rp_gid_hash__each_bit_and_the_seed__change_it),
	UT(rp_gid_hash__hosts_of_a_subnet__spread_over_the_slots),
};

UT_MAIN("gid", tests)
