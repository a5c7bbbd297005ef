/* SPDX-License-Identifier: BSD-3-Clause */

#include "registry.h"

#include <errno.h>
#include <stdio.h>

#include "ut.h"

#define ACTIVE 300000
#define STALE  900000
#define T0     INT64_C(1700000000000)

static struct registry reg;
static enum registry_verdict verdict;
static struct registry_conflict conflict;

static struct rp_api_register
make_set(const char *host, const char *boot, uint64_t seq, const char *const *ips)
{
	struct rp_api_register set = {.set_seq = seq};

	snprintf(set.hostname, sizeof(set.hostname), "%s", host);
	snprintf(set.boot_id, sizeof(set.boot_id), "%s", boot);
	set.rnic = calloc(8, sizeof(*set.rnic));
	for (; ips[set.n_rnics] != NULL; set.n_rnics++) {
		struct rp_api_rnic *r = &set.rnic[set.n_rnics];

		rp_gid_parse(ips[set.n_rnics], &r->gid);
		r->qpn = 17;
		r->generation = 1;
		r->up = true;
		snprintf(r->device, sizeof(r->device), "d0");
	}
	return set;
}

#define IPS(...)                                                                                   \
	(const char *const[])                                                                      \
	{                                                                                          \
		__VA_ARGS__, NULL                                                                  \
	}

static enum registry_verdict
put(const char *id, const char *host, const char *boot, uint64_t seq, const char *const *ips,
	int64_t now_ms)
{
	struct rp_api_register set = make_set(host, boot, seq, ips);

	UT_OK(registry_put(&reg, id, &set, now_ms, &verdict, &conflict));
	rp_api_register_fini(&set);
	return verdict;
}

static struct registry_rnic *
find(const char *ip)
{
	struct rp_gid gid;

	rp_gid_parse(ip, &gid);
	return registry_find_gid(&reg, &gid);
}

static void
setup(void)
{
	registry_init(&reg, ACTIVE, STALE);
}

static void
put__same_set_again__is_a_heartbeat(void)
{
	uint64_t version;

	setup();
	UT_EQ(put("a", "h", "b1", 1, IPS("10.0.0.1"), T0), REGISTRY_CHANGED);
	version = reg.version;
	UT_EQ(put("a", "h", "b1", 1, IPS("10.0.0.1"), T0 + 1000), REGISTRY_SAME);
	UT_EQ_U(reg.version, version);
	UT_EQ(registry_find(&reg, "a")->last_seen_ms, T0 + 1000);
	registry_fini(&reg);
}

static void
put__same_set_with_a_higher_seq__is_a_heartbeat(void)
{
	uint64_t version;

	setup();
	UT_EQ(put("a", "h", "b1", 1, IPS("10.0.0.1", "10.0.0.2"), T0), REGISTRY_CHANGED);
	version = reg.version;
	for (uint64_t seq = 2; seq < 10; seq++) {
		UT_EQ(put("a", "h", "b1", seq, IPS("10.0.0.1", "10.0.0.2"), T0 + (int64_t)seq),
			REGISTRY_SAME);
		UT_EQ_U(registry_find(&reg, "a")->set.set_seq, seq);
	}
	UT_EQ_U(reg.version, version);
	UT_TRUE(registry_find(&reg, "a")->touched);
	/* The number is remembered: what was sent before it comes too late. */
	UT_EQ(put("a", "h", "b1", 8, IPS("10.0.0.1", "10.0.0.2"), T0 + 20), REGISTRY_STALE_SET);
	UT_EQ(put("a", "h", "b1", 8, IPS("10.0.0.3"), T0 + 20), REGISTRY_STALE_SET);
	UT_EQ(put("a", "h", "b1", 9, IPS("10.0.0.3"), T0 + 20), REGISTRY_STALE_SET);
	UT_EQ(put("a", "h", "b1", 10, IPS("10.0.0.3"), T0 + 20), REGISTRY_CHANGED);
	UT_TRUE(reg.version != version);
	registry_fini(&reg);
}

static void
put__higher_seq__replaces_the_whole_set(void)
{
	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1", "10.0.0.2"), T0);
	UT_EQ(put("a", "h", "b1", 2, IPS("10.0.0.3"), T0), REGISTRY_CHANGED);
	UT_TRUE(find("10.0.0.1") == NULL);
	UT_TRUE(find("10.0.0.2") == NULL);
	UT_TRUE(find("10.0.0.3") != NULL);
	registry_fini(&reg);
}

