_Static_assert(sizeof (int) == 4, "an int, ); that has 4 bytes");
static_assert(1, "C23's");
_Noreturn void never(void);
extern _Thread_local int own;
struct said { char a; _Alignas(16) char b; _Alignas(long) char c; _Static_assert(1, ""); };
struct atomics { _Atomic int a; _Atomic(long) b; int *_Atomic c; _Atomic struct { char a[4]; } d; };
struct extended { __extension__ union { long a; int b; }; __extension__ long long c; };
struct same { __typeof__ (int *) a; __typeof (((struct said *)0)->b) b; typeof (own) c; };
extern __typeof (never) again __attribute__((__copy__(never)));
struct signs { __signed__ char a; __volatile__ int b; __const char *__restrict c; };
asm(".globl nothing; nothing:");
[[deprecated("use, another")]] int old(void);
struct attributed { int a [[maybe_unused]]; [[gnu::unused]] int b; };
struct sized {
	char a[__alignof__ (struct said)];
	char b[sizeof (((struct said *)0)->c) + __builtin_offsetof (struct said, b)];
	char c[_Alignof (short)];
};
struct tagged { enum color { RED, GREEN } c : 4; enum color d : 4; struct { int x; } inner; };
