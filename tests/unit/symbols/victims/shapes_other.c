// SPDX-License-Identifier: MIT
// A second compilation unit, with types that shapes.c only declares, and objects with
// the same names as in shapes.c.
struct elsewhere {
    long a, b;
};

struct bits {
    char other_one;
};

struct elsewhere place;
int declared_only = 4;
static struct bits* counter; // shapes.c has a `counter` of a different type

int other(struct elsewhere* at, struct bits* bits)
{
    counter = bits;
    __asm__ volatile("" ::: "memory");
    return at->a == at->b && counter;
}
