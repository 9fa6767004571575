/* SPDX-License-Identifier: MIT */
/*
 * Static probes in C, C++ and assembler, without a library or a build step:
 *
 *   #include <dtrace/sdt.h>
 *   DTRACE_PROBE2(app, query__start, text, strlen(text));
 *
 *   # dtrace -n 'app*:::query-start { trace(copyinstr(arg0)); }' -p PID
 *
 * A probe consists of two nops and a note. The first nop has one byte, so every
 * kernel can emulate it under a breakpoint. The second nop has ten bytes, which
 * is enough for a jump. The note gives the addresses of the nops and the
 * locations of the arguments. In D, a - replaces each __ in a name.
 *
 * The second nop must not have five bytes. Since version 6.18, the kernel
 * replaces such a nop with a call if it has a uprobe. The call would overwrite
 * the red zone of a leaf function (psABI x86-64, 3.2.2).
 *
 * The notes have the format of SystemTap's <sys/sdt.h>, so other tracers find
 * the probes too. Both headers may be included, in either order.
 *
 * If arguments are expensive, give the probe a semaphore. Then they are
 * computed only while the probe is traced:
 *
 *   DTRACE_SEMAPHORE(app, query__start);             once, in one source file
 *   DTRACE_SEMAPHORE_EXTERN(app, query__start);      in the other files
 *   if (DTRACE_PROBE_ENABLED(app, query__start))
 *       DTRACE_PROBE1(app, query__start, describe(query));
 *
 * If a provider has semaphores, define DTRACE_USE_SEMAPHORES in all files with
 * its probes, before this file is included.
 *
 * Arguments are integers, bit-fields, enumerations, pointers, functions and
 * arrays (as their address), and floating-point values of 4 or 8 bytes (as
 * their bits). In assembler, write DTRACE_PROBE_ASM(app, name, 8@%rdi -4@%esi).
 *
 * An argument is evaluated once. It is a constant, or is in a register or on
 * the stack. It never needs a symbol table, which strip removes.
 *
 * A note is kept or removed together with its code. ld --gc-sections needs
 * binutils 2.35 or later, or lld. gold refuses notes for removed code. A
 * relocation from the nops to the note prevents ld --icf from merging functions
 * that differ only by a probe.
 */
#ifndef DTRACE_SDT_H
#define DTRACE_SDT_H

/*
 * Suppresses -pedantic warnings about variadic macros, as for headers in
 * /usr/include.
 */
#pragma GCC system_header

#if !defined(__x86_64__) || defined(__ILP32__)
#error "dtrace/sdt.h: static probes work only in 64-bit x86 programs, not with -m32 or -mx32"
#endif

/*
 * SystemTap's name for DTRACE_USE_SEMAPHORES. If both headers are included,
 * both macros must agree.
 */
#if defined(DTRACE_USE_SEMAPHORES) && !defined(_SDT_HAS_SEMAPHORES)
#define _SDT_HAS_SEMAPHORES 1
#endif
#ifdef _SDT_HAS_SEMAPHORES
#define DTRACE_SDT_SEMAPHORE_(provider, name) provider##_##name##_semaphore
/* Marks the semaphore as used, because the compiler cannot read the note. */
#define DTRACE_SDT_USE_(provider, name)                                        \
	__asm__ __volatile__("" : : "m"(DTRACE_SDT_SEMAPHORE_(provider, name)))
#define DTRACE_SDT_NEED_SEMAPHORES_
#else
#define DTRACE_SDT_SEMAPHORE_(provider, name) 0
#define DTRACE_SDT_USE_(provider, name) (void)0
#define DTRACE_SDT_NEED_SEMAPHORES_                                            \
	_Pragma("GCC error \"DTRACE_SEMAPHORE and DTRACE_PROBE_ENABLED require DTRACE_USE_SEMAPHORES to be defined before the header for static probes is included: otherwise no probe has a semaphore\"")
#endif

