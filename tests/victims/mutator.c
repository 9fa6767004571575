/* SPDX-License-Identifier: MIT */
/*
 * mutator SEED: a hostile target that changes random words of the memory that it shares
 * with the tracer. It knows the layout of the arena (dif/arena.h), and chooses values
 * that are likely to do harm. Prints "ready", runs until its input ends, and prints how
 * many words it changed.
 */
#define _GNU_SOURCE
#include "dif/arena.h"
#include "dif/chunks.h"
#include "dif/slots.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct range {
	unsigned long begin, end;
};

#define MAX_RANGES 64
static struct range writable[MAX_RANGES];
static unsigned n_writable;
static struct dt_arena *arena;
static volatile int ends;
static volatile unsigned long sink, n_changed;
static unsigned long seed;

__attribute__((noinline)) void work(unsigned long n, const char *text)
{
	sink += n + (unsigned long)text[0];
	__asm__ volatile("" ::: "memory");
}

static void look_for_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	struct dt_arena *found = 0;
	unsigned n = 0;

	while (maps && fgets(line, sizeof line, maps)) {
		unsigned long begin, end;
		char access[8];

		if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3 ||
		    !strstr(line, "memfd:dtrace"))
			continue;
		if (strstr(line, "dtrace-program"))
			found = (struct dt_arena *)begin;
		if (access[1] == 'w' && n < MAX_RANGES)
			writable[n++] = (struct range){begin, end};
	}
	if (maps)
		fclose(maps);
	n_writable = n;
	arena = found;
}

static uint64_t next(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 20;
}

/* Chooses a part of the arena. Returns its offset, and stores its size in bytes. */
static uint64_t choose_part(const struct dt_arena *a, uint64_t *random, uint64_t *bytes)
{
	const struct dt_shard_plan *plan = &a->plan;
	uint64_t shard = a->shards + next(random) % a->n_shared * a->shard_bytes;
	/* Most firings use the first shards. */
	if (next(random) % 2)
		shard = a->shards + next(random) % 4 * a->shard_bytes;
	switch (next(random) % 16) {
	case 0:
		*bytes = sizeof(struct dt_session);
		return a->session;
	case 1:
		*bytes = a->globals_used + 8;
		return a->globals;
	case 2:
		*bytes = sizeof(struct dt_dynspace);
		return a->dynvars;
	case 3:
		*bytes = a->dyn.n_buckets * sizeof(struct dt_bucket);
		return a->dyn.buckets;
	case 4:
		*bytes = a->dyn.n_slots * sizeof(struct dt_slot);
		return a->dyn.slots;
	case 5:
		*bytes = a->dyn.pool_bytes < 65536 ? a->dyn.pool_bytes : 65536;
		return a->dyn.pool;
	case 6:
		*bytes = a->counters.used;
		return a->counters.sets +
		       (next(random) % (a->counters.n_sets + !a->counters.n_sets)
			<< DT_COUNTERS_SHIFT);
	case 7:
		*bytes = plan->n_specs * sizeof(struct dt_buffer);
		return shard + plan->specs;
	case 8:
		*bytes = plan->spec_bytes < 4096 ? plan->spec_bytes : 4096;
		return shard + plan->spec_data;
	case 9:
		*bytes = plan->principal_bytes < 8192 ? plan->principal_bytes : 8192;
		return shard + plan->principal[next(random) % 2];
	case 10:
		/* the hash buckets and first entries of an aggregation buffer */
		*bytes = plan->agg_buckets * 4ull + 16384;
		return shard + plan->agg[next(random) % 2];
	case 11:
		*bytes = 4096;
		return shard + plan->locals;
	case 12:
		*bytes = 512;
		return shard + plan->strtok;
	default:
		*bytes = sizeof(struct dt_shard);
		return shard;
	}
}

static uint64_t choose_value(const struct dt_arena *a, uint64_t *random, uint64_t at,
			     uint64_t now)
{
	const uint64_t limits[] = {a->total_bytes, a->program_bytes, a->private_at,
				   a->shards,      a->shard_bytes,   a->globals,
				   a->dynvars,     DT_VBASE,         ~0ull};
	uint64_t limit = limits[next(random) % (sizeof limits / sizeof limits[0])];

	switch (next(random) % 10) {
	case 0:
		return 0;
	case 1:
		return next(random) % 64;
	case 2:
		return limit;
	case 3:
		return limit + next(random) % 65 - 32;
	case 4:
		return now + next(random) % 33 - 16;
	case 5:
		return now ^ 1ull << next(random) % 64;
	case 6:
		return (uint64_t)gettid();
	case 7:
		return at + next(random) % 4096;
	case 8:
		return next(random) << 20 ^ next(random);
	default:
		return 0x7fffffff00000000ull | now;
	}
}

static int may_write(unsigned long begin, unsigned long bytes)
{
	for (unsigned i = 0; i < n_writable; i++)
		if (begin >= writable[i].begin && begin + bytes <= writable[i].end)
			return 1;
	return 0;
}

static void change_word(const struct dt_arena *a, uint64_t *random)
{
	uint64_t bytes = 0, at = choose_part(a, random, &bytes), value;
	unsigned size = next(random) % 2 ? 8 : 4;
	char *word;

	if (bytes < 8)
		return;
	at = (at + next(random) % (bytes - 7)) & ~(uint64_t)(size - 1);
	word = (char *)a + at;
	if (!may_write((unsigned long)word, size))
		return;
	if (size == 8) {
		value = choose_value(a, random, at, *(volatile uint64_t *)word);
		*(volatile uint64_t *)word = value;
	} else {
		value = choose_value(a, random, at, *(volatile uint32_t *)word);
		*(volatile uint32_t *)word = (uint32_t)value;
	}
	__atomic_fetch_add(&n_changed, 1, __ATOMIC_RELAXED);
}

static __thread sigjmp_buf before;
static __thread int may_jump;

/* Handles a SIGSEGV. The memory may be unmapped during a write. */
static void gone(int number)
{
	if (may_jump)
		siglongjmp(before, 1);
	signal(number, SIG_DFL);
	raise(number);
}

static void *mutate(void *number)
{
	uint64_t random = seed * 2 + (uint64_t)number;

	may_jump = 1;
	sigsetjmp(before, 1);
	while (!ends) {
		const struct dt_arena *a = arena;

		for (int i = 0; a && i < 64 && a == arena; i++)
			change_word(a, &random);
		usleep(20);
	}
	return 0;
}

static void *call(void *unused)
{
	static const char *const texts[] = {"one", "two words", "", "{\"key\": [1, 2]}"};

	for (unsigned long n = 0; !ends; n++) {
		work(n, texts[n % 4]);
		if (n % 64 == 0)
			usleep(10);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[4];
	struct pollfd input = {0, POLLIN, 0};

	seed = argc > 1 ? strtoul(argv[1], 0, 10) : 1;
	signal(SIGSEGV, gone);
	for (long i = 0; i < 4; i++)
		pthread_create(&threads[i], 0, i < 2 ? mutate : call, (void *)i);
	puts("ready");
	fflush(stdout);
	while (poll(&input, 1, 20) == 0)
		look_for_memory();
	ends = 1;
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], 0);
	printf("changed %lu words\n", n_changed);
	return 0;
}
