/* SPDX-License-Identifier: MIT */
/*
 * The rows of uregs[]. The indexes are those of the amd64 register set in
 * <sys/regset.h> of illumos. A row contains the name in D, the index and the
 * source of the value:
 *
 *   GPR    a general register, by its name
 *   STATE  other state of the thread that a host knows: rip, rflags, fs_base, gs_base
 *   CONST  a value that is the same for every user thread
 */
#ifndef PTRACE_AGENT_RUNTIME_UREGS_H
#define PTRACE_AGENT_RUNTIME_UREGS_H

/* clang-format off */
#define AGENT_UREGS(GPR, STATE, CONST) \
	GPR(R_R15, 0, r15)            GPR(R_R14, 1, r14)            \
	GPR(R_R13, 2, r13)            GPR(R_R12, 3, r12)            \
	GPR(R_R11, 4, r11)            GPR(R_R10, 5, r10)            \
	GPR(R_R9, 6, r9)              GPR(R_R8, 7, r8)              \
	GPR(R_RDI, 8, rdi)            GPR(R_RSI, 9, rsi)            \
	GPR(R_RBP, 10, rbp)           GPR(R_RBX, 11, rbx)           \
	GPR(R_RDX, 12, rdx)           GPR(R_RCX, 13, rcx)           \
	GPR(R_RAX, 14, rax)           CONST(R_TRAPNO, 15, 3 /* #BP */) \
	CONST(R_ERR, 16, 0)           STATE(R_RIP, 17, rip)         \
	CONST(R_CS, 18, 0x33)         STATE(R_RFL, 19, rflags)      \
	GPR(R_RSP, 20, rsp)           CONST(R_SS, 21, 0x2b)         \
	CONST(R_FS, 22, 0)            CONST(R_GS, 23, 0)            \
	CONST(R_ES, 24, 0)            CONST(R_DS, 25, 0)            \
	STATE(R_FSBASE, 26, fs_base)  STATE(R_GSBASE, 27, gs_base)
/* clang-format on */

#endif
