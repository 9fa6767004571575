/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/*
 * The few types and macros that dif/ needs, without a libc.
 *
 * dif/ includes only its own headers. Only this file may depend on the
 * environment. All other files use the host's operations (dif/host.h).
 */
#ifndef DIF_TYPES_H
#define DIF_TYPES_H

#ifdef __KERNEL__
#include <linux/types.h>
#include <linux/build_bug.h>
#else
typedef __UINT8_TYPE__ dt_u8;
typedef __UINT16_TYPE__ dt_u16;
typedef __UINT32_TYPE__ dt_u32;
typedef __UINT64_TYPE__ dt_u64;
typedef __INT8_TYPE__ dt_s8;
typedef __INT16_TYPE__ dt_s16;
typedef __INT32_TYPE__ dt_s32;
typedef __INT64_TYPE__ dt_s64;
typedef __SIZE_TYPE__ dt_size;
#endif

#ifdef __KERNEL__
typedef u8 dt_u8;
typedef u16 dt_u16;
typedef u32 dt_u32;
typedef u64 dt_u64;
typedef s8 dt_s8;
typedef s16 dt_s16;
typedef s32 dt_s32;
typedef s64 dt_s64;
typedef size_t dt_size;
/*
 * Makes the interpreter use a switch instead of computed gotos, which the
 * kernel's unwinder does not follow.
 */
#define DT_NO_COMPUTED_GOTO
#endif

#ifdef __cplusplus
#define DT_STATIC_ASSERT(cond, text) static_assert(cond, text)
#else
#define DT_STATIC_ASSERT(cond, text) _Static_assert(cond, text)
#endif

#define DT_ALIGN(n, to) (((n) + ((to)-1)) & ~((__typeof__(n))(to)-1))

#endif
