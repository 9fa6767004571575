/* SPDX-License-Identifier: MIT */
/*
 * Fires probes with every kind of argument, and prints what a tracer should print.
 */
#include <dtrace/sdt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bits {
	unsigned a : 3;
	int b : 5;
	unsigned long c : 40;
};
struct packed {
	char c;
	int i;
	double d;
	const char *text;
} __attribute__((packed));
enum small { small_a = 1, small_b };
enum negative { negative_a = -5 };
typedef int (*function)(int);

static int of_file;
int global;
const int constant = 5;
volatile int is_volatile;
static __thread int of_thread;
static const char of_file_text[] = "of the file";
int table[3][4];

static int twice(int n)
{
	return n * 2;
}

static int thrice(int n)
{
	return n * 3;
}

static unsigned long long bits_of(double value)
{
	unsigned long long word;

	memcpy(&word, &value, sizeof(word));
	return word;
}

static __attribute__((noinline)) void fire(int i, double d, float f, function called)
{
	struct bits b;
	struct packed p;
	char local[8] = "local ";
	const volatile short cvs = (short)(-i);
	enum small e = i % 2 ? small_a : small_b;
	enum negative ne = negative_a;
	int n = i;

	b.a = (unsigned)i & 7;
	b.b = -i % 16;
	b.c = 0xff00000000ul + (unsigned)i;
	p.c = (char)-i;
	p.i = 100000 + i;
	p.d = d;
	p.text = "packed";
	local[5] = (char)('a' + i % 26);
	of_file = i * 3;
	global = i * 5;
	is_volatile = i * 7;
	of_thread = -i;
	table[1][2] = i;

	DTRACE_PROBE3(operands, bits, b.a, b.b, b.c);
	printf("bits %d %d %lu\n", b.a, b.b, (unsigned long)b.c);
	DTRACE_PROBE4(operands, packed, p.c, p.i, p.d, p.text);
	printf("packed %d %d %016llx %s\n", p.c, p.i, bits_of(p.d), p.text);
	DTRACE_PROBE5(operands, arrays, local, of_file_text, "a literal", table[1], &table[1][2]);
	printf("arrays %s %s a literal %d %d\n", local, of_file_text, table[1][0], table[1][2]);
	DTRACE_PROBE4(operands, functions, twice, &twice, called, exit);
	printf("functions %lx %lx %lx %lx\n", (unsigned long)(uintptr_t)twice,
	       (unsigned long)(uintptr_t)&twice, (unsigned long)(uintptr_t)called,
	       (unsigned long)(uintptr_t)exit);
	DTRACE_PROBE6(operands, variables, of_file, global, constant, is_volatile, cvs, of_thread);
	printf("variables %d %d %d %d %d %d\n", of_file, global, constant, is_volatile, cvs,
	       of_thread);
	DTRACE_PROBE4(operands, addresses, &of_file, &global, (void *)&table, (void *)0);
	printf("addresses %lx %lx %lx 0\n", (unsigned long)(uintptr_t)&of_file,
	       (unsigned long)(uintptr_t)&global, (unsigned long)(uintptr_t)&table);
	DTRACE_PROBE6(operands, floats, 1.5, 2.5f, d, f, f * 2.0, -0.0);
	printf("floats %016llx %016llx %016llx %016llx %016llx %016llx\n", bits_of(1.5),
	       bits_of(2.5), bits_of(d), bits_of((double)f), bits_of((double)f * 2.0),
	       bits_of(-0.0));
	DTRACE_PROBE5(operands, enumerations, e, ne, small_b, negative_a, n++);
	printf("enumerations %d -5 2 -5 %d\n", e, n - 1);
	DTRACE_PROBE6(operands, constants, 'c', 7, -1l, 0xffffffffffffffffu, i == 1, sizeof(b));
	printf("constants 99 7 -1 18446744073709551615 %d %d\n", i == 1, (int)sizeof(b));
	DTRACE_PROBEV(operands, none);
	printf("none\n");
	DTRACE_PROBE12(operands, twelve, i + 1, d, local, f, of_file, &global, i * 2ul, local[5],
		       (short)i, called, i + 2, i + 3);
	printf("twelve %d %016llx %s %016llx %d %lx %lu %d %d %lx\n", i + 1, bits_of(d), local,
	       bits_of((double)f), of_file, (unsigned long)(uintptr_t)&global, i * 2ul, local[5],
	       i, (unsigned long)(uintptr_t)called);
}

#ifdef __cplusplus

enum class scoped : unsigned char { a = 200, b };

template <class T> static void templated(T value)
{
	DTRACE_PROBE2(operands, templated, value, sizeof(T));
	printf("templated %lld %d\n", (long long)value, (int)sizeof(T));
}

static __attribute__((noinline)) void fire_cxx(int i)
{
	int &reference = i;
	char16_t c16 = (char16_t)(60000 + i);
	auto lambda = [=](int n) {
		DTRACE_PROBE2(operands, lambda, n, i);
		printf("lambda %d %d\n", n, i);
	};

	DTRACE_PROBE6(operands, cxx, reference, i > 1, c16, U'x', i % 2 ? scoped::a : scoped::b,
		      nullptr);
	printf("cxx %d %d %d %d %d 0\n", i, i > 1, c16, 'x', i % 2 ? 200 : 201);
	templated(i);
	templated((signed char)-i);
	templated(scoped::b);
	lambda(i + 1);
}

#else

static __attribute__((noinline)) void fire_cxx(int i)
{
	_Atomic int atomic = i;
	_Bool is_one = i == 1;

	DTRACE_PROBE2(operands, c, atomic, is_one);
	printf("c %d %d\n", atomic, is_one);
}

#endif

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3, i;

	for (i = 1; i <= n; i++) {
		fire(i, i + 0.25, (float)i - 0.5f, i % 2 ? twice : thrice);
		fire_cxx(i);
	}
	return 0;
}
