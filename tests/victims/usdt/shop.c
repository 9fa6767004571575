/* SPDX-License-Identifier: MIT */
/*
 * shop [N [hold]] fires the probes of shop.d in N rounds, and prints what a tracer
 * should print. With "hold", it first waits for a byte on stdin. With -DOTHER, this
 * file is the program's second source file, or a library that the program uses.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#ifdef TYPES_BEFORE
enum state { NEW = 1, SOLD = 5 };
#endif
typedef struct part { int weight; const char *label; struct part *next; } part_t;
typedef struct { int number; part_t *first; unsigned open : 3, closed : 5; } order_t;

#include "shop.h"
#ifdef SDT_TOO
#include <dtrace/sdt.h>
#endif

#ifdef __cplusplus
extern "C"
#endif
void shop_other(int i);

#ifdef OTHER
static void closed(int i)
{
	SHOP_BARE_NAME(i);
}

void shop_other(int i)
{
	SHOP_START();
	if (SHOP_BARE_NAME_ENABLED())
		closed(i * 2);
}
#else
enum { sold = 5 };
static unsigned n_enabled;

static void place(int i)
{
	char label[8] = "label";
	part_t second = {i + 1, "second", NULL}, first = {i, label, &second};
	order_t order = {100 + i, &first, 0, 0};

	label[4] = (char)('a' + i % 26);
	order.open = (unsigned)i % 8;
	order.closed = 9;
	SHOP_START();
	if (SHOP_ORDER_PLACED_ENABLED()) {
		n_enabled++;
		SHOP_ORDER_PLACED(&order, first.next, sold);
	}
	printf("order %d %d %s %d %d %d\n", order.number, i, label, i + 1, order.open, 5);
	SHOP_SUM((unsigned)i, i % 2 == 0, (unsigned short)(60000 + i), -5L - i, 1ll << 40, i + 0.5, 0.25f);
	printf("sum %d %d %d %d %lld %.2f %.2f\n", i, i % 2 == 0, 60000 + i, -5 - i, 1ll << 40, i + 0.5, 0.25);
	SHOP_NAMES("constant", label, &order);
	printf("names constant %s\n", label);
	SHOP_PLACE(i, i + 1, "here");
	printf("place %d %d\n", i + 1, i);
	SHOP_SHOWN(&order, i);
	printf("shown %d %d %s\n", i, order.number, label);
	shop_other(i);
	printf("bare %d\n", i * 2);
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3, i;
	char c;

	if (argc > 2)
		(void)!read(0, &c, 1);
	for (i = 1; i <= n; i++)
		place(i);
	fprintf(stderr, "enabled %u times\n", n_enabled);
	return 0;
}
#endif
