/* SPDX-License-Identifier: BSD-3-Clause */

#include "rp_probe.h"

#define IMPRECISE_FLOOR_NS 100
#define PPB                1000000000

const char *
rp_invalid_name(enum rp_invalid invalid)
{
	static const char *const name[RP_INVALID_N] = {
#define X(sym, text) text,
		RP_INVALIDS(X)
#undef X
	};

	return name[invalid];
}

enum rp_invalid
rp_sample_compute(const struct rp_sample_conf *conf, const struct rp_stamp_set *stamps,
	struct rp_sample *ret_sample)
{
	struct rp_ns round = rp_nic_elapsed(&conf->nic, stamps->t2, stamps->t5);
	struct rp_ns host = rp_tsc_elapsed(&conf->host, stamps->t1, stamps->t6);
	struct rp_ns responder = rp_remote_elapsed(stamps->t3, stamps->t4);
	struct rp_sample s = {
		.rtt = rp_ns_sub(round, responder),
		.prober = rp_ns_sub(host, round),
		.responder = responder,
	};

	if (responder.v < 0)
		return RP_INVALID_RESPONDER_NEGATIVE;
	if (responder.v > round.v)
		return RP_INVALID_RESPONDER_TOO_LONG;
	if (s.rtt.v > conf->timeout_ns)
		return RP_INVALID_RTT_TOO_LONG;
	if (s.prober.v < 0)
		return RP_INVALID_PROBER_NEGATIVE;
	*ret_sample = s;
	return RP_INVALID_NONE;
}

bool
rp_sample_is_imprecise(const struct rp_sample_conf *conf, const struct rp_sample *sample)
{
	unsigned __int128 error =
		(unsigned __int128)(uint64_t)sample->responder.v * conf->clock_error_ppb;

	/* error / PPB > max(rtt / 20, 100), without a division */
	return error > (unsigned __int128)IMPRECISE_FLOOR_NS * PPB &&
		error * 20 > (unsigned __int128)(uint64_t)sample->rtt.v * PPB;
}
