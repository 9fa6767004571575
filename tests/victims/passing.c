// SPDX-License-Identifier: MIT
// Functions with parameters that are passed in other ways than integers and pointers,
// such as complex numbers and structures. Some functions also have integer parameters.
// Each call passes the arguments 1, 2, 3, ..., in order.
#include <stdio.h>

#define NOINLINE __attribute__((noinline))
#define KEEP() __asm__ volatile("" ::: "memory")

typedef float vector __attribute__((vector_size(16)));

struct one_double {
    double d;
};
struct extended {
    long double x;
};
struct mixed {
    float f;
    int i;
    double d;
};
struct __attribute__((packed)) packed {
    char c;
    int i;
};
struct __attribute__((aligned(32))) aligned {
    int i;
};
struct two_words {
    long a, b;
};
struct bits {
    int low : 20;
    long high : 60;
};
union one_or_other {
    double d;
    long l;
};

NOINLINE int complexes(_Complex float a, _Complex double b, _Complex long double c, int d,
                       double e, double f, double g, double h, double i, double j)
{
    KEEP();
    return d + (int)(__real__ a + __real__ b + e + f + g + h + i + j) + (int)__real__ c;
}

NOINLINE int wide(__int128 a, vector b, __float128 c, int d, _Complex long double e, long f)
{
    KEEP();
    return (int)a + (int)b[0] + (int)c + d + (int)__real__ e + (int)f;
}

NOINLINE int structs(struct one_double a, struct mixed b, struct packed c, struct bits d,
                     union one_or_other e, int f, struct two_words g, int h, long i)
{
    KEEP();
    return (int)a.d + b.i + c.i + d.low + (int)e.l + f + (int)g.a + h + (int)i;
}

NOINLINE int on_stack(struct extended a, char b, struct aligned c, long double d,
                      struct packed e, struct extended f)
{
    KEEP();
    return (int)a.x + b + c.i + (int)d + e.i + (int)f.x;
}

NOINLINE int crowded(int a, int b, int c, int d, int e, __int128 f, int g)
{
    KEEP();
    return a + b + c + d + e + (int)f + g;
}

NOINLINE struct extended returns_extended(int a, long b)
{
    struct extended made = {(long double)(a + b)};
    KEEP();
    return made;
}

NOINLINE _Complex long double returns_complex(int a, long b)
{
    KEEP();
    return (long double)(a + b);
}

NOINLINE struct packed returns_packed(int a, long b)
{
    struct packed made = {'p', a + (int)b};
    KEEP();
    return made;
}

int main(void)
{
    vector v = {2};
    int sum = complexes(1, 2, 3, 4, 5, 6, 7, 8, 9, 10) + wide(1, v, 3, 4, 5, 6);
    struct one_double one = {1};
    struct mixed mixed = {2, 2, 2};
    struct packed packed = {3, 3}, fifth = {'e', 5};
    struct bits bits = {4, 4};
    union one_or_other five = {.l = 5};
    struct two_words seven = {7, 7};
    struct extended first = {1}, sixth = {6};
    struct aligned third = {3};
    sum += structs(one, mixed, packed, bits, five, 6, seven, 8, 9);
    sum += on_stack(first, 2, third, 4, fifth, sixth);
    sum += (int)returns_extended(1, 2).x + (int)__real__ returns_complex(1, 2);
    sum += returns_packed(1, 2).i + crowded(1, 2, 3, 4, 5, 6, 7);
    printf("sum %d\n", sum);
    return 0;
}
