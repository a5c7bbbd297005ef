/* SPDX-License-Identifier: BSD-3-Clause */

#include "place.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "rp_base.h"
#include "rp_opt.h"
#include "rp_text.h"

const char *
place_role_name(enum place_role role)
{
	static const char *const name[PLACE_ROLE_N] = {"cq", "prober", "responder"};

	return name[role];
}

/* Reads "4" or "4-7" and moves *p behind it. */
static int
read_range(const char **p, uint32_t limit, uint32_t *ret_from, uint32_t *ret_to)
{
	uint32_t v[2];
	int n = 0;

	do {
		unsigned long value = 0;

		if (n > 0)
			(*p)++;
		if (!isdigit((unsigned char)**p))
			return -EINVAL;
		while (isdigit((unsigned char)**p) && value < limit)
			value = value * 10 + (unsigned long)(*(*p)++ - '0');
		if (value >= limit)
			return -ERANGE;
		v[n++] = (uint32_t)value;
	} while (n < 2 && **p == '-');
	*ret_from = v[0];
	*ret_to = n == 2 ? v[1] : v[0];
	return *ret_to < *ret_from ? -EINVAL : 0;
}

/* A set: "3", "3-5", or "(1,3-5)". */
static int
read_set(const char **p, uint32_t limit, cpu_set_t *ret_set)
{
	bool group = **p == '(';
	uint32_t from, to;

	CPU_ZERO(ret_set);
	if (group)
		(*p)++;
	for (;;) {
		int rc = read_range(p, limit, &from, &to);

		if (rc != 0)
			return rc;
		for (uint32_t i = from; i <= to; i++)
			CPU_SET(i, ret_set);
		if (!group)
			return 0;
		if (**p == ')') {
			(*p)++;
			return 0;
		}
		if (**p != ',')
			return -EINVAL;
		(*p)++;
	}
}

static int
add_lcore(struct place_plan *plan, uint32_t id, const cpu_set_t *cpus)
{
	uint32_t at = plan->n;

	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->lcore[i].id == id)
			return -EEXIST;
	if (plan->n == PLACE_LCORES_MAX)
		return -ENOSPC;
	while (at > 0 && plan->lcore[at - 1].id > id) {
		plan->lcore[at] = plan->lcore[at - 1];
		at--;
	}
	plan->lcore[at].id = id;
	plan->lcore[at].cpus = *cpus;
	plan->n++;
	return 0;
}

/*
 * "LCORES[@CPUS][,...]" as EAL reads it: with '@' all lcores of the set share the
 * CPUs, a group without '@' shares its own, anything else is one to one. -l knows
 * neither.
 */
static int
parse_list(const char *p, bool maps, struct place_plan *plan)
{
	do {
		bool one_to_one = *p != '(';
		cpu_set_t lcores, cpus;
		int rc = maps || one_to_one ? read_set(&p, PLACE_LCORES_MAX, &lcores) : -EINVAL;

		cpus = lcores;
		if (rc == 0 && maps && *p == '@') {
			p++;
			one_to_one = false;
			rc = read_set(&p, CPU_SETSIZE, &cpus);
		}
		for (uint32_t i = 0; rc == 0 && i < PLACE_LCORES_MAX; i++) {
			cpu_set_t own;

			if (!CPU_ISSET(i, &lcores))
				continue;
			CPU_ZERO(&own);
			CPU_SET(i, &own);
			rc = add_lcore(plan, i, one_to_one ? &own : &cpus);
		}
		if (rc != 0)
			return rc;
	} while (*p == ',' && *++p != '\0');
	return *p == '\0' && plan->n > 0 ? 0 : -EINVAL;
}

static int
parse_mask(const char *p, struct place_plan *plan)
{
	size_t len;

	if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
		p += 2;
	len = strlen(p);
	if (len == 0 || len > PLACE_LCORES_MAX / 4)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		char c = p[len - 1 - i];
		int digit =
			isdigit((unsigned char)c) ? c - '0' : tolower((unsigned char)c) - 'a' + 10;

		if (!isxdigit((unsigned char)c))
			return -EINVAL;
		for (uint32_t b = 0; b < 4; b++) {
			cpu_set_t own;

			if ((digit >> b & 1) == 0)
				continue;
			CPU_ZERO(&own);
			CPU_SET(i * 4 + b, &own);
			add_lcore(plan, (uint32_t)(i * 4 + b), &own);
		}
	}
	return plan->n > 0 ? 0 : -EINVAL;
}

int
place_parse(const char *opt, const char *arg, struct place_plan *ret_plan, char *why)
{
	int rc;

	*ret_plan = (struct place_plan){0};
	if (strcmp(opt, "-c") == 0)
		rc = parse_mask(arg, ret_plan);
	else
		rc = parse_list(arg, strcmp(opt, "--lcores") == 0, ret_plan);
	if (rc == 0) {
		ret_plan->main_id = ret_plan->lcore[0].id;
		return 0;
	}
	if (rc == -EEXIST)
		snprintf(why, RP_OPT_WHY_MAX, "%s %s: an lcore is named twice", opt, arg);
	else if (rc == -ERANGE)
		snprintf(why, RP_OPT_WHY_MAX,
			"%s %s: lcore ids go up to %d; map higher CPUs with --lcores, such as 1@300",
			opt, arg, PLACE_LCORES_MAX - 1);
	else
		snprintf(why, RP_OPT_WHY_MAX, "%s %s: not a core list, want such as %s", opt, arg,
			strcmp(opt, "-c") == 0           ? "0x3"
				: strcmp(opt, "-l") == 0 ? "0,2-3"
							 : "0@0,1@2");
	return -EINVAL;
}

