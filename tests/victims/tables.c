// SPDX-License-Identifier: MIT
// tables COUNT: calls the functions of tables.S COUNT times each, and prints their
// sums. A byte that a tracer writes into a table changes a sum.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define FUNCTIONS(X) X(padded) X(bare) X(biased) X(outside) X(loaded) X(prologue) X(shared)

#define X(name) extern uint64_t sum_##name(uint64_t n_words);
FUNCTIONS(X)
#undef X
extern void empty_hook(void);
extern void count_down(int from);
extern int leave_early(uint64_t number);

int main(int argc, char **argv)
{
	int count = argc > 1 ? atoi(argv[1]) : 1;

#define X(name)                                                             \
	uint64_t name = 0;                                                  \
	for (int i = 0; i < count; i++)                                     \
		name = name * 31 + sum_##name((uint64_t)(i % 5));            \
	printf(#name " %016llx\n", (unsigned long long)name);
	FUNCTIONS(X)
#undef X
	int left = 0;

	for (int i = 0; i < count; i++) {
		empty_hook();
		count_down(i % 3);
		left += leave_early((uint64_t)(i % 2));
	}
	printf("left %d\n", left);
	return 0;
}
