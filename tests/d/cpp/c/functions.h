static inline int one(int n) { return n; }
inline static int two(int n) { if (n) { return '}'; } return "}"[0]; }
extern inline __attribute__((gnu_inline)) int three(void) { return 0x1.8p3 > 1.5e3f; }
extern __inline __attribute__((__gnu_inline__, __always_inline__)) int four(void)
{
	__asm__ volatile ("nop %0" : : "r" (1LU));
	return ({ int x = 100LLU; x; });
}
static __inline__ __attribute__((const)) unsigned long long five(const char *string)
{
#pragma GCC diagnostic ignored "-Wall"
	static const int table[] = { [0 ... 3] = 5, };
	return L'x' + u8"x"[0] + table[0] + 0b101;
}
inline int six(void);
__extension__ static __inline int (seven)(void) { goto out; out: return 7; }
static _Noreturn void eight(void) __attribute__((cold));
extern int nine(void) __asm__("" "ten") __attribute__((__nothrow__ , __leaf__));
static int (*ten(void))(int) { return 0; }
int main() { return sizeof (struct { int a; }); }
struct behind { long a; };
