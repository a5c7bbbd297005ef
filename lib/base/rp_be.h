/* SPDX-License-Identifier: BSD-3-Clause */

#ifndef RP_BE_H
#define RP_BE_H

/**
 * @file rp_be.h
 * Big-endian loads and stores at any alignment. Frames and payloads are byte
 * arrays here, never overlaid structs, so neither alignment nor packing matters.
 *
 * Thread:  n/a. Memory: the caller has checked the length. Time: n/a.
 */

#include <endian.h>
#include <stdint.h>
#include <string.h>

static inline uint16_t
rp_load_be16(const uint8_t *p)
{
	uint16_t v;

	memcpy(&v, p, sizeof(v));
	return be16toh(v);
}

static inline uint32_t
rp_load_be32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return be32toh(v);
}

static inline uint64_t
rp_load_be64(const uint8_t *p)
{
	uint64_t v;

	memcpy(&v, p, sizeof(v));
	return be64toh(v);
}

/** 24-bit load, as for QPNs and PSNs. */
static inline uint32_t
rp_load_be24(const uint8_t *p)
{
	return (uint32_t)p[0] << 16 | (uint32_t)p[1] << 8 | p[2];
}

static inline void
rp_store_be16(uint8_t *p, uint16_t v)
{
	v = htobe16(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
rp_store_be24(uint8_t *p, uint32_t v)
{
	p[0] = (uint8_t)(v >> 16);
	p[1] = (uint8_t)(v >> 8);
	p[2] = (uint8_t)v;
}

static inline void
rp_store_be32(uint8_t *p, uint32_t v)
{
	v = htobe32(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
rp_store_be64(uint8_t *p, uint64_t v)
{
	v = htobe64(v);
	memcpy(p, &v, sizeof(v));
}

static inline void
rp_store_le32(uint8_t *p, uint32_t v)
{
	v = htole32(v);
	memcpy(p, &v, sizeof(v));
}

static inline uint32_t
rp_load_le32(const uint8_t *p)
{
	uint32_t v;

	memcpy(&v, p, sizeof(v));
	return le32toh(v);
}

#endif /* RP_BE_H */