int
place_set_main(struct place_plan *plan, const char *arg, char *why)
{
	int64_t id;

	if (rp_text_i64(arg, 0, PLACE_LCORES_MAX - 1, &id) == 0) {
		for (uint32_t i = 0; i < plan->n; i++) {
			if (plan->lcore[i].id == id) {
				plan->main_id = (uint32_t)id;
				return 0;
			}
		}
	}
	snprintf(why, RP_OPT_WHY_MAX, "--main-lcore %s: not an lcore of the core list", arg);
	return -EINVAL;
}

const char *
place_format_cpus(const cpu_set_t *cpus, char *text, size_t len)
{
	size_t n = 0;

	*text = '\0';
	for (int i = 0; i < CPU_SETSIZE && n < len; i++) {
		int from = i;

		if (!CPU_ISSET(i, cpus))
			continue;
		while (i + 1 < CPU_SETSIZE && CPU_ISSET(i + 1, cpus))
			i++;
		n += (size_t)snprintf(text + n, len - n, i > from ? "%s%d-%d" : "%s%d",
			n > 0 ? "," : "", from, i);
	}
	return text;
}

int
place_check_cpus(const struct place_plan *plan, const cpu_set_t *allowed, char *why)
{
	char have[128];

	for (uint32_t i = 0; i < plan->n; i++) {
		for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
			if (!CPU_ISSET(cpu, &plan->lcore[i].cpus) || CPU_ISSET(cpu, allowed))
				continue;
			snprintf(why, RP_OPT_WHY_MAX,
				"lcore %u: CPU %d is not there or not allowed to this process, have %d: %s",
				plan->lcore[i].id, cpu, CPU_COUNT(allowed),
				place_format_cpus(allowed, have, sizeof(have)));
			return -EINVAL;
		}
	}
	if (plan->n < 2) {
		snprintf(why, RP_OPT_WHY_MAX,
			"need a main lcore and at least one worker, have lcore %u only: add one, such as --lcores '%u@%d,%u@%d'",
			plan->lcore[0].id, plan->lcore[0].id,
			__builtin_ctzl(allowed->__bits[0] | 1ul << 63), plan->lcore[0].id + 1,
			__builtin_ctzl(allowed->__bits[0] | 1ul << 63));
		return -EINVAL;
	}
	return 0;
}

int
place_overlap(const struct place_plan *plan, uint32_t id)
{
	const struct place_lcore *me = NULL;

	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->lcore[i].id == id)
			me = &plan->lcore[i];
	for (uint32_t i = 0; me != NULL && i < plan->n; i++) {
		cpu_set_t both;

		CPU_AND(&both, &me->cpus, &plan->lcore[i].cpus);
		if (&plan->lcore[i] != me && CPU_COUNT(&both) > 0)
			return (int)plan->lcore[i].id;
	}
	return -1;
}

static int
parse_roles(const char *roles, struct place_roles *ret_roles, char *why)
{
	char copy[128], *rest = copy, *part;
	unsigned int seen = 0;

	snprintf(copy, sizeof(copy), "%s", roles);
	while ((part = strsep(&rest, ",+")) != NULL) {
		char *at = strchr(part, '@');
		int64_t id;
		int role;

		if (at != NULL)
			*at = '\0';
		for (role = 0; role < PLACE_ROLE_N; role++)
			if (strcmp(part, place_role_name((enum place_role)role)) == 0)
				break;
		if (at == NULL || role == PLACE_ROLE_N || (seen >> role & 1) != 0 ||
			rp_text_i64(at + 1, 0, PLACE_LCORES_MAX - 1, &id) != 0)
			break;
		seen |= 1u << role;
		ret_roles->lcore[role] = (uint32_t)id;
	}
	if (part == NULL && seen == (1u << PLACE_ROLE_N) - 1)
		return 0;
	snprintf(why, RP_OPT_WHY_MAX,
		"roles: '%s' is not valid, want each role once with its lcore: cq@1,prober@2,responder@3",
		roles);
	return -EINVAL;
}

int
place_check(const char *roles, char *why)
{
	struct place_roles unused;

	return parse_roles(roles, &unused, why);
}

static bool
is_worker(const struct place_plan *plan, uint32_t id)
{
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->lcore[i].id == id)
			return id != plan->main_id;
	return false;
}

int
place_assign(const struct place_plan *plan, const char *roles, uint32_t device,
	struct place_roles *ret_roles, char *why)
{
	uint32_t worker[PLACE_LCORES_MAX], n = 0;

	if (*roles != '\0') {
		int rc = parse_roles(roles, ret_roles, why);

		for (int r = 0; rc == 0 && r < PLACE_ROLE_N; r++) {
			if (is_worker(plan, ret_roles->lcore[r]))
				continue;
			snprintf(why, RP_OPT_WHY_MAX,
				"roles: lcore %u of %s is not a worker of the core list (main lcore is %u)",
				ret_roles->lcore[r], place_role_name((enum place_role)r),
				plan->main_id);
			rc = -EINVAL;
		}
		return rc;
	}
	for (uint32_t i = 0; i < plan->n; i++)
		if (plan->lcore[i].id != plan->main_id)
			worker[n++] = plan->lcore[i].id;
	if (n == 0) {
		snprintf(why, RP_OPT_WHY_MAX, "no worker lcore");
		return -EINVAL;
	}
	if (n == 2) {
		*ret_roles = (struct place_roles){{worker[0], worker[1], worker[0]}};
		return 0;
	}
	for (uint32_t r = 0; r < PLACE_ROLE_N; r++)
		ret_roles->lcore[r] = worker[(device * PLACE_ROLE_N + r) % n];
	return 0;
}
