/* SPDX-License-Identifier: BSD-3-Clause */

#include <string.h>

#include "rp_flow.h"

#define PATHS_MAX 1024

/*
 * One more draw: p[j] becomes the probability that j of the n paths have been
 * seen. The classical alternating sum loses all digits beyond n = 100; this
 * recurrence has positive terms only.
 */
static void
draw(double *p, uint32_t n)
{
	for (uint32_t j = n; j > 0; j--)
		p[j] = p[j] * j / n + p[j - 1] * (n - j + 1) / n;
	p[0] = 0;
}

double
rp_coverage(uint32_t n, uint32_t k)
{
	double p[PATHS_MAX + 1];

	if (n == 0 || n > PATHS_MAX)
		return 0;
	memset(p, 0, sizeof(p));
	p[0] = 1;
	while (k-- > 0)
		draw(p, n);
	return p[n];
}

uint32_t
rp_coverage_labels(uint32_t n, double probability, uint32_t cap, double *ret_reached)
{
	double p[PATHS_MAX + 1];
	uint32_t k = 0;

	*ret_reached = 0;
	if (n == 0 || n > PATHS_MAX)
		return 0;
	memset(p, 0, sizeof(p));
	p[0] = 1;
	while (k < cap && p[n] < probability) {
		draw(p, n);
		k++;
	}
	*ret_reached = p[n];
	return k;
}
