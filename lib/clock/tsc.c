/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_tsc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

/* Readings per sample; the tightest bracket is kept. */
#define READINGS 64

static struct rp_clock_sample
take_sample(void)
{
	struct rp_clock_sample best = {0, UINT64_MAX, 0};

	for (int i = 0; i < READINGS; i++) {
		struct rp_clock_sample s;
		struct timespec ts;

		s.ticks_before = rp_ticks_raw();
		clock_gettime(CLOCK_MONOTONIC_RAW, &ts);
		s.ticks_after = rp_ticks_raw();
		s.ref_ns = (int64_t)ts.tv_sec * RP_NS_PER_S + ts.tv_nsec;
		if (s.ticks_after - s.ticks_before < best.ticks_after - best.ticks_before)
			best = s;
	}
	return best;
}

int
rp_clock_fit(const struct rp_clock_sample *first, const struct rp_clock_sample *last,
	uint64_t *ret_hz, uint32_t *ret_error_ppb)
{
	uint64_t w1 = first->ticks_after - first->ticks_before;
	uint64_t w2 = last->ticks_after - last->ticks_before;
	uint64_t ticks = (last->ticks_before + w2 / 2) - (first->ticks_before + w1 / 2);
	int64_t ns = last->ref_ns - first->ref_ns;
	unsigned __int128 ppb;
	uint64_t hz;

	if (ns <= 0 || ticks == 0 || ticks > UINT64_MAX / 2)
		return -EINVAL;
	hz = (uint64_t)(((unsigned __int128)ticks * RP_NS_PER_S + (uint64_t)ns / 2) / (uint64_t)ns);
	if (hz == 0)
		return -EINVAL;
	/*
	 * The reference was read somewhere inside each bracket: half a width each; the
	 * counter is whole ticks, the reference whole ns, the rate whole Hz. Each term
	 * is rounded up.
	 */
	ppb = ((unsigned __int128)((w1 + 1) / 2 + (w2 + 1) / 2 + 1) * RP_NS_PER_S + ticks - 1) /
			ticks +
		(uint64_t)((RP_NS_PER_S + ns - 1) / ns) + (RP_NS_PER_S / 2 + hz - 1) / hz;
	*ret_hz = hz;
	*ret_error_ppb = ppb > UINT32_MAX ? UINT32_MAX : (uint32_t)ppb;
	return 0;
}

#if defined(__x86_64__)
static bool
file_has_word(const char *path, const char *line_start, const char *word)
{
	FILE *f = fopen(path, "re");
	char line[8192];
	bool found = false;

	if (f == NULL)
		return false;
	while (!found && fgets(line, sizeof(line), f) != NULL) {
		char *rest = line, *w;

		if (strncmp(line, line_start, strlen(line_start)) != 0)
			continue;
		while (!found && (w = strsep(&rest, " \t\n:")) != NULL)
			found = strcmp(w, word) == 0;
		if (*line_start != '\0')
			break;
	}
	fclose(f);
	return found;
}

const char *
rp_tsc_distrust(const char *root, char *why, size_t len)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/proc/cpuinfo", root);
	if (!file_has_word(path, "flags", "constant_tsc") ||
		!file_has_word(path, "flags", "nonstop_tsc")) {
		snprintf(why, len, "the CPU does not report constant_tsc and nonstop_tsc");
		return why;
	}
	/*
	 * A kernel that runs on hpet or acpi_pm on such a CPU has found the TSC
	 * wanting; kvm-clock and hyperv clock sources are themselves TSC based.
	 */
	snprintf(path, sizeof(path),
		"%s/sys/devices/system/clocksource/clocksource0/current_clocksource", root);
	if (file_has_word(path, "", "hpet") || file_has_word(path, "", "acpi_pm") ||
		file_has_word(path, "", "jiffies") || file_has_word(path, "", "refined-jiffies")) {
		snprintf(why, len, "the kernel does not use the TSC as its clock source");
		return why;
	}
	return NULL;
}
#elif defined(__aarch64__)
const char *
rp_tsc_distrust(const char *root, char *why, size_t len)
{
	/* The generic timer is architecturally constant (Arm ARM D11.1). */
	(void)root, (void)why, (void)len;
	return NULL;
}
#else
const char *
rp_tsc_distrust(const char *root, char *why, size_t len)
{
	(void)root;
	snprintf(why, len, "no cycle counter is known for this CPU");
	return why;
}
#endif

static void
use_fallback(struct rp_host_clock *clock)
{
	clock->uses_tsc = false;
	clock->rate = rp_rate_make(1000000000u, 64);
	clock->error_ppb = 0;
}

int
rp_host_clock_init(struct rp_host_clock *clock, unsigned int ms, const char *root)
{
	struct timespec nap = {ms / 1000, (long)(ms % 1000) * 1000000};
	struct rp_clock_sample first, last;
	uint64_t hz;

	*clock = (struct rp_host_clock){0};
	if (rp_tsc_distrust(root, clock->why, sizeof(clock->why)) != NULL) {
		use_fallback(clock);
		return 0;
	}
	first = take_sample();
	while (nanosleep(&nap, &nap) != 0 && errno == EINTR)
		;
	last = take_sample();
	if (rp_clock_fit(&first, &last, &hz, &clock->error_ppb) != 0 || hz < 1000000 ||
		hz > (UINT64_C(1) << 40)) {
		snprintf(clock->why, sizeof(clock->why), "the TSC did not advance with the clock");
		use_fallback(clock);
		return 0;
	}
	clock->uses_tsc = true;
	clock->rate = rp_rate_make(hz, 64);
	clock->anchor_ticks = first.ticks_before + (first.ticks_after - first.ticks_before) / 2;
	clock->anchor_ns = first.ref_ns;
	clock->anchor_width_ns =
		rp_rate_to_ns(&clock->rate, first.ticks_after - first.ticks_before);
	return 0;
}

void
rp_host_clock_refine(struct rp_host_clock *clock)
{
	struct rp_clock_sample now;
	uint64_t hz, off;
	struct rp_clock_sample anchor;
	uint32_t bound;

	if (!clock->uses_tsc)
		return;
	now = take_sample();
	anchor = (struct rp_clock_sample){
		clock->anchor_ticks, clock->anchor_ticks, clock->anchor_ns};
	if (rp_clock_fit(&anchor, &now, &hz, &bound) != 0)
		return;
	/* How far the rate in use lies from the better one, plus what that one may be off. */
	off = hz > clock->rate.hz ? hz - clock->rate.hz : clock->rate.hz - hz;
	off = (uint64_t)((unsigned __int128)off * RP_NS_PER_S / clock->rate.hz);
	off += bound +
		(uint64_t)((unsigned __int128)(uint64_t)clock->anchor_width_ns * RP_NS_PER_S /
			(uint64_t)(now.ref_ns - clock->anchor_ns));
	if (off < clock->error_ppb)
		clock->error_ppb = (uint32_t)off;
}