static void
put__seq_not_above__is_stale_and_changes_nothing(void)
{
	setup();
	put("a", "h", "b1", 5, IPS("10.0.0.1"), T0);
	UT_EQ(put("a", "h", "b1", 4, IPS("10.0.0.2"), T0), REGISTRY_STALE_SET);
	UT_EQ(put("a", "h", "b1", 5, IPS("10.0.0.2"), T0), REGISTRY_STALE_SET);
	UT_TRUE(find("10.0.0.1") != NULL);
	UT_TRUE(find("10.0.0.2") == NULL);
	UT_EQ_U(reg.conflicts, 2);
	registry_fini(&reg);
}

static void
put__new_boot_of_the_host__supersedes_the_old_one(void)
{
	setup();
	put("a", "h", "b1", 9, IPS("10.0.0.1"), T0);
	UT_EQ(put("a", "h", "b2", 1, IPS("10.0.0.1"), T0), REGISTRY_CHANGED);
	UT_EQ(put("a", "h", "b1", 10, IPS("10.0.0.1"), T0), REGISTRY_SUPERSEDED);
	UT_STR(registry_find(&reg, "a")->set.boot_id, "b2");
	registry_fini(&reg);
}

static void
put__many_boots__remembers_the_last_four(void)
{
	char boot[8];

	setup();
	for (int i = 0; i <= REGISTRY_OLD_BOOTS + 1; i++) {
		snprintf(boot, sizeof(boot), "b%d", i);
		UT_EQ(put("a", "h", boot, 1, IPS("10.0.0.1"), T0), REGISTRY_CHANGED);
	}
	UT_EQ(put("a", "h", "b1", 1, IPS("10.0.0.1"), T0), REGISTRY_SUPERSEDED);
	UT_EQ(put("a", "h", "b4", 1, IPS("10.0.0.1"), T0), REGISTRY_SUPERSEDED);
	registry_fini(&reg);
}

static void
put__other_host__waits_until_the_first_is_silent(void)
{
	setup();
	put("a", "h1", "b1", 1, IPS("10.0.0.1"), T0);
	UT_EQ(put("a", "h2", "b2", 1, IPS("10.0.0.2"), T0 + ACTIVE - 1), REGISTRY_AGENT_BUSY);
	UT_STR(conflict.holder, "h1");
	UT_EQ(put("a", "h2", "b2", 1, IPS("10.0.0.2"), T0 + ACTIVE), REGISTRY_CHANGED);
	registry_fini(&reg);
}

static void
put__gid_of_a_live_agent__is_refused_whole(void)
{
	setup();
	put("a", "h1", "b1", 1, IPS("10.0.0.1"), T0);
	UT_EQ(put("x", "h2", "b2", 1, IPS("10.0.0.5", "10.0.0.1"), T0), REGISTRY_GID_BUSY);
	UT_EQ(conflict.rnic, 1);
	UT_STR(conflict.holder, "a");
	UT_TRUE(registry_find(&reg, "x") == NULL);
	UT_TRUE(find("10.0.0.5") == NULL);
	registry_fini(&reg);
}

static void
put__gid_of_a_silent_agent__moves_and_can_be_claimed_back(void)
{
	setup();
	put("a", "h1", "b1", 1, IPS("10.0.0.1", "10.0.0.2"), T0);
	UT_EQ(put("x", "h2", "b2", 1, IPS("10.0.0.1"), T0 + ACTIVE), REGISTRY_CHANGED);
	UT_STR(find("10.0.0.1")->agent->agent_id, "x");
	UT_STR(find("10.0.0.2")->agent->agent_id, "a");
	UT_EQ(put("a", "h1", "b1", 1, IPS("10.0.0.1", "10.0.0.2"), T0 + ACTIVE + 1),
		REGISTRY_GID_BUSY);
	UT_EQ(put("a", "h1", "b1", 1, IPS("10.0.0.1", "10.0.0.2"), T0 + 3 * ACTIVE),
		REGISTRY_CHANGED);
	UT_STR(find("10.0.0.1")->agent->agent_id, "a");
	registry_fini(&reg);
}

