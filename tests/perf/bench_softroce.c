/* SPDX-License-Identifier: BSD-3-Clause */

/*
 * One side of a throughput pair: bench_softroce EAL_ARGS -- ROLE SECONDS WINDOW [QPN]
 *
 *   responder  softroce; answers every datagram; prints its QPN first
 *   prober     softroce; keeps WINDOW datagrams to QPN in flight
 *   echo       no driver: checks the ICRC, swaps the addresses, fills a new ICRC
 *   source     as echo, after putting WINDOW frames on the wire
 *
 * After one second to warm up, counts for SECONDS and prints one line of JSON with
 * the frames that its one lcore received and sent.
 */

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#include <rte_eal.h>
#include <rte_ethdev.h>

#include "rp_be.h"
#include "rp_opt.h"
#include "rp_softroce.h"
#include "rp_text.h"
#include "softroce_icrc.h"

#define DEVICE     "net_memif0"
#define WINDOW_MAX 512
#define BURST      32
#define QKEY       0x22222222u
#define EVENTS     64

struct bench {
	struct rp_host_clock clock;
	uint64_t rx;
	uint64_t tx;
	unsigned int seconds;
	uint32_t window;
	/* softroce */
	bool is_prober;
	uint32_t qpn;
	struct rp_port *port;
	struct rp_qp *qp[RP_ROLE_N];
	struct rp_peer *peer;
	uint32_t in_flight;
	/* echo */
	uint16_t port_id;
	struct rte_mempool *pool;
	struct sr_scratch scratch;
};

static volatile sig_atomic_t stopped;

static void
on_signal(int sig)
{
	(void)sig;
	stopped = 1;
}

static void
must(int rc, const char *what)
{
	if (rc >= 0)
		return;
	fprintf(stderr, "bench_softroce: %s: %s\n", what, strerror(-rc));
	exit(1);
}

static struct rp_gid
gid_of(bool is_prober)
{
	struct rp_gid gid = {{0}};

	must(rp_gid_parse(is_prober ? "10.9.0.1" : "10.9.0.2", &gid), "address");
	return gid;
}

static void
open_softroce(struct bench *b)
{
	const struct rp_port_conf conf = {
		.device = DEVICE,
		.gid = gid_of(b->is_prober),
		.prefix_len = 24,
		.rx_depth = 1024,
		.max_peers = 4,
		.numa_node = -1,
		.one_lcore = true,
		.clock = &b->clock,
	};
	struct rp_gid other = gid_of(!b->is_prober);
	char why[RP_OPT_WHY_MAX] = "";
	int rc;

	rc = rp_softroce_ops.open(&conf, &b->port, why);
	must(rc, why);
	for (enum rp_role role = 0; role < RP_ROLE_N; role++) {
		const struct rp_qp_conf qp = {
			role, role == RP_ROLE_PROBER ? RP_PROBER_QKEY : QKEY, 1024};

		must(rp_softroce_ops.qp_open(b->port, &qp, &b->qp[role], why), why);
	}
	must(rp_softroce_ops.peer_open(b->port, &other, &b->peer), "peer");
	printf("qpn %u\n", b->qp[RP_ROLE_RESPONDER]->qpn);
	fflush(stdout);
}

static void
send_all(struct bench *b, enum rp_role role, const struct rp_tx *tx, uint16_t n)
{
	uint16_t sent = 0;

	if (n > 0)
		sent = rp_qp_tx_burst(b->qp[role], tx, n);
	b->tx += sent;
	if (role == RP_ROLE_PROBER)
		b->in_flight += sent;
}

static struct rp_tx
datagram(const struct bench *b, const uint8_t *payload, uint32_t qpn, uint32_t qkey)
{
	return (struct rp_tx){
		.peer = b->peer,
		.payload = payload,
		.qpn = qpn,
		.qkey = qkey,
		.flow_label = 1,
		.len = RP_PAYLOAD_LEN,
	};
}

