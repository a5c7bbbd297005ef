/* SPDX-License-Identifier: BSD-3-Clause */

/* Capture files that users hand in: frames, then one verdict, never beyond the file. */

#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "rp_pcap.h"

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd = memfd_create("fuzz", MFD_CLOEXEC), rc;
	struct rp_pcap_frame frame;
	struct rp_pcap *pcap = NULL;
	uint64_t sum = 0, total = 24;
	char path[64], why[256] = "";

	FUZZ_PROMISE(fd >= 0 && write(fd, data, size) == (ssize_t)size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (rp_pcap_open(path, &pcap, why) != 0) {
		FUZZ_PROMISE(why[0] != '\0');
		close(fd);
		return 0;
	}
	while ((rc = rp_pcap_next(pcap, &frame, why)) == 1) {
		total += 16 + (uint64_t)frame.len;
		FUZZ_PROMISE(total <= size);
		for (uint32_t i = 0; i < frame.len; i++)
			sum += frame.data[i];
	}
	FUZZ_PROMISE(rc == 0 || why[0] != '\0');
	FUZZ_PROMISE(sum <= size * 255);
	rp_pcap_close(pcap);
	close(fd);
	return 0;
}
