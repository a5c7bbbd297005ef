/* SPDX-License-Identifier: BSD-3-Clause */

/* main() of a fuzz target in a normal build: run files and the files of folders. */

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "fuzz.h"

static unsigned int ran;

static int
run_file(const char *path, size_t len)
{
	/* Exactly as long as the input, so that a sanitizer sees the first byte too many. */
	uint8_t *data = malloc(len + (len == 0));
	FILE *f = fopen(path, "re");
	size_t got = f == NULL || data == NULL ? 0 : fread(data, 1, len, f);

	if (f != NULL)
		fclose(f);
	if (f == NULL || got != len) {
		fprintf(stderr, "%s: cannot be read\n", path);
		free(data);
		return 1;
	}
	fprintf(stderr, "%s\n", path);
	LLVMFuzzerTestOneInput(data, len);
	ran++;
	free(data);
	return 0;
}

static int
run_path(const char *path)
{
	struct dirent *entry;
	struct stat st;
	int failed = 0;
	DIR *dir;

	if (stat(path, &st) != 0) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	if (!S_ISDIR(st.st_mode))
		return run_file(path, (size_t)st.st_size);
	dir = opendir(path);
	if (dir == NULL) {
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
		return 1;
	}
	while ((entry = readdir(dir)) != NULL) {
		char file[4096];

		if (entry->d_name[0] == '.')
			continue;
		snprintf(file, sizeof(file), "%s/%s", path, entry->d_name);
		failed += run_path(file);
	}
	closedir(dir);
	return failed;
}

int
main(int argc, char **argv)
{
	int failed = 0;

	for (int i = 1; i < argc; i++)
		failed += run_path(argv[i]);
	printf("%u passed, %d failed, 0 skipped\n", ran, failed);
	return failed > 0 || ran == 0 ? 1 : 0;
}