static void
put__heard_after_silence__changes_the_version(void)
{
	uint64_t version;

	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	version = reg.version;
	UT_EQ(put("a", "h", "b1", 1, IPS("10.0.0.1"), T0 + ACTIVE), REGISTRY_SAME);
	UT_TRUE(reg.version != version);
	registry_fini(&reg);
}

static void
put__empty_set__leaves_the_agent_without_rnics(void)
{
	static const char *const none[] = {NULL};

	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	UT_EQ(put("a", "h", "b1", 2, none, T0), REGISTRY_CHANGED);
	UT_TRUE(find("10.0.0.1") == NULL);
	UT_TRUE(registry_find(&reg, "a") != NULL);
	registry_fini(&reg);
}

static void
delete__boot_id__must_be_the_current_one(void)
{
	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	UT_EQ(registry_delete(&reg, "a", "b2", T0), -EPERM);
	UT_EQ(registry_delete(&reg, "b", "b1", T0), -ENOENT);
	UT_OK(registry_delete(&reg, "a", "b1", T0));
	UT_TRUE(find("10.0.0.1") == NULL);
	UT_EQ(reg.by_id.n, 0);
	UT_EQ(reg.by_gid.n, 0);
	registry_fini(&reg);
}

static void
delete__late_put_of_a_boot_that_left__is_superseded(void)
{
	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	put("a", "h", "b2", 1, IPS("10.0.0.1"), T0);
	UT_OK(registry_delete(&reg, "a", "b2", T0));
	UT_EQ(put("a", "h", "b2", 1, IPS("10.0.0.1"), T0 + 1), REGISTRY_SUPERSEDED);
	UT_EQ(put("a", "h", "b2", 9, IPS("10.0.0.2"), T0 + 1), REGISTRY_SUPERSEDED);
	UT_EQ(put("a", "h", "b1", 9, IPS("10.0.0.1"), T0 + 1), REGISTRY_SUPERSEDED);
	UT_TRUE(registry_find(&reg, "a") == NULL);
	UT_TRUE(find("10.0.0.1") == NULL);
	UT_EQ_U(reg.conflicts, 3);
	/* Others and new processes are free to come, and the old ones stay out. */
	UT_EQ(put("x", "h", "b2", 1, IPS("10.0.0.9"), T0 + 1), REGISTRY_CHANGED);
	UT_EQ(put("a", "h", "b3", 1, IPS("10.0.0.1"), T0 + 2), REGISTRY_CHANGED);
	UT_EQ(put("a", "h", "b2", 2, IPS("10.0.0.1"), T0 + 3), REGISTRY_SUPERSEDED);
	UT_EQ(put("a", "h", "b1", 2, IPS("10.0.0.1"), T0 + 3), REGISTRY_SUPERSEDED);
	UT_OK(registry_delete(&reg, "a", "b3", T0 + 4));
	UT_EQ(put("a", "h", "b2", 2, IPS("10.0.0.1"), T0 + 5), REGISTRY_SUPERSEDED);
	UT_EQ(put("a", "h", "b3", 2, IPS("10.0.0.1"), T0 + 4 + STALE - 1), REGISTRY_SUPERSEDED);
	UT_EQ(put("a", "h", "b3", 2, IPS("10.0.0.1"), T0 + 4 + STALE), REGISTRY_CHANGED);
	registry_fini(&reg);
}

static void
delete__repeated__is_known_to_have_left(void)
{
	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	UT_OK(registry_check_delete(&reg, "a", "b1", T0));
	UT_TRUE(registry_find(&reg, "a") != NULL);
	UT_OK(registry_delete(&reg, "a", "b1", T0));
	UT_EQ(registry_delete(&reg, "a", "b1", T0 + 1), -EALREADY);
	UT_EQ(registry_delete(&reg, "a", "b2", T0 + 1), -ENOENT);
	put("a", "h", "b2", 1, IPS("10.0.0.1"), T0 + 2);
	UT_EQ(registry_delete(&reg, "a", "b1", T0 + 3), -EPERM);
	registry_fini(&reg);
}

