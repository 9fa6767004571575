/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * D's subroutines, one row each: name, DIF number, D prototype, availability.
 *
 * A prototype is "result(parameter, ..., [optional parameter])". Numbers up to
 * 55 are FreeBSD's. link_ntop() has the number 45 in Oracle Linux and 56 here.
 * Availability:
 *   ANY     in every host
 *   WRITE   in every host; destructive, needs -w
 *   KERNEL  only in the kernel; in other hosts the compiler refuses it
 *   NONE    exists only on other systems; the compiler refuses it by name
 */
#ifndef DIF_SUBRS_H
#define DIF_SUBRS_H

/* clang-format off */
#define DIF_SUBRS(X) /* X(name, number, D prototype, availability) */ \
	X(rand,                 0, "int()",                                  ANY)    \
	X(mutex_owned,          1, "int(void *)",                            KERNEL) \
	X(mutex_owner,          2, "void *(void *)",                         KERNEL) \
	X(mutex_type_adaptive,  3, "int(void *)",                            KERNEL) \
	X(mutex_type_spin,      4, "int(void *)",                            KERNEL) \
	X(rw_read_held,         5, "int(void *)",                            KERNEL) \
	X(rw_write_held,        6, "int(void *)",                            KERNEL) \
	X(rw_iswriter,          7, "int(void *)",                            KERNEL) \
	X(copyin,               8, "void *(uintptr_t, size_t)",              ANY)    \
	X(copyinstr,            9, "string(uintptr_t, [size_t])",            ANY)    \
	X(speculation,         10, "int()",                                  ANY)    \
	X(progenyof,           11, "int(pid_t)",                             ANY)    \
	X(strlen,              12, "size_t(const char *)",                   ANY)    \
	X(copyout,             13, "void(void *, uintptr_t, size_t)",        WRITE)  \
	X(copyoutstr,          14, "void(char *, uintptr_t, size_t)",        WRITE)  \
	X(alloca,              15, "void *(size_t)",                         ANY)    \
	X(bcopy,               16, "void(void *, void *, size_t)",           ANY)    \
	X(copyinto,            17, "void(uintptr_t, size_t, void *)",        ANY)    \
	X(msgdsize,            18, "size_t(void *)",                         NONE)   \
	X(msgsize,             19, "size_t(void *)",                         NONE)   \
	X(getmajor,            20, "uint_t(uint64_t)",                       ANY)    \
	X(getminor,            21, "uint_t(uint64_t)",                       ANY)    \
	X(ddi_pathname,        22, "string(void *, int64_t)",                NONE)   \
	X(strjoin,             23, "string(const char *, const char *)",     ANY)    \
	X(lltostr,             24, "string(int64_t, [int])",                 ANY)    \
	X(basename,            25, "string(const char *)",                   ANY)    \
	X(dirname,             26, "string(const char *)",                   ANY)    \
	X(cleanpath,           27, "string(const char *)",                   ANY)    \
	X(strchr,              28, "string(const char *, char)",             ANY)    \
	X(strrchr,             29, "string(const char *, char)",             ANY)    \
	X(strstr,              30, "string(const char *, const char *)",     ANY)    \
	X(strtok,              31, "string(const char *, const char *)",     ANY)    \
	X(substr,              32, "string(const char *, int, [int])",       ANY)    \
	X(index,               33, "int(const char *, const char *, [int])", ANY)    \
	X(rindex,              34, "int(const char *, const char *, [int])", ANY)    \
	X(htons,               35, "uint16_t(uint16_t)",                     ANY)    \
	X(htonl,               36, "uint32_t(uint32_t)",                     ANY)    \
	X(htonll,              37, "uint64_t(uint64_t)",                     ANY)    \
	X(ntohs,               38, "uint16_t(uint16_t)",                     ANY)    \
	X(ntohl,               39, "uint32_t(uint32_t)",                     ANY)    \
	X(ntohll,              40, "uint64_t(uint64_t)",                     ANY)    \
	X(inet_ntop,           41, "string(int, void *)",                    ANY)    \
	X(inet_ntoa,           42, "string(ipaddr_t *)",                     ANY)    \
	X(inet_ntoa6,          43, "string(struct in6_addr *)",              ANY)    \
	X(toupper,             44, "string(const char *)",                   ANY)    \
	X(tolower,             45, "string(const char *)",                   ANY)    \
	X(memref,              46, "uintptr_t *(void *, size_t)",            NONE)   \
	X(sx_shared_held,      47, "int(void *)",                            NONE)   \
	X(sx_exclusive_held,   48, "int(void *)",                            NONE)   \
	X(sx_isexclusive,      49, "int(void *)",                            NONE)   \
	X(memstr,              50, "string(void *, char, size_t)",           ANY)    \
	X(getf,                51, "void *(int)",                            KERNEL) \
	X(json,                52, "string(const char *, const char *)",     ANY)    \
	X(strtoll,             53, "int64_t(const char *, [int])",           ANY)    \
	X(link_ntop,           56, "string(int, void *)",                    ANY)
/* clang-format on */

enum dif_subr {
#define X(name, number, prototype, where) DIF_SUBR_##name = number,
	DIF_SUBRS(X)
#undef X
	DIF_SUBR_MAX = 56
};

#endif
