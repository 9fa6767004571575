// SPDX-License-Identifier: MIT
// Objects of C types in memory and as arguments. In each of three rounds, main() calls
// all functions except doubled(). `rounds` is the number of the current round.
#include <stdio.h>
#include <string.h>

enum color { RED, GREEN = 5, BLUE, DARK = -1 };

struct point {
    int x, y;
};

union number {
    int i;
    float f;
    unsigned char bytes[4];
};

typedef struct record record_t;
struct record {
    record_t *next;
    char name[16];
    const char *text;
    struct point at;
    enum color color;
    unsigned int low : 3, middle : 10;
    int negative : 5;
    double weight;
    float half;
    int grid[2][3];
    union number number;
    struct {
        short inner;
        long wide;
    };
    _Bool ready;
    int (*handler)(int);
    const char *words[3];
    struct unknown *opaque;
};

struct large {
    long a[4];
};

struct tail {
    int n;
    short more[];
};

struct __attribute__((packed)) packed {
    char c;
    unsigned crossing : 30;
    int beyond : 20;
    long wide : 64;
    long last : 10;
};

int rounds;
struct packed packed = {'p', 123456789, -1234, -123456789012, -5};
record_t *head;
static volatile struct point origin = {3, 4};
static __thread int per_thread = 1;
const char *motto = "count exactly";
static struct {
    struct tail tail;
    short room[3];
} tailed = {{3}, {7, 8, 9}};

__attribute__((noinline)) int visit(record_t *record, int k, const char *why)
{
    __asm__ volatile("" ::: "memory");
    rounds++;
    return record->at.x + k + (why != NULL);
}

__attribute__((noinline)) long mixed(struct large large, double d, int i, struct point p,
                                     short s, float f, _Bool b, enum color color)
{
    __asm__ volatile("" ::: "memory");
    return large.a[2] + i + p.x + s + (long)d + (long)f + b + color;
}

__attribute__((noinline)) long many(char a, short b, int c, long d, unsigned char e,
                                    unsigned f, long g, signed char h, int i)
{
    __asm__ volatile("" ::: "memory");
    return a + b + c + d + e + f + g + h + i;
}

__attribute__((noinline)) struct large make_large(int i)
{
    struct large made = {{i, i + 1, i + 2, i + 3}};
    __asm__ volatile("" ::: "memory");
    return made;
}

__attribute__((noinline)) struct point make_point(int i)
{
    struct point made = {i, -i};
    __asm__ volatile("" ::: "memory");
    return made;
}

__attribute__((noinline)) double make_double(int i)
{
    __asm__ volatile("" ::: "memory");
    return i / 2.0;
}

__attribute__((noinline)) record_t *find(record_t *from, int how_far)
{
    while (how_far-- > 0 && from != NULL)
        from = from->next;
    __asm__ volatile("" ::: "memory");
    return from;
}

__attribute__((noinline)) int walk(struct tail *tail)
{
    __asm__ volatile("" ::: "memory");
    return tail->more[tail->n - 1] + per_thread;
}

static int doubled(int n)
{
    return 2 * n;
}

int main(void)
{
    record_t first = {.text = "text of first", .color = RED, .words = {"a", "b", "c"}};
    record_t second = {.next = &first,
                       .name = "second",
                       .text = "text of second",
                       .at = {10, 20},
                       .color = BLUE,
                       .low = 5,
                       .middle = 1000,
                       .negative = -3,
                       .weight = 2.5,
                       .half = 0.5f,
                       .grid = {{1, 2, 3}, {4, 5, 6}},
                       .number = {42},
                       .inner = 12,
                       .wide = -1,
                       .ready = 1,
                       .handler = doubled,
                       .words = {"one", "two", "three"}};
    strcpy(first.name, "first");
    head = &second;
    long sum = origin.x;
    for (int i = 0; i < 3; i++) {
        struct large large = {{1, 2, 3, 4}};
        sum += visit(&second, i, "to see");
        sum += mixed(large, 1.5, i, second.at, -9, 2.5f, 1, GREEN);
        sum += many('a', -2, 3, -4, 200, 6, 7, -8, i);
        sum += make_large(i).a[3] + make_point(i).y + (long)make_double(i);
        sum += find(head, i) != NULL;
        sum += walk(&tailed.tail);
    }
    printf("%ld %s\n", sum, motto);
    return 0;
}