static void
turn_softroce(struct bench *b)
{
	static const uint8_t payload[RP_PAYLOAD_LEN] = {1};
	static struct rp_ev ev[EVENTS];
	struct rp_tx answer[EVENTS], probe[WINDOW_MAX];
	uint16_t n, n_answers = 0, n_probes = 0;

	n = rp_port_poll(b->port, ev, EVENTS);
	for (uint16_t i = 0; i < n; i++) {
		if (ev[i].kind != RP_EV_RX)
			continue;
		b->rx++;
		if (ev[i].role == RP_ROLE_PROBER)
			b->in_flight -= b->in_flight > 0;
		else
			answer[n_answers++] =
				datagram(b, ev[i].payload, ev[i].src_qpn, RP_PROBER_QKEY);
	}
	rp_qp_tx_burst(b->qp[RP_ROLE_RESPONDER], NULL, 0);
	send_all(b, RP_ROLE_RESPONDER, answer, n_answers);
	if (!b->is_prober || !rp_peer_is_ready(b->peer))
		return;
	while (b->in_flight + n_probes < b->window)
		probe[n_probes++] = datagram(b, payload, b->qpn, QKEY);
	send_all(b, RP_ROLE_PROBER, probe, n_probes);
}

static void
open_ethdev(struct bench *b)
{
	const struct rte_eth_conf conf = {0};
	int rc;

	must(rte_eth_dev_get_port_by_name(DEVICE, &b->port_id), DEVICE);
	b->pool = rte_pktmbuf_pool_create("bench", 8191, 128, 0, RTE_MBUF_DEFAULT_BUF_SIZE, 0);
	must(b->pool == NULL ? -ENOMEM : 0, "pool");
	must(rte_eth_dev_configure(b->port_id, 1, 1, &conf), "configure");
	must(rte_eth_rx_queue_setup(b->port_id, 0, 1024, 0, NULL, b->pool), "receive queue");
	must(rte_eth_tx_queue_setup(b->port_id, 0, 1024, 0, NULL), "transmit queue");
	rc = rte_eth_dev_start(b->port_id);
	must(rc, "start");
	sr_icrc_init();
}

static void
wait_for_link(uint16_t port_id)
{
	struct rte_eth_link link = {0};

	while (!stopped && link.link_status != RTE_ETH_LINK_UP)
		must(rte_eth_link_get_nowait(port_id, &link), "link");
}

static void
put_on_wire(struct bench *b)
{
	const struct rp_roce_fields f = {
		.dst_mac = {2, 0, 0, 0, 0, 2},
		.src_mac = {2, 0, 0, 0, 0, 1},
		.vlan_tci = RP_ROCE_NO_VLAN,
		.src = gid_of(true),
		.dst = gid_of(false),
		.hop_limit = 64,
		.sport = RP_ROCE_SPORT_MIN,
		.opcode = RP_ROCE_OP_UD_SEND,
		.pkey = RP_ROCE_PKEY_DEFAULT,
		.dqpn = 0x123,
		.sqpn = 0x456,
		.qkey = QKEY,
	};
	const uint8_t payload[RP_PAYLOAD_LEN] = {1};
	struct rte_mbuf *m[WINDOW_MAX];
	uint16_t sent = 0;

	must(rte_pktmbuf_alloc_bulk(b->pool, m, b->window), "buffers");
	for (size_t i = 0; i < b->window; i++) {
		m[i]->data_len = (uint16_t)rp_roce_build(
			rte_pktmbuf_mtod(m[i], uint8_t *), &f, payload, sizeof(payload));
		m[i]->pkt_len = m[i]->data_len;
	}
	wait_for_link(b->port_id);
	while (!stopped && sent < b->window)
		sent += rte_eth_tx_burst(b->port_id, 0, m + sent, (uint16_t)(b->window - sent));
}

