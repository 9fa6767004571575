// red_zone OFFSET CALLS: places a uprobe at OFFSET, and calls a leaf function with data
// in the red zone. Prints how often the uprobe was hit, and how many calls found
// changed data.
#define _GNU_SOURCE
#ifdef MADE_BY_DTRACE_H
#include "red_zone_made.h"
#define SITE(n) REDZONE_SITE(n)
#else
#include <dtrace/sdt.h>
#define SITE(n) DTRACE_PROBE1(redzone, site, n)
#endif
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { n_words = 14 };

__attribute__((noinline)) static long leaf(long n)
{
	volatile long words[n_words];
	long sum = 0;

	for (int i = 0; i < n_words; i++)
		words[i] = n + i;
	SITE(n);
	for (int i = 0; i < n_words; i++)
		sum += words[i] == n + i;
	return sum;
}

static int uprobe_at(unsigned long offset)
{
	struct perf_event_attr attr = {.size = sizeof attr};
	FILE *type = fopen("/sys/bus/event_source/devices/uprobe/type", "r");
	unsigned n = 0;

	if (!type || fscanf(type, "%u", &n) != 1)
		return -1;
	fclose(type);
	attr.type = n;
	attr.config1 = (unsigned long)"/proc/self/exe";
	attr.config2 = offset;
	return (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

int main(int argc, char **argv)
{
	unsigned long offset = argc > 1 ? strtoul(argv[1], NULL, 0) : 0;
	long calls = argc > 2 ? atol(argv[2]) : 1000, wrong = 0;
	unsigned long long hits = 0;
	int uprobe = uprobe_at(offset);

	if (uprobe < 0) {
		printf("no uprobe: %s\n", strerror(errno));
		return 0;
	}
	for (long i = 0; i < calls; i++)
		wrong += leaf(i) != n_words;
	if (read(uprobe, &hits, sizeof hits) != sizeof hits)
		return 1;
	printf("hits %llu wrong %ld\n", hits, wrong);
	return 0;
}
