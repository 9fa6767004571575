/* SPDX-License-Identifier: MIT */
/*
 * Static probes in C, C++ and assembler, with no library and no build step:
 *
 *   #include <dtrace/sdt.h>
 *   DTRACE_PROBE2(app, query__start, text, strlen(text));
 *
 *   # dtrace -n 'app*:::query-start { trace(copyinstr(arg0)); }' -p PID
 *
 * A probe is a nop, and a note in the file that says where the nop is and where the
 * compiler left the arguments; __ in a name is shown as -. The notes are those of
 * SystemTap's <sys/sdt.h>: its tools, gdb, perf and bpftrace know the probes too.
 *
 * Arguments that cost something to make are made only while somebody traces where
 * the probe has a semaphore:
 *
 *   DTRACE_SEMAPHORE(app, query__start);             once, in one source file
 *   DTRACE_SEMAPHORE_EXTERN(app, query__start);      in the others
 *   if (DTRACE_PROBE_ENABLED(app, query__start))
 *       DTRACE_PROBE1(app, query__start, describe(query));
 *
 * with DTRACE_USE_SEMAPHORES defined before this file is included, in all files where
 * the probes of such providers are.
 *
 * Arguments are integers, enumerations, pointers, arrays (their address) and floating
 * values of up to 8 bytes. From assembler: DTRACE_PROBE_ASM(app, name, 8@%rdi -4@%esi).
 */
#ifndef DTRACE_SDT_H
#define DTRACE_SDT_H

#ifndef __x86_64__
#error "dtrace/sdt.h knows x86-64 only"
#endif

#ifdef DTRACE_USE_SEMAPHORES
#define DTRACE_SDT_SEMAPHORE_(provider, name) provider##_##name##_semaphore
#else
#define DTRACE_SDT_SEMAPHORE_(provider, name) 0
#endif

#ifdef __ASSEMBLER__

#define DTRACE_SDT_TEXT_(...) DTRACE_SDT_TEXT1_(__VA_ARGS__)
#define DTRACE_SDT_TEXT1_(...) #__VA_ARGS__
#define DTRACE_PROBE_ASM(provider, name, ...)                                  \
	990:	nop;                                                           \
	.pushsection .note.stapsdt, "?", "note";                               \
	.balign	4;                                                             \
	.4byte	992f - 991f, 994f - 993f, 3;                                   \
	991:	.asciz	"stapsdt";                                             \
	992:	.balign	4;                                                     \
	993:	.8byte	990b;                                                  \
	.8byte	_.stapsdt.base;                                                \
	.8byte	DTRACE_SDT_SEMAPHORE_(provider, name);                         \
	.asciz	DTRACE_SDT_TEXT_(provider);                                    \
	.asciz	DTRACE_SDT_TEXT_(name);                                        \
	.asciz	DTRACE_SDT_TEXT_(__VA_ARGS__);                                 \
	994:	.balign	4;                                                     \
	.popsection;                                                           \
	.ifndef _.stapsdt.base;                                                \
	.pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat;   \
	.weak	_.stapsdt.base;                                                \
	.hidden	_.stapsdt.base;                                                \
	_.stapsdt.base: .space 1;                                              \
	.size	_.stapsdt.base, 1;                                             \
	.popsection;                                                           \
	.endif

#else /* C and C++ */

/*
 * What the assembler gets: size @ operand of each argument. The size comes as one
 * number, bytes + 16 if signed + 32 if floating, since no part of a template can
 * depend on a type.
 */
#define DTRACE_SDT_ASM_ARG_(n)                                                 \
	".if (%c[dt_k" #n "] & 48) == 16\n\t.ascii \"-\"\n\t.endif\n\t"          \
	".if (%c[dt_k" #n "] & 15) == 1\n\t.ascii \"1\"\n\t.endif\n\t"           \
	".if (%c[dt_k" #n "] & 15) == 2\n\t.ascii \"2\"\n\t.endif\n\t"           \
	".if (%c[dt_k" #n "] & 15) == 4\n\t.ascii \"4\"\n\t.endif\n\t"           \
	".if (%c[dt_k" #n "] & 15) == 8\n\t.ascii \"8\"\n\t.endif\n\t"           \
	".if %c[dt_k" #n "] & 32\n\t.ascii \"f\"\n\t.endif\n\t"                  \
	".ascii \"@%[dt_a" #n "]\"\n\t"
#define DTRACE_SDT_BLANK_ ".ascii \" \"\n\t"