/* Removes SystemTap's macros, in case its header was included first. */
#undef DTRACE_PROBE
#undef DTRACE_PROBE1
#undef DTRACE_PROBE2
#undef DTRACE_PROBE3
#undef DTRACE_PROBE4
#undef DTRACE_PROBE5
#undef DTRACE_PROBE6
#undef DTRACE_PROBE7
#undef DTRACE_PROBE8
#undef DTRACE_PROBE9
#undef DTRACE_PROBE10
#undef DTRACE_PROBE11
#undef DTRACE_PROBE12

#ifdef __ASSEMBLER__

#define DTRACE_SDT_TEXT_(...) DTRACE_SDT_TEXT1_(__VA_ARGS__)
#define DTRACE_SDT_TEXT1_(...) #__VA_ARGS__
#define DTRACE_PROBE_ASM(provider, name, ...)                                  \
	990:	.byte	0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0;     \
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
	.reloc	990b, R_X86_64_NONE, 993b;                                     \
	.ifndef _.stapsdt.base;                                                \
	.pushsection .stapsdt.base, "aG", "progbits", .stapsdt.base, comdat;   \
	.weak	_.stapsdt.base;                                                \
	.hidden	_.stapsdt.base;                                                \
	_.stapsdt.base: .space 1;                                              \
	.size	_.stapsdt.base, 1;                                             \
	.popsection;                                                           \
	.endif
