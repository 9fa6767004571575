/* SPDX-License-Identifier: MIT */
/*
 * SystemTap's names from <sys/sdt.h>, implemented with <dtrace/sdt.h>. Programs
 * for SystemTap's header compile with this header and have the same probes.
 *
 *   #define _SDT_HAS_SEMAPHORES 1                 if provider_name_semaphore is declared
 *   #include <sys/sdt.h>
 *   STAP_PROBE2(app, query__start, text, length);
 *
 * This header is installed in <includedir>/dtrace-usdt. The flags from
 * `pkg-config --cflags dtrace-usdt` select it. If a file includes both headers,
 * the second one has no effect.
 *
 *   STAP_PROBE, STAP_PROBE1 .. STAP_PROBE12, DTRACE_PROBE, DTRACE_PROBE1 .. DTRACE_PROBE12
 *   STAP_PROBEV                with SDT_USE_VARIADIC
 *   STAP_PROBE_ASM(provider, name, operands), and ..._TEMPLATE(n), ..._OPERANDS(n, ...)
 *   STAP_SDT_ARG_CONSTRAINT    the asm constraint for all arguments in the file
 */
#ifndef _SYS_SDT_H
#define _SYS_SDT_H 1

#pragma GCC system_header

#if defined(STAP_SDT_ARG_CONSTRAINT) && !defined(__ASSEMBLER__)
#define DTRACE_SDT_CONSTRAINT_TEXT1_(x) #x
#define DTRACE_SDT_CONSTRAINT_TEXT_(x) DTRACE_SDT_CONSTRAINT_TEXT1_(x)
#undef DTRACE_SDT_CONSTRAINT
#define DTRACE_SDT_CONSTRAINT DTRACE_SDT_CONSTRAINT_TEXT_(STAP_SDT_ARG_CONSTRAINT)
#endif

#include <dtrace/sdt.h>

/*
 * <dtrace/sdt.h> may have been included before _SDT_HAS_SEMAPHORES was defined.
 * So its macros for semaphores are defined again.
 */
#ifdef _SDT_HAS_SEMAPHORES
#undef DTRACE_SDT_SEMAPHORE_
#undef DTRACE_SDT_USE_
#undef DTRACE_SDT_NEED_SEMAPHORES_
#define DTRACE_SDT_NEED_SEMAPHORES_
#define DTRACE_SDT_SEMAPHORE_(provider, name) provider##_##name##_semaphore
#define DTRACE_SDT_USE_(provider, name)                                        \
	__asm__ __volatile__("" : : "m"(DTRACE_SDT_SEMAPHORE_(provider, name)))
#endif

#define _SDT_PROBE DTRACE_SDT_PROBE_ /* provider, name, count, (arguments) */
#define STAP_PROBE(provider, name) DTRACE_SDT_PROBE_(provider, name, 0, ())
#define STAP_PROBE1(provider, name, a1) \
	DTRACE_SDT_PROBE_(provider, name, 1, (a1))
#define STAP_PROBE2(provider, name, a1, a2) \
	DTRACE_SDT_PROBE_(provider, name, 2, (a1, a2))
#define STAP_PROBE3(provider, name, a1, a2, a3) \
	DTRACE_SDT_PROBE_(provider, name, 3, (a1, a2, a3))
#define STAP_PROBE4(provider, name, a1, a2, a3, a4) \
	DTRACE_SDT_PROBE_(provider, name, 4, (a1, a2, a3, a4))
#define STAP_PROBE5(provider, name, a1, a2, a3, a4, a5) \
	DTRACE_SDT_PROBE_(provider, name, 5, (a1, a2, a3, a4, a5))
#define STAP_PROBE6(provider, name, a1, a2, a3, a4, a5, a6) \
	DTRACE_SDT_PROBE_(provider, name, 6, (a1, a2, a3, a4, a5, a6))
#define STAP_PROBE7(provider, name, a1, a2, a3, a4, a5, a6, a7) \
	DTRACE_SDT_PROBE_(provider, name, 7, (a1, a2, a3, a4, a5, a6, a7))
#define STAP_PROBE8(provider, name, a1, a2, a3, a4, a5, a6, a7, a8) \
	DTRACE_SDT_PROBE_(provider, name, 8, (a1, a2, a3, a4, a5, a6, a7, a8))
#define STAP_PROBE9(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9) \
	DTRACE_SDT_PROBE_(provider, name, 9, (a1, a2, a3, a4, a5, a6, a7, a8, a9))
#define STAP_PROBE10(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10) \
	DTRACE_SDT_PROBE_(provider, name, 10, (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10))
#define STAP_PROBE11(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11) \
	DTRACE_SDT_PROBE_(provider, name, 11, (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11))
#define STAP_PROBE12(provider, name, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12) \
	DTRACE_SDT_PROBE_(provider, name, 12, (a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12))

#ifdef SDT_USE_VARIADIC
#define STAP_PROBEV DTRACE_PROBEV
#endif

/*
 * STAP_PROBE_ASM() is a string for the template of an asm statement. The string
 * contains the probe. `operands` describes the probe's arguments, for example
 * -4@%%eax 8@$5. If the n arguments are C expressions, pass
 * STAP_PROBE_ASM_TEMPLATE(n) as `operands`, and write
 * STAP_PROBE_ASM_OPERANDS(n, expressions) in the inputs of the statement.
 */
#ifdef __ASSEMBLER__
#define STAP_PROBE_ASM DTRACE_PROBE_ASM
#else
#define STAP_PROBE_ASM(provider, ...) /* name, operands */                     \
	DTRACE_SDT_IN_ASM_(provider, __VA_ARGS__)
#define DTRACE_SDT_IN_ASM_(provider, ...)                                      \
	DTRACE_SDT_JOIN_(DTRACE_SDT_IN_ASM_, DTRACE_SDT_COUNT_(__VA_ARGS__))   \
	(provider, __VA_ARGS__)
#define DTRACE_SDT_IN_ASM_0(provider, name)                                    \
	DTRACE_SDT_IN_ASM_2(provider, name, "", template)
#define DTRACE_SDT_IN_ASM_1(provider, name, text)                              \
	DTRACE_SDT_IN_ASM_2(provider, name, ".ascii \"" #text "\"\n\t", template)
#define DTRACE_SDT_IN_ASM_2(provider, name, template, mark)                    \
	DTRACE_SDT_NOTE_TEXT_("\"?\",\"note\"",                                  \
	    DTRACE_SDT_NAMES_TEXT_(                                            \
		DTRACE_SDT_TEXT_(DTRACE_SDT_SEMAPHORE_(provider, name)),       \
		DTRACE_SDT_TEXT_(provider), DTRACE_SDT_TEXT_(name)), template)
#define STAP_PROBE_ASM_TEMPLATE(n) DTRACE_SDT_TEMPLATE_##n##_, template
#define STAP_PROBE_ASM_OPERANDS(n, ...) DTRACE_SDT_OPERANDS_##n##_(__VA_ARGS__)
#endif

#endif