static void
delete__silent_agent__may_come_back_with_its_boot(void)
{
	char id[RP_API_NAME_MAX];

	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	UT_TRUE(registry_expire_one(&reg, T0 + STALE, id));
	UT_EQ(put("a", "h", "b1", 1, IPS("10.0.0.1"), T0 + STALE + 1), REGISTRY_CHANGED);
	registry_fini(&reg);
}

static bool
may_report(const char *id, const char *ip, int64_t now_ms)
{
	struct rp_gid gid;

	rp_gid_parse(ip, &gid);
	return registry_may_report(&reg, id, &gid, now_ms);
}

static void
report__gid_held_now__is_the_holders_alone(void)
{
	setup();
	UT_FALSE(may_report("a", "10.0.0.1", T0));
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	put("b", "h", "b1", 1, IPS("10.0.0.2"), T0);
	UT_TRUE(may_report("a", "10.0.0.1", T0));
	UT_FALSE(may_report("a", "10.0.0.2", T0));
	UT_FALSE(may_report("b", "10.0.0.1", T0));
	UT_FALSE(may_report("x", "10.0.0.1", T0));
	UT_FALSE(may_report("a", "10.0.0.3", T0));
	registry_fini(&reg);
}

/* Each way to lose a GID, and for how long windows of before are taken. */
static void
report__gid_lost__is_taken_for_the_stale_threshold(void)
{
	static const char *const none[] = {NULL};
	const int64_t lost_ms = T0 + STALE;
	char id[RP_API_NAME_MAX];

	for (int way = 0; way < 5; way++) {
		setup();
		put("a", "h", "b1", 1, IPS("10.0.0.1", "10.0.0.2"), T0);
		if (way == 0)
			UT_OK(registry_delete(&reg, "a", "b1", lost_ms));
		else if (way == 1)
			put("a", "h", "b1", 2, none, lost_ms);
		else if (way == 2)
			put("a", "h", "b2", 1, IPS("10.0.0.9"), lost_ms);
		else if (way == 3)
			put("x", "h2", "b2", 1, IPS("10.0.0.1", "10.0.0.2"), lost_ms);
		else
			UT_TRUE(registry_expire_one(&reg, lost_ms, id));
		UT_TRUE(may_report("a", "10.0.0.1", lost_ms));
		UT_TRUE(may_report("a", "10.0.0.2", lost_ms + STALE - 1));
		UT_FALSE(may_report("a", "10.0.0.2", lost_ms + STALE));
		UT_FALSE(may_report("b", "10.0.0.1", lost_ms));
		UT_EQ(may_report("x", "10.0.0.1", lost_ms), way == 3);
		registry_fini(&reg);
	}
}

static void
former__flood_of_leavers__is_bounded(void)
{
	struct rp_gid gid = {{0xFD}};
	char boot[REGISTRY_OLD_BOOTS][RP_API_UUID_MAX] = {"b"}, id[16];
	struct former f;

	former_init(&f, STALE);
	for (uint32_t i = 0; i < FORMER_GIDS_MAX + 1000; i++) {
		snprintf(id, sizeof(id), "a%u", i);
		memcpy(gid.b + 12, &i, sizeof(i));
		former_add_agent(&f, id, boot, T0 + i);
		former_add_gid(&f, id, &gid, "h", "t", T0 + i);
	}
	UT_EQ(f.by_id.n, FORMER_AGENTS_MAX);
	UT_EQ(f.by_gid.n, FORMER_GIDS_MAX);
	UT_TRUE(former_find_agent(&f, "a0", T0) == NULL);
	UT_TRUE(former_find_agent(&f, id, T0) != NULL);
	UT_TRUE(former_find_gid(&f, id, &gid, T0) != NULL);
	UT_TRUE(former_find_gid(&f, NULL, &gid, T0) != NULL);
	UT_TRUE(former_find_gid(&f, "a0", &gid, T0) == NULL);
	/* Age goes before number. */
	former_add_agent(&f, id, boot, T0 + 2 * STALE);
	former_add_gid(&f, id, &gid, "h", "t", T0 + 2 * STALE);
	UT_EQ(f.by_id.n, 1);
	UT_EQ(f.by_gid.n, 1);
	former_fini(&f);
}

