// SPDX-License-Identifier: MIT
// Every kind of type in C, for debug_types_test.cpp.
#include <stdarg.h>

typedef struct node node_t;

enum color { RED, GREEN = 5, DARK = -1 };
enum large_values { LARGE = 0xffffffff };

union number {
    int i;
    double d;
};

struct bits {
    unsigned low : 3;
    int middle : 10;
    unsigned long wide : 40;
    _Bool flag : 1;
    unsigned : 0;
    enum color color : 4;
};

struct __attribute__((packed)) packed {
    char c;
    int i;
    unsigned crossing : 30;
    unsigned beyond : 20;
    double d;
};

struct tail {
    int n;
    short more[];
};

struct empty_tail {
    int n;
    short none[0];
};

struct node {
    node_t* next;
    const char* const name;
    volatile int* restrict where;
    int grid[2][3][4];
    void (*handler)(node_t*, int, ...);
    struct {
        short inner;
        union {
            long wide;
            char bytes[8];
        };
    };
    enum { OFF, ON } mode;
    struct declared* declared;
    struct elsewhere* elsewhere;
    _Atomic int counter;
};

struct numbers {
    _Complex double complex_double;
    _Complex float complex_float;
    __int128 large;
    unsigned __int128 large_unsigned;
    long double extended;
    __float128 quad;
    float vector __attribute__((vector_size(16)));
    int* vectors[2];
    char plain;
    signed char with_sign;
    unsigned char without;
    _Bool truth;
    long long longest;
};

struct aligned {
    int i;
} __attribute__((aligned(32)));

struct by_member {
    char c;
    int i __attribute__((aligned(16)));
};

typedef int grid_t[3][5];

node_t* head;
static volatile int counter = 7;
__thread int per_thread = 3;
extern int declared_only;
struct bits bits;
struct packed packed;
struct tail tail;
struct empty_tail empty_tail;
struct numbers numbers;
struct aligned aligned;
struct by_member by_member;
union number number;
enum large_values large_values;
grid_t grid;
static int optimised_away;

__attribute__((noinline)) long mixed(node_t* node, int k, double d, struct aligned a,
                                     const char* why, ...)
{
    va_list more;
    va_start(more, why);
    long n = va_arg(more, int) + declared_only + counter++;
    va_end(more);
    return n + k + (long)d + a.i + (node == head) + why[0] + optimised_away +
           per_thread;
}

int sum_of(int n, int rows[n][n])
{
    int array[n];
    for (int i = 0; i < n; i++)
        array[i] = rows[i][i];
    __asm__ volatile("" ::"r"(array) : "memory");
    return array[n - 1];
}

void nothing(void)
{
    __asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) int hidden(unsigned char c)
{
    __asm__ volatile("" ::: "memory");
    return c + 1;
}

int calls_hidden(int n)
{
    return hidden((unsigned char)n);
}
