// leaving CALLS: calls functions with indirect jumps. This file is compiled once for
// each VARIANT, and all variants are linked into one program.
#define JOIN1(a, b) a##_##b
#define JOIN(a, b) JOIN1(a, b)
#define F(name) JOIN(name, VARIANT)
#define FUNCTION __attribute__((noinline))

#ifdef MAIN
#include <stdio.h>
#include <stdlib.h>

#define V(variant) unsigned run_##variant(unsigned calls);
#include "variants.h"
#undef V

int main(int argc, char **argv)
{
	unsigned calls = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	unsigned first = 0, n = 0;

#define V(variant)                                                                      \
	{                                                                               \
		unsigned sum = run_##variant(calls);                                    \
		if (n++ == 0)                                                           \
			first = sum;                                                    \
		if (sum != first)                                                       \
			printf("%s: %u, not %u\n", #variant, sum, first);               \
	}
#include "variants.h"
#undef V
	printf("%u variants\n", n);
	return 0;
}

#else

static volatile unsigned sink;

FUNCTION unsigned F(by_labels)(unsigned n)
{
	static const void *const to[] = {&&add, &&twice, &&sub, &&end};
	static const unsigned char code[] = {0, 1, 0, 2, 3};
	const unsigned char *at = code;

	goto *to[*at++];
add:
	n += 3;
	goto *to[*at++];
twice:
	n *= 2;
	goto *to[*at++];
sub:
	n -= 1;
	goto *to[*at++];
end:
	return n;
}

FUNCTION unsigned F(by_offsets)(unsigned n)
{
	static const int to[] = {&&add - &&add, &&twice - &&add, &&end - &&add};
	static const unsigned char code[] = {0, 1, 0, 2};
	const unsigned char *at = code;

	goto *(&&add + to[*at++]);
add:
	n += 5;
	goto *(&&add + to[*at++]);
twice:
	n *= 2;
	goto *(&&add + to[*at++]);
end:
	return n;
}

FUNCTION unsigned F(by_variable)(unsigned n)
{
	void *volatile to = n & 1 ? &&odd : &&even;

	goto *to;
odd:
	sink = n;
	return n * 3 + 1;
even:
	return n / 2;
}

FUNCTION unsigned F(by_switch)(unsigned n)
{
	switch (n % 11) {
	case 0: return n + 7;
	case 1: return n * 3;
	case 2: sink = n; return n - 1;
	case 3: return n ^ 5;
	case 4: sink = n + 1; return n + 9;
	case 5: return n << 2;
	case 6: sink = n + 2; return n;
	case 7: return n * 5;
	case 8: return n * 7 - sink % 1;
	default: return 3;
	}
}

FUNCTION unsigned F(helper_a)(unsigned n)
{
	return n + 11;
}
FUNCTION unsigned F(helper_b)(unsigned n)
{
	return n * 13;
}
FUNCTION unsigned F(helper_c)(unsigned n)
{
	return n ^ 17;
}

/* Tail calls through a pointer, through a table, and through a pointer in memory. */
FUNCTION unsigned F(calls_pointer)(unsigned (*f)(unsigned), unsigned n)
{
	return f(n + 1);
}
FUNCTION unsigned F(calls_table)(unsigned n)
{
	static unsigned (*const to[])(unsigned) = {F(helper_a), F(helper_b), F(helper_c)};

	return to[n % 3](n);
}
FUNCTION unsigned F(calls_member)(unsigned (*const *f)(unsigned), unsigned n)
{
	return f[1](n);
}
FUNCTION unsigned F(calls_and_jumps)(unsigned n)
{
	static const void *const to[] = {&&add, &&twice, &&leave};
	static unsigned (*volatile next)(unsigned) = F(helper_c);

	goto *to[n % 3];
add:
	n += 4;
	goto *to[2];
twice:
	n *= 2;
leave:
	return next(n);
}

/* Operations of an interpreter. The first one may call itself, in a tail call. */
static unsigned (*const F(operations)[])(unsigned, const unsigned char *);
FUNCTION unsigned F(by_own_table)(unsigned n, const unsigned char *at)
{
	return F(operations)[*at](n + 1, at + 1);
}
FUNCTION unsigned F(by_last_operation)(unsigned n, const unsigned char *at)
{
	return n * 3 + *at;
}
static unsigned (*const F(operations)[])(unsigned, const unsigned char *) = {F(by_own_table), F(by_last_operation)};

FUNCTION unsigned F(by_local_labels)(const unsigned char *at)
{
	const void *to[] = {&&add, &&triple, &&end};
	unsigned n = *at;

	goto *to[*at];
add:
	n++;
	at++;
	goto *to[*at];
triple:
	n *= 3;
	at++;
	goto *to[*at];
end:
	return n;
}

unsigned F(run)(unsigned calls)
{
	static unsigned (*const table[])(unsigned) = {F(helper_a), F(helper_b)};
	unsigned sum = 0;

	for (unsigned i = 0; i < calls; i++) {
		sum = sum * 31 + F(by_labels)(i);
		sum = sum * 31 + F(by_offsets)(i);
		sum = sum * 31 + F(by_variable)(i);
		sum = sum * 31 + F(by_switch)(i);
		sum = sum * 31 + F(calls_pointer)(F(helper_b), i);
		sum = sum * 31 + F(calls_table)(i);
		sum = sum * 31 + F(calls_member)(table, i);
		sum = sum * 31 + F(calls_and_jumps)(i);
		sum = sum * 31 + F(by_own_table)(i, (const unsigned char *)"\0\0\1");
		sum = sum * 31 + F(by_local_labels)((const unsigned char *)"\0\1\0\2");
	}
	return sum;
}
#endif