#define DTRACE_SDT_PROBE_(provider, name, n, arguments)                        \
	DTRACE_PROBE_ASM(provider, name, DTRACE_SDT_LIST_##n##_ arguments)
#define DTRACE_SDT_LIST_0_()
#define DTRACE_SDT_LIST_1_(a1) a1
#define DTRACE_SDT_LIST_2_(a1, a2) a1 a2
#define DTRACE_SDT_LIST_3_(a1, a2, a3) a1 a2 a3
#define DTRACE_SDT_LIST_4_(a1, a2, a3, a4) a1 a2 a3 a4
#define DTRACE_SDT_LIST_5_(a1, a2, a3, a4, a5) a1 a2 a3 a4 a5
#define DTRACE_SDT_LIST_6_(a1, a2, a3, a4, a5, a6) a1 a2 a3 a4 a5 a6
#define DTRACE_SDT_LIST_7_(a1, a2, a3, a4, a5, a6, a7) a1 a2 a3 a4 a5 a6 a7
#define DTRACE_SDT_LIST_8_(a1, a2, a3, a4, a5, a6, a7, a8) a1 a2 a3 a4 a5 a6 a7 a8
#define DTRACE_SDT_LIST_9_(a1, a2, a3, a4, a5, a6, a7, a8, a9) a1 a2 a3 a4 a5 a6 a7 a8 a9
#define DTRACE_SDT_LIST_10_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) a1 a2 a3 a4 a5 a6 a7 a8 a9 a10
#define DTRACE_SDT_LIST_11_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11
#define DTRACE_SDT_LIST_12_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) a1 a2 a3 a4 a5 a6 a7 a8 a9 a10 a11 a12

#else /* C and C++ */

/* dtrace -h also writes the following lines to each header. */
#ifndef DTRACE_SDT_PROBE_TEXT_
/*
 * `names` is the text for the semaphore's address, the provider's name and the
 * probe's name (DTRACE_SDT_NAMES_TEXT_).
 */
#define DTRACE_SDT_NOTE_TEXT_(section, names, arguments)                       \
	"990:\t.byte 0x90, 0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0\n\t"    \
	".pushsection .note.stapsdt," section "\n\t"                           \
	".balign 4\n\t"                                                        \
	".4byte 992f-991f, 994f-993f, 3\n"                                     \
	"991:\t.asciz \"stapsdt\"\n"                                           \
	"992:\t.balign 4\n"                                                    \
	"993:\t.8byte 990b\n\t"                                                \
	".8byte _.stapsdt.base\n\t" names arguments                            \
	".byte 0\n"                                                            \
	"994:\t.balign 4\n\t"                                                  \
	".popsection\n\t"                                                      \
	".reloc 990b, R_X86_64_NONE, 993b\n\t"                                 \
	".ifndef _.stapsdt.base\n\t"                                           \
	".pushsection .stapsdt.base,\"aG\",\"progbits\",.stapsdt.base,comdat\n\t" \
	".weak _.stapsdt.base\n\t"                                             \
	".hidden _.stapsdt.base\n"                                             \
	"_.stapsdt.base: .space 1\n\t"                                         \
	".size _.stapsdt.base, 1\n\t"                                          \
	".popsection\n\t"                                                      \
	".endif\n"
#define DTRACE_SDT_NAMES_TEXT_(semaphore, provider, name)                      \
	".8byte " semaphore "\n\t.asciz \"" provider "\"\n\t.asciz \"" name "\"\n\t"
/* A label in the function's section. The note's section is linked to it. */
#define DTRACE_SDT_HERE_ ".Ldtrace_sdt%=:\n"
#define DTRACE_SDT_SECTION_ "\"?o\",\"note\",.Ldtrace_sdt%="
/* The nops and their note, as string literals. */
#define DTRACE_SDT_PROBE_TEXT_(semaphore, provider, name, arguments)           \
	DTRACE_SDT_HERE_ DTRACE_SDT_NOTE_TEXT_(DTRACE_SDT_SECTION_,            \
	    DTRACE_SDT_NAMES_TEXT_(semaphore, provider, name), arguments)
#endif

#ifndef DTRACE_SDT_FIX_
/*
 * Prevents GCC from using a symbol as an operand, because a tracer would need
 * the symbol table. A value that has passed through an asm statement is in a
 * register or on the stack.
 */
#ifndef __clang__
#define DTRACE_SDT_FIX_(v)                                                     \
	if (!__builtin_constant_p(v))                                          \
		__asm__("" : "=g"(v) : "0"(v))
#else
#define DTRACE_SDT_FIX_(v) (void)0
#endif
#endif
/* End of the lines that dtrace -h also writes to each header. */

#define DTRACE_SDT_TEXT_(x) DTRACE_SDT_TEXT1_(x)
#define DTRACE_SDT_TEXT1_(x) #x

/*
 * The assembler text that writes "size@operand" to the note. The template gets
 * the size as a number: the bytes, plus 16 for a signed type, plus 32 for a
 * floating-point type.
 *
 * With -masm=intel, \044 writes a $ before the operand, so that a constant ($7)
 * looks the same in both syntaxes. A plain $ would not work, because clang
 * removes it from the template.
 */
#define DTRACE_SDT_SIZE_(kind)                                                 \
	".fill (" kind ") >> 4 & 1, 1, '-'\n\t"                                \
	".byte '0' + (" kind " & 15)\n\t"                                      \
	".fill (" kind ") >> 5 & 1, 1, 'f'\n\t"
#define DTRACE_SDT_OPERAND_(n) ".ascii \"@{|\\044}%[dt_a" #n "]\"\n\t"
#define DTRACE_SDT_ASM_ARG_(n) DTRACE_SDT_SIZE_("%c[dt_k" #n "]") DTRACE_SDT_OPERAND_(n)
#define DTRACE_SDT_NEXT_ARG_(n) ".ascii \" \"\n\t" DTRACE_SDT_ASM_ARG_(n)
#define DTRACE_SDT_TEMPLATE_0_ ""
#define DTRACE_SDT_TEMPLATE_1_ DTRACE_SDT_ASM_ARG_(1)
#define DTRACE_SDT_TEMPLATE_2_ DTRACE_SDT_TEMPLATE_1_ DTRACE_SDT_NEXT_ARG_(2)
#define DTRACE_SDT_TEMPLATE_3_ DTRACE_SDT_TEMPLATE_2_ DTRACE_SDT_NEXT_ARG_(3)
#define DTRACE_SDT_TEMPLATE_4_ DTRACE_SDT_TEMPLATE_3_ DTRACE_SDT_NEXT_ARG_(4)
#define DTRACE_SDT_TEMPLATE_5_ DTRACE_SDT_TEMPLATE_4_ DTRACE_SDT_NEXT_ARG_(5)
#define DTRACE_SDT_TEMPLATE_6_ DTRACE_SDT_TEMPLATE_5_ DTRACE_SDT_NEXT_ARG_(6)
#define DTRACE_SDT_TEMPLATE_7_ DTRACE_SDT_TEMPLATE_6_ DTRACE_SDT_NEXT_ARG_(7)
#define DTRACE_SDT_TEMPLATE_8_ DTRACE_SDT_TEMPLATE_7_ DTRACE_SDT_NEXT_ARG_(8)
#define DTRACE_SDT_TEMPLATE_9_ DTRACE_SDT_TEMPLATE_8_ DTRACE_SDT_NEXT_ARG_(9)
#define DTRACE_SDT_TEMPLATE_10_ DTRACE_SDT_TEMPLATE_9_ DTRACE_SDT_NEXT_ARG_(10)
#define DTRACE_SDT_TEMPLATE_11_ DTRACE_SDT_TEMPLATE_10_ DTRACE_SDT_NEXT_ARG_(11)
#define DTRACE_SDT_TEMPLATE_12_ DTRACE_SDT_TEMPLATE_11_ DTRACE_SDT_NEXT_ARG_(12)

#define DTRACE_SDT_PROBE_(provider, name, n, arguments)                        \
	do {                                                                   \
		DTRACE_SDT_USE_(provider, name);                               \
		DTRACE_SDT_LONG_TEXT_                                          \
		__asm__ __volatile__(DTRACE_SDT_PROBE_TEXT_(                   \
		    DTRACE_SDT_TEXT_(DTRACE_SDT_SEMAPHORE_(provider, name)),   \
		    DTRACE_SDT_TEXT_(provider), DTRACE_SDT_TEXT_(name),        \
		    DTRACE_SDT_TEMPLATE_##n##_)                                \
		    : : DTRACE_SDT_OPERANDS_##n##_ arguments : "memory");      \
		DTRACE_SDT_LONG_TEXT_END_                                      \
	} while (0)

/*
 * With -std=c89, clang may warn about a long string at the place of the probe,
 * where system_header has no effect.
 */
#if defined(__clang__) && !defined(__cplusplus)
#define DTRACE_SDT_LONG_TEXT_                                                  \
	_Pragma("clang diagnostic push")                                       \
	_Pragma("clang diagnostic ignored \"-Woverlength-strings\"")
#define DTRACE_SDT_LONG_TEXT_END_ _Pragma("clang diagnostic pop")
#else
#define DTRACE_SDT_LONG_TEXT_
#define DTRACE_SDT_LONG_TEXT_END_
#endif

#define DTRACE_SDT_REFUSAL_                                                    \
	"an argument of a static probe must be an integer or enum of at most 8 " \
	"bytes, a pointer, an array, a function, a float or a double"

#ifdef __cplusplus

extern "C++" { /* for programs that include this file in extern "C" */
namespace dtrace_sdt {

template <bool good> struct Check {
#if __cplusplus >= 201103L
	static_assert(good, DTRACE_SDT_REFUSAL_);
#endif
	enum { ok = 1 };
};
#if __cplusplus < 201103L
/*
 * Causes a compile error if the type of an argument is not allowed. C++98 has
 * no static_assert, so this struct is left incomplete instead.
 */
template <> struct Check<false>;
#endif

template <class A, class B> struct Same { enum { value = 0 }; };
template <class A> struct Same<A, A> { enum { value = 1 }; };

/* Removes references and qualifiers. Arrays become pointers. */
template <class T> struct Plain { typedef T type; };
template <class T> struct Plain<const T> : Plain<T> {};
template <class T> struct Plain<volatile T> : Plain<T> {};
template <class T> struct Plain<const volatile T> : Plain<T> {};
template <class T> struct Plain<T&> : Plain<T> {};
#if __cplusplus >= 201103L
template <class T> struct Plain<T&&> : Plain<T> {};
#endif
#define DTRACE_SDT_CXX_ARRAY_(of)                                              \
	template <class T> struct Plain<of T[]> { typedef of T* type; };       \
	template <class T, __SIZE_TYPE__ n> struct Plain<of T[n]> { typedef of T* type; };
DTRACE_SDT_CXX_ARRAY_()
DTRACE_SDT_CXX_ARRAY_(const)
DTRACE_SDT_CXX_ARRAY_(volatile)
DTRACE_SDT_CXX_ARRAY_(const volatile)

/*
 * The form of a plain type: 2 for a function, 1 for an enumeration, 0 for other
 * types.
 */
template <class T> struct Form {
	enum { value = Same<const T, T>::value ? 2 : __is_enum(T) ? 1 : 0 };
};

template <class T, int form = Form<T>::value> struct Argument {
	enum { kind = Check<Same<T, Check<true> >::value>::ok };
	template <class Given> static int value(const Given&) { return 0; }
};

#define DTRACE_SDT_CXX_VALUE_(from, to)                                        \
	static inline __attribute__((always_inline)) to value(from v)
#define DTRACE_SDT_CXX_INTEGER_(T)                                             \
	template <> struct Argument<T, 0> {                                    \
		enum { kind = sizeof(T) + 16 * (static_cast<T>(-1) < static_cast<T>(1)) };               \
		DTRACE_SDT_CXX_VALUE_(T, T) { DTRACE_SDT_FIX_(v); return v; }  \
	};
DTRACE_SDT_CXX_INTEGER_(bool)
DTRACE_SDT_CXX_INTEGER_(char)
DTRACE_SDT_CXX_INTEGER_(signed char)
DTRACE_SDT_CXX_INTEGER_(unsigned char)
DTRACE_SDT_CXX_INTEGER_(short)
DTRACE_SDT_CXX_INTEGER_(unsigned short)
DTRACE_SDT_CXX_INTEGER_(int)
DTRACE_SDT_CXX_INTEGER_(unsigned int)
DTRACE_SDT_CXX_INTEGER_(long)
DTRACE_SDT_CXX_INTEGER_(unsigned long)
__extension__ typedef long long long_long;
__extension__ typedef unsigned long long unsigned_long_long;
DTRACE_SDT_CXX_INTEGER_(long_long)
DTRACE_SDT_CXX_INTEGER_(unsigned_long_long)
DTRACE_SDT_CXX_INTEGER_(wchar_t)
#if __cplusplus >= 201103L
DTRACE_SDT_CXX_INTEGER_(char16_t)
DTRACE_SDT_CXX_INTEGER_(char32_t)
#endif
#ifdef __cpp_char8_t
DTRACE_SDT_CXX_INTEGER_(char8_t)
#endif

#define DTRACE_SDT_CXX_FLOATING_(T, bits)                                      \
	template <> struct Argument<T, 0> {                                    \
		enum { kind = sizeof(T) + 32 };                                \
		DTRACE_SDT_CXX_VALUE_(T, bits)                                 \
		{                                                              \
			bits b;                                                \
			__builtin_memcpy(&b, &v, sizeof(b));                   \
			DTRACE_SDT_FIX_(b);                                    \
			return b;                                              \
		}                                                              \
	};
DTRACE_SDT_CXX_FLOATING_(float, unsigned)
DTRACE_SDT_CXX_FLOATING_(double, unsigned long)

template <class T> struct Argument<T, 1> {
	typedef Argument<__underlying_type(T)> Number;
	enum { kind = Number::kind };
	DTRACE_SDT_CXX_VALUE_(T, __underlying_type(T))
	{
		return Number::value(static_cast<__underlying_type(T)>(v));
	}
};
template <class T> struct Argument<T*, 0> {
	enum { kind = sizeof(T*) };
	DTRACE_SDT_CXX_VALUE_(T*, T*) { DTRACE_SDT_FIX_(v); return v; }
};
template <class T> struct Argument<T, 2> : Argument<T*> {};
#if __cplusplus >= 201103L
template <> struct Argument<decltype(nullptr), 0> : Argument<const void*> {};
#endif

template <class T> struct Of : Argument<typename Plain<T>::type> {};

} /* namespace dtrace_sdt */
}

#define DTRACE_SDT_KIND_(x) (::dtrace_sdt::Of<__decltype(x)>::kind)
/*
 * NULL has the type long here. The comma operator prevents a warning about
 * NULL.
 */
#define DTRACE_SDT_VALUE_(x) (::dtrace_sdt::Of<__decltype(x)>::value(((void)0, (x))))

#else /* C */

/*
 * The comma operator converts arrays and functions to addresses, and a
 * bit-field to an ordinary type.
 */
#define DTRACE_SDT_RVALUE_(x) ((void)0, (x))
#define DTRACE_SDT_BYTES_(x) sizeof(__typeof__(DTRACE_SDT_RVALUE_(x)))
/*
 * GCC's type classes: 1 integers, 2 characters, 3 enumerations, 4 booleans, 5
 * pointers, 8 floating-point.
 */
#define DTRACE_SDT_CLASS_(x) __builtin_classify_type(DTRACE_SDT_RVALUE_(x))
#define DTRACE_SDT_IS_FLOATING_(x, n)                                          \
	(DTRACE_SDT_CLASS_(x) == 8 && DTRACE_SDT_BYTES_(x) == (n))
#define DTRACE_SDT_IS_GOOD_(x)                                                 \
	((DTRACE_SDT_CLASS_(x) - 1u < 5 && DTRACE_SDT_BYTES_(x) <= 8) ||       \
	    (DTRACE_SDT_CLASS_(x) == 8 && (DTRACE_SDT_BYTES_(x) & (4 | 8))))
#define DTRACE_SDT_IF_(is, x) __builtin_choose_expr(is, DTRACE_SDT_RVALUE_(x), 0)
#define DTRACE_SDT_GOOD_(x) DTRACE_SDT_IF_(DTRACE_SDT_IS_GOOD_(x), x)
#define DTRACE_SDT_INTEGER_(x)                                                 \
	__typeof__(__builtin_choose_expr(DTRACE_SDT_CLASS_(x) < 5, DTRACE_SDT_GOOD_(x), 0u))
#define DTRACE_SDT_KIND_(x)                                                    \
	((int)sizeof(__typeof__(DTRACE_SDT_GOOD_(x))) +                        \
	    16 * ((DTRACE_SDT_INTEGER_(x))-1 < (DTRACE_SDT_INTEGER_(x))1) +    \
	    32 * (DTRACE_SDT_CLASS_(x) == 8) +                                 \
	    0 * (int)__extension__ sizeof(struct {                             \
		    char dt_c;                                                 \
		    _Static_assert(DTRACE_SDT_IS_GOOD_(x), DTRACE_SDT_REFUSAL_); \
	    }))
#define DTRACE_SDT_FLOAT_BITS_(x)                                              \
	(__extension__(union { float dt_f; unsigned dt_b; }){                  \
	    DTRACE_SDT_IF_(DTRACE_SDT_IS_FLOATING_(x, 4), x)}.dt_b)
#define DTRACE_SDT_DOUBLE_BITS_(x)                                             \
	(__extension__(union { double dt_f; unsigned long dt_b; }){            \
	    DTRACE_SDT_IF_(DTRACE_SDT_IS_FLOATING_(x, 8), x)}.dt_b)
#define DTRACE_SDT_BITS_(x)                                                    \
	__builtin_choose_expr(DTRACE_SDT_IS_FLOATING_(x, 4), DTRACE_SDT_FLOAT_BITS_(x), \
	    __builtin_choose_expr(DTRACE_SDT_IS_FLOATING_(x, 8),               \
		DTRACE_SDT_DOUBLE_BITS_(x), DTRACE_SDT_GOOD_(x)))
#ifdef __clang__
#define DTRACE_SDT_VALUE_(x) DTRACE_SDT_BITS_(x)
#else
#define DTRACE_SDT_VALUE_(x)                                                   \
	__extension__({                                                        \
		__auto_type dt_value_ = DTRACE_SDT_BITS_(x);                    \
		DTRACE_SDT_FIX_(dt_value_);                                    \
		dt_value_;                                                     \
	})
#endif

#endif

/*
 * If an argument may be in memory, clang stores it in memory just for the
 * probe. So with clang, arguments 1 to 6 are not permitted to be in memory.
 * Later arguments may be in memory, because there may be too few registers.
 */
#ifdef DTRACE_SDT_CONSTRAINT
#define DTRACE_SDT_LATER_ DTRACE_SDT_CONSTRAINT
#else
#define DTRACE_SDT_LATER_ "nor"
#ifdef __clang__
#define DTRACE_SDT_CONSTRAINT "nr"
#else
#define DTRACE_SDT_CONSTRAINT "nor"
#endif
#endif

#define DTRACE_SDT_ARG_(n, x)                                                  \
	[dt_k##n] "n"(DTRACE_SDT_KIND_(x)),                                    \
	    [dt_a##n] DTRACE_SDT_CONSTRAINT(DTRACE_SDT_VALUE_(x))
#define DTRACE_SDT_LATER_ARG_(n, x)                                            \
	[dt_k##n] "n"(DTRACE_SDT_KIND_(x)),                                    \
	    [dt_a##n] DTRACE_SDT_LATER_(DTRACE_SDT_VALUE_(x))
#define DTRACE_SDT_OPERANDS_0_() [dt_none] "n"(0)
#define DTRACE_SDT_OPERANDS_1_(a1) DTRACE_SDT_ARG_(1, a1)
#define DTRACE_SDT_OPERANDS_2_(a1, a2) \
	DTRACE_SDT_OPERANDS_1_(a1), DTRACE_SDT_ARG_(2, a2)
#define DTRACE_SDT_OPERANDS_3_(a1, a2, a3) \
	DTRACE_SDT_OPERANDS_2_(a1, a2), DTRACE_SDT_ARG_(3, a3)
#define DTRACE_SDT_OPERANDS_4_(a1, a2, a3, a4) \
	DTRACE_SDT_OPERANDS_3_(a1, a2, a3), DTRACE_SDT_ARG_(4, a4)
#define DTRACE_SDT_OPERANDS_5_(a1, a2, a3, a4, a5) \
	DTRACE_SDT_OPERANDS_4_(a1, a2, a3, a4), DTRACE_SDT_ARG_(5, a5)
#define DTRACE_SDT_OPERANDS_6_(a1, a2, a3, a4, a5, a6) \
	DTRACE_SDT_OPERANDS_5_(a1, a2, a3, a4, a5), DTRACE_SDT_ARG_(6, a6)
#define DTRACE_SDT_OPERANDS_7_(a1, a2, a3, a4, a5, a6, a7) \
	DTRACE_SDT_OPERANDS_6_(a1, a2, a3, a4, a5, a6), DTRACE_SDT_LATER_ARG_(7, a7)
#define DTRACE_SDT_OPERANDS_8_(a1, a2, a3, a4, a5, a6, a7, a8) \
	DTRACE_SDT_OPERANDS_7_(a1, a2, a3, a4, a5, a6, a7), DTRACE_SDT_LATER_ARG_(8, a8)
#define DTRACE_SDT_OPERANDS_9_(a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	DTRACE_SDT_OPERANDS_8_(a1, a2, a3, a4, a5, a6, a7, a8), DTRACE_SDT_LATER_ARG_(9, a9)
#define DTRACE_SDT_OPERANDS_10_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	DTRACE_SDT_OPERANDS_9_(a1, a2, a3, a4, a5, a6, a7, a8, a9), DTRACE_SDT_LATER_ARG_(10, a10)
#define DTRACE_SDT_OPERANDS_11_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	DTRACE_SDT_OPERANDS_10_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10), DTRACE_SDT_LATER_ARG_(11, a11)
#define DTRACE_SDT_OPERANDS_12_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	DTRACE_SDT_OPERANDS_11_(a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11), DTRACE_SDT_LATER_ARG_(12, a12)

#ifdef __cplusplus
#define DTRACE_SDT_C_ extern "C"
#else
#define DTRACE_SDT_C_ extern
#endif
#define DTRACE_SDT_SEMAPHORE_NAME_(provider, name) provider##_##name##_semaphore
#define DTRACE_SEMAPHORE_EXTERN(provider, name)                                \
	DTRACE_SDT_C_ volatile unsigned short                                  \
	    DTRACE_SDT_SEMAPHORE_NAME_(provider, name)                         \
		__attribute__((visibility("hidden")))
#define DTRACE_SEMAPHORE(provider, name)                                       \
	DTRACE_SDT_NEED_SEMAPHORES_                                            \
	DTRACE_SEMAPHORE_EXTERN(provider, name);                               \
	volatile unsigned short DTRACE_SDT_SEMAPHORE_NAME_(provider, name)     \
	    __attribute__((used, section(".probes"))) = 0
#define DTRACE_PROBE_ENABLED(provider, name)                                   \
	DTRACE_SDT_NEED_SEMAPHORES_                                            \
	__builtin_expect(DTRACE_SDT_SEMAPHORE_NAME_(provider, name) != 0, 0)

#endif /* __ASSEMBLER__ */

#define DTRACE_PROBE(provider, name) DTRACE_SDT_PROBE_(provider, name, 0, ())
#define DTRACE_PROBE0(provider, name) DTRACE_SDT_PROBE_(provider, name, 0, ())
#define DTRACE_PROBE1(provider, name, a1) \
	DTRACE_SDT_PROBE_(provider, name, 1, (a1))
#define DTRACE_PROBE2(provider, name, a1, a2) \
	DTRACE_SDT_PROBE_(provider, name, 2, (a1, a2))
#define DTRACE_PROBE3(provider, name, a1, a2, a3) \
	DTRACE_SDT_PROBE_(provider, name, 3, (a1, a2, a3))
#define DTRACE_PROBE4(provider, name, a1, a2, a3, a4) \
	DTRACE_SDT_PROBE_(provider, name, 4, (a1, a2, a3, a4))
#define DTRACE_PROBE5(provider, name, a1, a2, a3, a4, a5) \
	DTRACE_SDT_PROBE_(provider, name, 5, (a1, a2, a3, a4, a5))
#define DTRACE_PROBE6(provider, name, a1, a2, a3, a4, a5, a6) \
	DTRACE_SDT_PROBE_(provider, name, 6, (a1, a2, a3, a4, a5, a6))
#define DTRACE_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7) \
	DTRACE_SDT_PROBE_(provider, name, 7, (a1, a2, a3, a4, a5, a6, a7))
#define DTRACE_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8) \
	DTRACE_SDT_PROBE_(provider, name, 8, (a1, a2, a3, a4, a5, a6, a7, a8))
#define DTRACE_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	DTRACE_SDT_PROBE_(provider, name, 9, (a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define DTRACE_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	DTRACE_SDT_PROBE_(provider, name, 10, (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define DTRACE_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	DTRACE_SDT_PROBE_(provider, name, 11, (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define DTRACE_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	DTRACE_SDT_PROBE_(provider, name, 12, (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))

/* DTRACE_PROBEV(provider, name, arguments...) takes at most 12 arguments. */
#define DTRACE_SDT_COUNT_(...) /* the number of arguments after the first */   \
	DTRACE_SDT_COUNT1_(__VA_ARGS__, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0, x)
#define DTRACE_SDT_COUNT1_(x, a, b, c, d, e, f, g, h, i, j, k, l, n, ...) n
#define DTRACE_SDT_JOIN_(a, b) DTRACE_SDT_JOIN1_(a, b)
#define DTRACE_SDT_JOIN1_(a, b) a##b
#define DTRACE_PROBEV(provider, ...) /* name, arguments */                     \
	DTRACE_SDT_JOIN_(DTRACE_PROBE, DTRACE_SDT_COUNT_(__VA_ARGS__))         \
	(provider, __VA_ARGS__)

#endif