/* @return false when the ICRC is wrong */
static bool
turn_round(struct sr_scratch *scratch, struct rte_mbuf *m)
{
	uint8_t *frame = rte_pktmbuf_mtod(m, uint8_t *), *l3 = frame + RP_ROCE_ETH_LEN;
	uint8_t *icrc = frame + m->data_len - RP_ROCE_ICRC_LEN, mac[6];

	if (m->data_len < RP_ROCE_ETH_LEN + RP_ROCE_IPV4_LEN + RP_ROCE_UDP_LEN + RP_ROCE_BTH_LEN +
				RP_ROCE_ICRC_LEN ||
		sr_icrc(scratch, l3, (size_t)(icrc - l3)) != rp_load_le32(icrc))
		return false;
	memcpy(mac, frame, 6);
	memcpy(frame, frame + 6, 6);
	memcpy(frame + 6, mac, 6);
	rp_store_le32(icrc, sr_icrc(scratch, l3, (size_t)(icrc - l3)));
	return true;
}

static void
turn_echo(struct bench *b)
{
	struct rte_mbuf *m[BURST];
	uint16_t n = rte_eth_rx_burst(b->port_id, 0, m, BURST), kept = 0, sent = 0;

	for (uint16_t i = 0; i < n; i++) {
		if (turn_round(&b->scratch, m[i]))
			m[kept++] = m[i];
		else
			rte_pktmbuf_free(m[i]);
	}
	while (sent < kept && !stopped)
		sent += rte_eth_tx_burst(b->port_id, 0, m + sent, (uint16_t)(kept - sent));
	b->rx += n;
	b->tx += sent;
}

static void
run(struct bench *b, void (*turn)(struct bench *b))
{
	const uint64_t second = b->clock.rate.hz;
	struct rp_tsc start;
	double took_s;

	/* The first frame is the start: the other side may come later. */
	while (!stopped && b->rx == 0)
		turn(b);
	start = rp_host_now(&b->clock);
	while (!stopped && rp_tsc_since(start, rp_host_now(&b->clock)) < second)
		turn(b);
	b->rx = b->tx = 0;
	start = rp_host_now(&b->clock);
	while (!stopped && rp_tsc_since(start, rp_host_now(&b->clock)) < b->seconds * second)
		turn(b);
	took_s = (double)rp_tsc_since(start, rp_host_now(&b->clock)) / (double)second;
	printf("{\"rx\":%llu,\"tx\":%llu,\"seconds\":%.6f}\n", (unsigned long long)b->rx,
		(unsigned long long)b->tx, took_s);
	fflush(stdout);
	/* Until told: the other side still counts. */
	while (!stopped)
		turn(b);
}

int
main(int argc, char **argv)
{
	static struct bench b;
	int64_t seconds = 0, window = 0, qpn = 0;
	const char *role;
	int used;

	used = rte_eal_init(argc, argv);
	must(used, "rte_eal_init");
	argc -= used;
	argv += used;
	if (argc < 4 || rp_text_i64(argv[2], 1, 3600, &seconds) != 0 ||
		rp_text_i64(argv[3], 1, WINDOW_MAX, &window) != 0 ||
		(argc > 4 && rp_text_i64(argv[4], 0, 0xFFFFFF, &qpn) != 0)) {
		fprintf(stderr, "usage: bench_softroce EAL_ARGS -- ROLE SECONDS WINDOW [QPN]\n");
		return 64;
	}
	signal(SIGINT, on_signal);
	signal(SIGTERM, on_signal);
	role = argv[1];
	b.seconds = (unsigned int)seconds;
	b.window = (uint32_t)window;
	b.qpn = (uint32_t)qpn;
	rp_host_clock_init(&b.clock, 50, "");
	if (strcmp(role, "prober") == 0 || strcmp(role, "responder") == 0) {
		b.is_prober = strcmp(role, "prober") == 0;
		open_softroce(&b);
		run(&b, turn_softroce);
	} else if (strcmp(role, "source") == 0 || strcmp(role, "echo") == 0) {
		open_ethdev(&b);
		if (strcmp(role, "source") == 0)
			put_on_wire(&b);
		run(&b, turn_echo);
	} else {
		return 64;
	}
	return 0;
}