#define DTRACE_SDT_PROBE_(provider, name, arguments, ...)                      \
	__asm__ __volatile__(                                                  \
	    "990:\tnop\n\t"                                                    \
	    ".pushsection .note.stapsdt,\"?\",\"note\"\n\t"                    \
	    ".balign 4\n\t"                                                    \
	    ".4byte 992f-991f, 994f-993f, 3\n"                                 \
	    "991:\t.asciz \"stapsdt\"\n"                                       \
	    "992:\t.balign 4\n"                                               \
	    "993:\t.8byte 990b\n\t"                                           \
	    ".8byte _.stapsdt.base\n\t"                                        \
	    ".8byte " DTRACE_SDT_TEXT_(DTRACE_SDT_SEMAPHORE_(provider, name))  \
	    "\n\t"                                                             \
	    ".asciz \"" #provider "\"\n\t"                                     \
	    ".asciz \"" #name "\"\n\t" arguments                               \
	    ".byte 0\n"                                                        \
	    "994:\t.balign 4\n\t"                                             \
	    ".popsection\n\t"                                                  \
	    ".ifndef _.stapsdt.base\n\t"                                       \
	    ".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,"    \
	    "comdat\n\t"                                                       \
	    ".weak _.stapsdt.base\n\t"                                         \
	    ".hidden _.stapsdt.base\n"                                         \
	    "_.stapsdt.base: .space 1\n\t"                                     \
	    ".size _.stapsdt.base, 1\n\t"                                      \
	    ".popsection\n\t"                                                  \
	    ".endif\n" : : __VA_ARGS__ : "memory")
#define DTRACE_SDT_TEXT_(x) DTRACE_SDT_TEXT1_(x)
#define DTRACE_SDT_TEXT1_(x) #x

#ifdef __cplusplus

namespace dtrace_sdt {

template <class T> struct decayed { typedef T type; };
template <class T> struct decayed<T&> : decayed<T> {};
template <class T> struct decayed<const T> : decayed<T> {};
template <class T> struct decayed<volatile T> : decayed<T> {};
template <class T> struct decayed<const volatile T> : decayed<T> {};
template <class T, __SIZE_TYPE__ n> struct decayed<T[n]> { typedef T* type; };
template <class T, __SIZE_TYPE__ n> struct decayed<const T[n]> { typedef const T* type; };
template <class T> struct decayed<T[]> { typedef T* type; };

template <class T, bool is_enum> struct number { typedef T type; };
template <class T> struct number<T, true> { typedef __underlying_type(T) type; };
template <class T> struct is_signed {
	typedef typename number<T, __is_enum(T)>::type type;
	enum { value = type(-1) < type(1) };
};

template <class T> struct kind {
	enum { value = sizeof(T) + 16 * is_signed<T>::value };
};
template <> struct kind<float> { enum { value = sizeof(float) + 32 }; };
template <> struct kind<double> { enum { value = sizeof(double) + 32 }; };
template <class T> struct kind<T*> { enum { value = sizeof(T*) }; };
#if __cplusplus >= 201103L
template <> struct kind<decltype(nullptr)> { enum { value = sizeof(void*) }; };
#endif

} // namespace dtrace_sdt

#define DTRACE_SDT_TYPE_(x) ::dtrace_sdt::decayed<__typeof__(x)>::type
#define DTRACE_SDT_KIND_(x) (::dtrace_sdt::kind<DTRACE_SDT_TYPE_(x)>::value)
#define DTRACE_SDT_VALUE_(x) (static_cast<DTRACE_SDT_TYPE_(x)>(x))

#else

/* GCC's classes of types: 1 integers and their like, 5 pointers, 8 floating. */
#define DTRACE_SDT_CLASS_(x) __builtin_classify_type(x)
#define DTRACE_SDT_INTEGER_(x)                                                 \
	__typeof__(__builtin_choose_expr(DTRACE_SDT_CLASS_(x) == 1, (x), 0u))
#define DTRACE_SDT_BYTES_(x) (DTRACE_SDT_CLASS_(x) == 5 ? sizeof(void *) : sizeof(x))
#define DTRACE_SDT_KIND_(x)                                                    \
	((int)DTRACE_SDT_BYTES_(x) +                                           \
	 16 * ((DTRACE_SDT_INTEGER_(x)) - 1 < (DTRACE_SDT_INTEGER_(x))1) +     \
	 32 * (DTRACE_SDT_CLASS_(x) == 8))
/* An array is its address; small integers are as wide as a register at least. */
#define DTRACE_SDT_VALUE_(x) (1 ? (x) : (x))

#endif

/* Where an argument may be: a constant, in memory, or in a register. */
#ifndef DTRACE_SDT_CONSTRAINT
#define DTRACE_SDT_CONSTRAINT "nor"
#endif

