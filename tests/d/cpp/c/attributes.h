struct __attribute__((packed)) before { char a; long b; short c; };
struct behind { char a; long b; } __attribute__((__packed__));
struct one_member { char a; long b __attribute__((packed)); int c; };
struct first_word { __attribute__((packed)) int a; char b; __attribute__((aligned(4))) char c; };
struct aligned { char a; } __attribute__((aligned(32)));
struct by_default { char a; } __attribute__((aligned));
struct member_aligned { char a; int b __attribute__((aligned(16))), c; };
struct both { char a; int b __attribute__((aligned(2))); } __attribute__((packed));
struct bits { char a; int b : 7, c : 20 __attribute__((packed)); long d : 40; };
struct packed_bits { char a; int b : 7; long c : 40; unsigned d : 1; } __attribute__((packed));
struct holder { char a; struct before b; struct behind *c; struct aligned d; };
typedef struct { char a; long b; } __attribute__((packed)) tight_t, *tight_p;
typedef unsigned long long __attribute__((aligned(4))) low_t;
typedef long wide_t __attribute__((aligned(32)));
struct typedefs { char a; low_t b; low_t c[2]; wide_t d; tight_t e; };
union packed_union { long a; char b[9]; } __attribute__((packed));
union aligned_union { char a[3]; } __attribute__((aligned(2)));
#pragma pack(push, 1)
struct pack_1 { char a; long b; int c : 5, d : 30; };
#pragma pack(2)
struct pack_2 { char a; long b; int c __attribute__((aligned(8))); };
#pragma pack(push)
#pragma pack(4)
struct pack_4 { char a; long b; struct { char a; long b; } c; };
#pragma pack(pop)
struct pack_2_again { char a; long b; };
#pragma pack(pop)
struct pack_none { char a; long b; };
void (__attribute__((noinline)) *pointer)(int), __attribute__((unused)) *(*function)(void);
int *__attribute__((aligned(16))) last __attribute__((weak));
