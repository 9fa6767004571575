/* SPDX-License-Identifier: MIT */
/*
 * A hostile target: it overwrites all memory that it shares with the tracer.
 *
 *   forger records   repeatedly writes a record for each ECB into every buffer, and
 *                    overwrites the words that would end the session
 *   forger full      writes the same records, and marks each buffer as full
 *   forger keys      writes aggregation entries with new keys and impossible sizes
 *   forger locks     clears the lock of every shard, repeatedly
 *   forger innocent  does no harm: some threads call work() until a line is read
 *
 * Prints "ready", and exits with 0 when its input ends. The hostile modes also print
 * whether they found memory to write to.
 */
#include "dif/actions.h"
#include "dif/arena.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define MAX_RANGES 64

struct range {
	unsigned long begin, end;
};
static struct range writable[MAX_RANGES];
static unsigned n_writable;
static struct dt_arena *arena;
static volatile int ends;
static volatile unsigned long sink;

__attribute__((noinline)) void work(unsigned long n, const char *text)
{
	sink += n + (unsigned long)text[0];
	__asm__ volatile("" ::: "memory");
}

static void look_for_memory(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];

	n_writable = 0;
	arena = 0;
	while (maps && fgets(line, sizeof line, maps)) {
		unsigned long begin, end;
		char access[8];

		if (sscanf(line, "%lx-%lx %7s", &begin, &end, access) != 3 ||
		    !strstr(line, "memfd:dtrace"))
			continue;
		if (strstr(line, "dtrace-program"))
			arena = (struct dt_arena *)begin;
		if (access[1] == 'w' && n_writable < MAX_RANGES)
			writable[n_writable++] = (struct range){begin, end};
	}
	if (maps)
		fclose(maps);
}

static int may_write(const void *at, unsigned long bytes)
{
	unsigned long begin = (unsigned long)at;

	for (unsigned i = 0; i < n_writable; i++)
		if (begin >= writable[i].begin && begin + bytes <= writable[i].end)
			return 1;
	return 0;
}

static uint64_t now_ns(void)
{
	uint64_t ns = 0;
	struct dt_session *session = (void *)((char *)arena + arena->session);

	if (may_write(session, sizeof *session))
		ns = session->lease_until - 29000000000ull;
	return ns;
}

static uint64_t forge_records(char *to, uint64_t room)
{
	const struct dt_ecb *ecbs = (void *)((char *)arena + arena->ecbs.at);
	const struct dt_clause *clauses = (void *)((char *)arena + arena->clauses.at);
	uint64_t used = 0, ns = now_ns();

	for (unsigned i = 0; i < arena->ecbs.n; i++) {
		unsigned bytes = clauses[ecbs[i].clause].rec_bytes;
		struct dt_rechdr head = {i + 1, 0, 0, ns};

		if (bytes < sizeof head || bytes > room - used)
			continue;
		memset(to + used, 0, bytes);
		memcpy(to + used, &head, sizeof head);
		/*
		 * If the record belongs to system() or freopen(), the consumer
		 * might execute or open this string.
		 */
		if (bytes > sizeof head + 16)
			strcpy(to + used + sizeof head, "forged");
		used += (bytes + 7) & ~7u;
	}
	return used;
}

static uint64_t forge_keys(char *to, uint64_t room)
{
	static uint64_t key;
	const struct dt_ecb *ecbs = (void *)((char *)arena + arena->ecbs.at);
	const struct dt_clause *clauses = (void *)((char *)arena + arena->clauses.at);
	uint64_t start = arena->plan.agg_buckets * 4ull, used = start;

	for (unsigned i = 0; i < arena->ecbs.n * 64; i++) {
		unsigned epid = i % arena->ecbs.n + 1;
		const struct dt_clause *c = &clauses[ecbs[epid - 1].clause];
		const struct dt_action *a = (void *)((char *)arena + c->actions);

		for (unsigned k = 0; k < c->n_actions; k++) {
			struct dt_aggent e = {0};

			if (!DTRACEACT_ISAGG(a[k].kind))
				continue;
			e.epid = epid;
			e.aggvar = (dt_u32)a[k].uarg;
			e.action = k;
			e.key_bytes = a[k].key_bytes + 8 * (dt_u32)(key % 4096);
			e.value_bytes = a[k].value_bytes;
			e.bytes = (dt_u32)sizeof e + e.key_bytes + e.value_bytes;
			if (e.bytes > room - used)
				return used;
			memcpy(to + used, &e, sizeof e);
			memcpy(to + used + sizeof e, &key, e.key_bytes ? 8 : 0);
			key++;
			used += e.bytes;
		}
	}
	return used;
}

static void forge(const char *mode)
{
	struct dt_session *session = (void *)((char *)arena + arena->session);
	const struct dt_shard_plan *plan = &arena->plan;

	for (unsigned no = 0; no < arena->n_shards; no++) {
		struct dt_shard *s =
			(void *)((char *)arena + arena->shards + no * arena->shard_bytes);

		if (!may_write(s, arena->shard_bytes))
			continue;
		if (!strcmp(mode, "locks")) {
			s->lock = 0;
			continue;
		}
		for (int i = 0; i < 2; i++) {
			char *records = (char *)s + plan->principal[i];

			if (!strcmp(mode, "keys"))
				s->agg[i].used = forge_keys((char *)s + plan->agg[i],
							    plan->agg_bytes);
			else
				s->principal[i].used =
					forge_records(records, plan->principal_bytes);
			if (!strcmp(mode, "full"))
				s->principal[i].used = plan->principal_bytes;
		}
	}
	if (!strcmp(mode, "records") && may_write(session, sizeof *session)) {
		session->activity = DT_ACTIVITY_STOPPED;
		session->exited = 1;
		session->filled = 1;
	}
}

static void *innocent(void *unused)
{
	for (unsigned long n = 0; !ends; n++)
		work(n, "innocent");
	return unused;
}

static sigjmp_buf before;

/* Handles a SIGSEGV. The memory may be unmapped during a write. */
static void gone(int number)
{
	(void)number;
	siglongjmp(before, 1);
}

static int input_ends(void)
{
	struct pollfd input = {0, POLLIN, 0};

	return poll(&input, 1, 0) > 0;
}

int main(int argc, char **argv)
{
	const char *mode = argc > 1 ? argv[1] : "";
	pthread_t threads[8];
	volatile int wrote = 0;

	puts("ready");
	fflush(stdout);
	if (!strcmp(mode, "innocent")) {
		for (int i = 0; i < 8; i++)
			pthread_create(&threads[i], 0, innocent, 0);
		while (!input_ends())
			usleep(1000);
		ends = 1;
		for (int i = 0; i < 8; i++)
			pthread_join(threads[i], 0);
		return 0;
	}
	signal(SIGSEGV, gone);
	if (sigsetjmp(before, 1))
		arena = 0;
	while (!input_ends()) {
		work(1, "hostile");
		if (!arena || !n_writable)
			look_for_memory();
		if (arena && n_writable) {
			forge(mode);
			wrote = 1;
		}
		if (strcmp(mode, "locks"))
			usleep(1000);
	}
	printf("%s\n", wrote ? "wrote" : "found nothing");
	return 0;
}