#define DTRACE_SDT_ARG_(n, x)                                                  \
	[dt_k##n] "n"(DTRACE_SDT_KIND_(x)),                                    \
	    [dt_a##n] DTRACE_SDT_CONSTRAINT(DTRACE_SDT_VALUE_(x))
#define DTRACE_PROBE0(provider, name) DTRACE_SDT_PROBE_(provider, name, "", "i"(0))
#define DTRACE_PROBE(provider, name) DTRACE_PROBE0(provider, name)
#define DTRACE_PROBE1(provider, name, a1)                                      \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1),                                            \
	    DTRACE_SDT_ARG_(1, a1))
#define DTRACE_PROBE2(provider, name, a1, a2)                                  \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2),   \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2))
#define DTRACE_PROBE3(provider, name, a1, a2, a3)                              \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3),                          \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3))
#define DTRACE_PROBE4(provider, name, a1, a2, a3, a4)                          \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4),                                            \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4))
#define DTRACE_PROBE5(provider, name, a1, a2, a3, a4, a5)                      \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5),   \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5))
#define DTRACE_PROBE6(provider, name, a1, a2, a3, a4, a5, a6)                  \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6),                          \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6))
#define DTRACE_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7)              \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(7),                                            \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6),                    \
	    DTRACE_SDT_ARG_(7, a7))
#define DTRACE_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8)          \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(7) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(8),   \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6),                    \
	    DTRACE_SDT_ARG_(7, a7), DTRACE_SDT_ARG_(8, a8))
#define DTRACE_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9)      \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(7) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(8)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(9),                          \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6),                    \
	    DTRACE_SDT_ARG_(7, a7), DTRACE_SDT_ARG_(8, a8),                    \
	    DTRACE_SDT_ARG_(9, a9))
#define DTRACE_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(7) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(8)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(9) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(10),                                           \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6),                    \
	    DTRACE_SDT_ARG_(7, a7), DTRACE_SDT_ARG_(8, a8),                    \
	    DTRACE_SDT_ARG_(9, a9), DTRACE_SDT_ARG_(10, a10))
#define DTRACE_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(7) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(8)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(9) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(10) DTRACE_SDT_BLANK_                          \
	    DTRACE_SDT_ASM_ARG_(11),                                           \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6),                    \
	    DTRACE_SDT_ARG_(7, a7), DTRACE_SDT_ARG_(8, a8),                    \
	    DTRACE_SDT_ARG_(9, a9), DTRACE_SDT_ARG_(10, a10),                  \
	    DTRACE_SDT_ARG_(11, a11))
#define DTRACE_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	DTRACE_SDT_PROBE_(provider, name,                                      \
	    DTRACE_SDT_ASM_ARG_(1) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(2)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(3) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(4) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(5)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(6) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(7) DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(8)    \
	    DTRACE_SDT_BLANK_ DTRACE_SDT_ASM_ARG_(9) DTRACE_SDT_BLANK_         \
	    DTRACE_SDT_ASM_ARG_(10) DTRACE_SDT_BLANK_                          \
	    DTRACE_SDT_ASM_ARG_(11) DTRACE_SDT_BLANK_                          \
	    DTRACE_SDT_ASM_ARG_(12),                                           \
	    DTRACE_SDT_ARG_(1, a1), DTRACE_SDT_ARG_(2, a2),                    \
	    DTRACE_SDT_ARG_(3, a3), DTRACE_SDT_ARG_(4, a4),                    \
	    DTRACE_SDT_ARG_(5, a5), DTRACE_SDT_ARG_(6, a6),                    \
	    DTRACE_SDT_ARG_(7, a7), DTRACE_SDT_ARG_(8, a8),                    \
	    DTRACE_SDT_ARG_(9, a9), DTRACE_SDT_ARG_(10, a10),                  \
	    DTRACE_SDT_ARG_(11, a11), DTRACE_SDT_ARG_(12, a12))

/* DTRACE_PROBEV(provider, name, arguments...), at most 12. */
#define DTRACE_SDT_COUNT_(...)                                                 \
	DTRACE_SDT_COUNT1_(x, ##__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define DTRACE_SDT_COUNT1_(x, a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define DTRACE_SDT_JOIN_(a, b) DTRACE_SDT_JOIN1_(a, b)
#define DTRACE_SDT_JOIN1_(a, b) a##b
#define DTRACE_PROBEV(provider, name, ...)                                     \
	DTRACE_SDT_JOIN_(DTRACE_PROBE, DTRACE_SDT_COUNT_(__VA_ARGS__))         \
	(provider, name, ##__VA_ARGS__)

#ifdef __cplusplus
#define DTRACE_SDT_C_ extern "C"
#else
#define DTRACE_SDT_C_ extern
#endif
#define DTRACE_SEMAPHORE_EXTERN(provider, name)                                \
	DTRACE_SDT_C_ volatile unsigned short provider##_##name##_semaphore    \
	    __attribute__((visibility("hidden")))
#define DTRACE_SEMAPHORE(provider, name)                                       \
	DTRACE_SEMAPHORE_EXTERN(provider, name);                               \
	volatile unsigned short provider##_##name##_semaphore                  \
	    __attribute__((unused, section(".probes"))) = 0
#define DTRACE_PROBE_ENABLED(provider, name)                                   \
	__builtin_expect(provider##_##name##_semaphore != 0, 0)

#endif /* __ASSEMBLER__ */

#endif