static void
expire__threshold__is_exact(void)
{
	char id[RP_API_NAME_MAX];

	setup();
	put("a", "h", "b1", 1, IPS("10.0.0.1"), T0);
	put("b", "h", "b1", 1, IPS("10.0.0.2"), T0 + 1);
	UT_FALSE(registry_expire_one(&reg, T0 + STALE - 1, id));
	UT_TRUE(registry_expire_one(&reg, T0 + STALE, id));
	UT_STR(id, "a");
	UT_FALSE(registry_expire_one(&reg, T0 + STALE, id));
	registry_fini(&reg);
}

static void
tor__own_then_agents_then_unspecified(void)
{
	struct rp_api_register set = make_set("h", "b", 1, IPS("10.0.0.1", "10.0.0.2"));

	setup();
	snprintf(set.tor_id, sizeof(set.tor_id), "agent-tor");
	snprintf(set.rnic[0].tor_id, sizeof(set.rnic[0].tor_id), "own-tor");
	UT_OK(registry_put(&reg, "a", &set, T0, &verdict, &conflict));
	UT_STR(registry_tor(find("10.0.0.1")), "own-tor");
	UT_STR(registry_tor(find("10.0.0.2")), "agent-tor");
	put("b", "h2", "b", 1, IPS("10.0.0.3"), T0);
	UT_STR(registry_tor(find("10.0.0.3")), "unspecified");
	registry_fini(&reg);
}

static void
restore__what_is_there_already__is_refused(void)
{
	static const char boots[REGISTRY_OLD_BOOTS][RP_API_UUID_MAX] = {"old"};
	struct rp_api_register set = make_set("h", "b1", 1, IPS("10.0.0.1"));
	struct rp_api_register again = make_set("h", "b1", 1, IPS("10.0.0.1"));

	setup();
	UT_OK(registry_restore(&reg, "a", boots, T0, &set));
	UT_EQ(registry_restore(&reg, "a", boots, T0, &again), -EEXIST);
	UT_EQ(registry_restore(&reg, "b", boots, T0, &again), -EEXIST);
	UT_EQ(put("a", "h", "old", 1, IPS("10.0.0.1"), T0), REGISTRY_SUPERSEDED);
	rp_api_register_fini(&again);
	registry_fini(&reg);
}

static void
list__many_agents__is_sorted_and_complete(void)
{
	struct registry_agent **list;
	char id[16], ip[24];
	size_t n;

	setup();
	for (int i = 999; i >= 0; i--) {
		snprintf(id, sizeof(id), "agent-%03d", i);
		snprintf(ip, sizeof(ip), "10.1.%d.%d", i / 250, 1 + i % 250);
		put(id, id, "b", 1, IPS(ip), T0);
	}
	list = registry_list(&reg, &n);
	UT_EQ(n, 1000);
	UT_STR(list[0]->agent_id, "agent-000");
	UT_STR(list[999]->agent_id, "agent-999");
	free(list);
	registry_fini(&reg);
}

static const struct ut_test tests[] = {
	UT(put__same_set_again__is_a_heartbeat),
	UT(put__same_set_with_a_higher_seq__is_a_heartbeat),
	UT(put__higher_seq__replaces_the_whole_set),
	UT(put__seq_not_above__is_stale_and_changes_nothing),
	UT(put__new_boot_of_the_host__supersedes_the_old_one),
	UT(put__many_boots__remembers_the_last_four),
	UT(put__other_host__waits_until_the_first_is_silent),
	UT(put__gid_of_a_live_agent__is_refused_whole),
	UT(put__gid_of_a_silent_agent__moves_and_can_be_claimed_back),
	UT(put__heard_after_silence__changes_the_version),
	UT(put__empty_set__leaves_the_agent_without_rnics),
	UT(delete__boot_id__must_be_the_current_one),
	UT(delete__late_put_of_a_boot_that_left__is_superseded),
	UT(delete__repeated__is_known_to_have_left),
	UT(delete__silent_agent__may_come_back_with_its_boot),
	UT(report__gid_held_now__is_the_holders_alone),
	UT(report__gid_lost__is_taken_for_the_stale_threshold),
	UT(former__flood_of_leavers__is_bounded),
	UT(expire__threshold__is_exact),
	UT(tor__own_then_agents_then_unspecified),
	UT(restore__what_is_there_already__is_refused),
	UT(list__many_agents__is_sorted_and_complete),
};

UT_MAIN("registry", tests)
