/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * D's built-in variables, one row each: name, DIF number, D type, source.
 *
 * The numbers 0x010 to 0x016, and all numbers from 0x210 on, do not exist on
 * other systems. All other numbers are the same as in DTrace on other systems.
 * The numbers 0x121 and 0x200 are FreeBSD's.
 *
 * Sources:
 *   ENGINE  the engine computes the value (probe, clause, time)
 *   ARG     an argument of the probe
 *   NUMBER  host operation var(), an integer
 *   STRING  host operation var_string()
 *   KERNEL  only available in the kernel; in other hosts it is refused
 *   TYPED   the compiler generates loads that depend on the types of args[]
 */
#ifndef DIF_VARS_H
#define DIF_VARS_H

/* clang-format off */
/*
 * The members of fds[n]. The file descriptor is the low 32 bits of n. If it is
 * not open, strings are "<none>" and numbers are 0.
 */
#define DIF_VAR_FILES(X) /* X(name, number, D type, source) */ \
	X(fi_name,       0x010, "string",     STRING) \
	X(fi_dirname,    0x011, "string",     STRING) \
	X(fi_pathname,   0x012, "string",     STRING) \
	X(fi_offset,     0x013, "offset_t",   NUMBER) \
	X(fi_fs,         0x014, "string",     STRING) \
	X(fi_mount,      0x015, "string",     STRING) \
	X(fi_oflags,     0x016, "int",        NUMBER)

#define DIF_VAR_ARRAYS(X) \
	X(args,          0x000, "@",          TYPED)  \
	X(uregs,         0x002, "uint64_t",   NUMBER) \
	DIF_VAR_FILES(X)

#define DIF_VAR_SCALARS(X) \
	X(curthread,     0x100, "void *",     KERNEL) \
	X(timestamp,     0x101, "uint64_t",   ENGINE) \
	X(vtimestamp,    0x102, "uint64_t",   ENGINE) \
	X(ipl,           0x103, "uint_t",     NUMBER) \
	X(epid,          0x104, "uint_t",     ENGINE) \
	X(id,            0x105, "uint_t",     ENGINE) \
	X(arg0,          0x106, "int64_t",    ARG)    \
	X(arg1,          0x107, "int64_t",    ARG)    \
	X(arg2,          0x108, "int64_t",    ARG)    \
	X(arg3,          0x109, "int64_t",    ARG)    \
	X(arg4,          0x10a, "int64_t",    ARG)    \
	X(arg5,          0x10b, "int64_t",    ARG)    \
	X(arg6,          0x10c, "int64_t",    ARG)    \
	X(arg7,          0x10d, "int64_t",    ARG)    \
	X(arg8,          0x10e, "int64_t",    ARG)    \
	X(arg9,          0x10f, "int64_t",    ARG)    \
	X(stackdepth,    0x110, "uint32_t",   KERNEL) \
	X(caller,        0x111, "uintptr_t",  KERNEL) \
	X(probeprov,     0x112, "string",     ENGINE) \
	X(probemod,      0x113, "string",     ENGINE) \
	X(probefunc,     0x114, "string",     ENGINE) \
	X(probename,     0x115, "string",     ENGINE) \
	X(pid,           0x116, "pid_t",      NUMBER) \
	X(tid,           0x117, "id_t",       NUMBER) \
	X(execname,      0x118, "string",     STRING) \
	X(zonename,      0x119, "string",     STRING) \
	X(walltimestamp, 0x11a, "int64_t",    ENGINE) \
	X(ustackdepth,   0x11b, "uint32_t",   ENGINE) \
	X(ucaller,       0x11c, "uint64_t",   ENGINE) \
	X(ppid,          0x11d, "pid_t",      NUMBER) \
	X(uid,           0x11e, "uid_t",      NUMBER) \
	X(gid,           0x11f, "gid_t",      NUMBER) \
	X(errno,         0x120, "int",        NUMBER) \
	X(execargs,      0x121, "string",     STRING) \
	X(jid,           0x122, "int",        NUMBER) \
	X(jailname,      0x123, "string",     STRING) \
	X(cpu,           0x200, "int",        ENGINE) \
	X(cwd,           0x210, "string",     STRING) \
	X(root,          0x211, "string",     STRING) \
	X(pr_pgid,       0x212, "pid_t",      NUMBER) \
	X(pr_sid,        0x213, "pid_t",      NUMBER) \
	X(pr_euid,       0x214, "uid_t",      NUMBER) \
	X(pr_egid,       0x215, "gid_t",      NUMBER) \
	X(pr_psargs,     0x216, "string",     STRING)

/*
 * The indices of uregs[] in a 64-bit x86 process, in the order of illumos'
 * <sys/regset.h>. The second table contains alternative names. A 32-bit name
 * refers to the full 64-bit register.
 */
#define DIF_UREGS_AMD64(X) /* X(name, index) */ \
	X(R_R15,     0) X(R_R14,     1) X(R_R13,     2) X(R_R12,     3) \
	X(R_R11,     4) X(R_R10,     5) X(R_R9,      6) X(R_R8,      7) \
	X(R_RDI,     8) X(R_RSI,     9) X(R_RBP,    10) X(R_RBX,    11) \
	X(R_RDX,    12) X(R_RCX,    13) X(R_RAX,    14) X(R_TRAPNO, 15) \
	X(R_ERR,    16) X(R_RIP,    17) X(R_CS,     18) X(R_RFL,    19) \
	X(R_RSP,    20) X(R_SS,     21) X(R_FS,     22) X(R_GS,     23) \
	X(R_ES,     24) X(R_DS,     25) X(R_FSBASE, 26) X(R_GSBASE, 27)
#define DIF_UREG_ALIASES_AMD64(X) \
	X(R_PC,     17) X(R_SP,     20) X(R_FP,     10) X(R_PS,     19) \
	X(R_R0,     14) X(R_R1,     12)                                 \
	X(R_EAX,    14) X(R_EBX,    11) X(R_ECX,    13) X(R_EDX,    12) \
	X(R_ESI,     9) X(R_EDI,     8) X(R_EBP,    10) X(R_ESP,    20) \
	X(R_EIP,    17) X(R_EFL,    19) X(R_UESP,   20)
#define DIF_UREGS_AMD64_N 28
/* clang-format on */

enum dif_var {
#define X(name, number, type, source) DIF_VAR_##name = number,
	DIF_VAR_ARRAYS(X) DIF_VAR_SCALARS(X)
#undef X
	DIF_VAR_ARRAY_UBASE = 0x80, /* first user array */
	DIF_VAR_ARRAY_MAX = 0xff,
	DIF_VAR_OTHER_MIN = 0x100, /* first built-in scalar */
	DIF_VAR_OTHER_UBASE = 0x500, /* first user variable */
	DIF_VAR_OTHER_MAX = 0xffff,
};

/* Kinds, scopes and flags in the variable table of a DIFO. */
#define DIFV_KIND_ARRAY 0
#define DIFV_KIND_SCALAR 1
#define DIFV_SCOPE_GLOBAL 0
#define DIFV_SCOPE_THREAD 1
#define DIFV_SCOPE_LOCAL 2
#define DIFV_F_REF 0x1 /* the DIFO reads the variable */
#define DIFV_F_MOD 0x2 /* the DIFO writes the variable */

#endif
