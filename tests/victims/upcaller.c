/* SPDX-License-Identifier: MIT */
/*
 * upcaller SEED: a hostile target that sends forged upcalls (ptrace-agent/runtime/
 * runtime.h) to the agent: through the doorbells, and through the int3 of the runtime.
 * Another thread changes the upcalls while they are being served. Some request signals,
 * stops and stores, which a session without -w must refuse: they would end this program.
 * Prints "ready", runs until its input ends, and prints how many upcalls were answered.
 */
#define _GNU_SOURCE
#include "dif/types.h"
#include "ptrace-agent/runtime/runtime.h"

#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct dt_rt_header *volatile image;
static struct dt_rt_upcall forged __attribute__((aligned(64)));
static struct dt_rt_frame frames[2];
static char area[65536];
static volatile int ends;
static volatile unsigned long sink, n_answered;
static unsigned long seed;
static __thread sigjmp_buf before;

/* The runtime may have been unmapped, or the int3 may have found no agent. */
static void on_fault(int signal)
{
	(void)signal;
	siglongjmp(before, 1);
}

__attribute__((noinline)) void work(unsigned long n, const char *text)
{
	sink += n + (unsigned long)text[0];
	__asm__ volatile("" ::: "memory");
}

static uint64_t next(uint64_t *random)
{
	*random = *random * 6364136223846793005u + 1442695040888963407u;
	return *random >> 20;
}

/* Reads the start of each executable mapping without a file, without a fault. */
static void look_for_image(void)
{
	FILE *maps = fopen("/proc/self/maps", "re"), *mem = fopen("/proc/self/mem", "re");
	const struct dt_rt_header *found = NULL;
	char line[512];

	while (maps && mem && fgets(line, sizeof line, maps)) {
		unsigned long begin, inode, magic = 0;
		char access[8];

		if (sscanf(line, "%lx-%*x %7s %*x %*s %lu", &begin, access, &inode) != 3 ||
		    access[2] != 'x' || inode != 0)
			continue;
		if (fseek(mem, (long)begin, SEEK_SET) == 0 &&
		    fread(&magic, sizeof magic, 1, mem) == 1 && magic == DT_RT_MAGIC)
			found = (const struct dt_rt_header *)begin;
	}
	if (maps)
		fclose(maps);
	if (mem)
		fclose(mem);
	image = found;
}

/* Returns the address of the first session's stacks, or 0 without a runtime. */
static uint64_t first_stack(uint64_t base)
{
	return base ? ((const struct dt_rt_config *)(base + DT_RT_CONFIG))->sessions[0].stacks :
		      0;
}

static uint64_t choose_address(uint64_t *random)
{
	const uint64_t base = (uint64_t)image;
	const uint64_t all[] = {(uint64_t)area, (uint64_t)frames, (uint64_t)&forged,
				base,		base + DT_RT_CONFIG, base + DT_RT_BELLS,
				first_stack(base), 0, ~0ull, 1ull << 63,
				(uint64_t)&area[sizeof area] - 8, (uint64_t)work};

	return all[next(random) % (sizeof all / sizeof all[0])] + next(random) % 64;
}

static void fill(struct dt_rt_upcall *call, uint64_t *random)
{
	call->op = next(random) % 16 ? next(random) % (DT_RT_UP_LIBRARIES + 2) :
				       (uint32_t)next(random);
	call->frame = next(random) % 4 ? (uint64_t)&frames[next(random) % 2] :
					 choose_address(random);
	call->a[0] = next(random) % 2 ? next(random) % 0x140 : next(random);
	call->a[1] = choose_address(random);
	call->a[2] = next(random) % 3 ? next(random) % 4096 : next(random) << 16;
	/* Results go to this program's own area, so that it lives on. */
	if (call->op != DT_RT_UP_USTACK)
		call->a[1] = (uint64_t)area + next(random) % 1024;
	if (call->op == DT_RT_UP_USTACK)
		call->a[0] = (uint64_t)area;
	call->answered = 0;
}

/* Executes the runtime's int3. Without an agent that serves it, it is a SIGTRAP. */
static void trap(uint64_t *random)
{
	const struct dt_rt_header *now = image;

	if (now == NULL)
		return;
	fill(&forged, random);
	__asm__ volatile("call *%0"
			 :
			 : "r"((uint64_t)now + now->upcall_trap), "D"(&forged)
			 : "memory", "rax", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11");
	n_answered += forged.answered == 1;
}

static void ring(uint64_t *random)
{
	const uint64_t base = (uint64_t)image, shard = next(random) % 16;
	struct dt_rt_upcall *call =
		(struct dt_rt_upcall *)(first_stack(base) + shard * DT_RT_STACK_BYTES);

	if (base == 0)
		return;
	fill(call, random);
	*(volatile uint32_t *)(base + DT_RT_BELLS +
			       next(random) % DT_RT_N_BELLS * DT_RT_BELL_BYTES +
			       DT_RT_BELL_WORD(shard)) = (uint32_t)next(random);
	n_answered += call->answered == 1;
}

static void *attack(void *arg)
{
	static uint64_t states[3];
	uint64_t *random = &states[(uint64_t)arg];

	*random = seed * 4 + (uint64_t)arg;
	if (sigsetjmp(before, 1) != 0)
		image = NULL;
	while (!ends) {
		if (image == NULL)
			usleep(1000);
		else if ((uint64_t)arg == 0)
			trap(random);
		else if ((uint64_t)arg == 1)
			ring(random);
		else
			((volatile uint64_t *)&forged)[next(random) %
						       (sizeof forged / 8 - 1)] =
				choose_address(random);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];
	struct pollfd input = {.fd = 0, .events = POLLIN};

	seed = argc > 1 ? strtoul(argv[1], NULL, 10) : 1;
	const int faults[] = {SIGSEGV, SIGBUS, SIGTRAP, SIGILL};
	for (unsigned k = 0; k < sizeof faults / sizeof faults[0]; k++)
		signal(faults[k], on_fault);
	for (uint64_t k = 0; k < 3; k++)
		pthread_create(&threads[k], NULL, attack, (void *)k);
	puts("ready");
	fflush(stdout);
	for (unsigned long n = 0; poll(&input, 1, 20) == 0; n++) {
		look_for_image();
		work(n, "one two");
	}
	ends = 1;
	/* A thread may be inside memory that is no longer mapped, so none is joined. */
	printf("answered %lu\n", n_answered);
	fflush(stdout);
	_exit(0);
}
