/* SPDX-License-Identifier: MIT */
/*
 * Gives enter.S the offsets and constants that C headers declare. The build
 * compiles this file to assembly text and writes the lines that begin with "@@"
 * to asm_offsets.h.
 */
#include "dif/arena.h"
#include "ptrace-agent/runtime/runtime.h"

#define OFFSET(name, type, member)                                             \
	__asm__ volatile("\n@@ #define " #name " %c0" ::"i"(                   \
	    __builtin_offsetof(struct type, member)))
#define CONSTANT(name)                                                         \
	__asm__ volatile("\n@@ #define ASM_" #name " %c0" ::"i"(name))

#define SIZE(name, type)                                                       \
	__asm__ volatile("\n@@ #define " #name " %c0" ::"i"(sizeof(struct type)))

void dt_rt_offsets(void);
void dt_rt_offsets(void)
{
	CONSTANT(DT_RT_CONFIG);
	CONSTANT(DT_RT_LIVE);
	CONSTANT(DT_RT_STACK_BYTES);
	CONSTANT(DT_RT_GATE);
	CONSTANT(DT_RT_AWAY);
	CONSTANT(DT_RT_NOTES_BYTES);
	CONSTANT(DT_RT_NOTES_HOLDER);
	CONSTANT(DT_ACTIVITY_ACTIVE);
	CONSTANT(DT_RT_MAX_SESSIONS);
	CONSTANT(DT_RT_GENERIC_BYTES);
	CONSTANT(DT_RT_CONDITIONS);
	OFFSET(CONFIG_SESSIONS, dt_rt_config, sessions);
	SIZE(RT_SESSION_BYTES, dt_rt_session);
	OFFSET(RT_SESSION_ARENA, dt_rt_session, arena);
	OFFSET(RT_SESSION_SHARDS, dt_rt_session, shards);
	OFFSET(RT_SESSION_SHARD_BYTES, dt_rt_session, shard_bytes);
	OFFSET(RT_SESSION_STACKS, dt_rt_session, stacks);
	OFFSET(RT_SESSION_N_SHARDS, dt_rt_session, n_shards);
	OFFSET(CONFIG_PID, dt_rt_config, pid);
	OFFSET(CONFIG_CPU_METHOD, dt_rt_config, cpu_method);
	OFFSET(CONFIG_ALIVE, dt_rt_config, alive);
	OFFSET(CONFIG_GATHER, dt_rt_config, gather);
	OFFSET(CONFIG_MASKED_TID, dt_rt_config, masked_tid);
	OFFSET(CONFIG_AWAY, dt_rt_config, away);
	OFFSET(CONFIG_MASK_NOW, dt_rt_config, mask_now);
	OFFSET(CONFIG_MASK_BEFORE, dt_rt_config, mask_before);
	OFFSET(CONFIG_SITES, dt_rt_config, sites);
	OFFSET(SITE_BACK, dt_rt_site, back);
	OFFSET(SITE_N_FIRINGS, dt_rt_site, n_firings);
	OFFSET(SITE_CODE, dt_rt_site, code);
	OFFSET(FRAME_R11, dt_rt_frame, r11);
	OFFSET(FRAME_R10, dt_rt_frame, r10);
	OFFSET(FRAME_R9, dt_rt_frame, r9);
	OFFSET(FRAME_R8, dt_rt_frame, r8);
	OFFSET(FRAME_RDI, dt_rt_frame, rdi);
	OFFSET(FRAME_RSI, dt_rt_frame, rsi);
	OFFSET(FRAME_RDX, dt_rt_frame, rdx);
	OFFSET(FRAME_BACK, dt_rt_frame, back);
	OFFSET(FRAME_LOCK, dt_rt_frame, lock);
	OFFSET(FRAME_USER_RSP, dt_rt_frame, user_rsp);
	SIZE(FRAME_BYTES, dt_rt_frame);
	OFFSET(ARENA_SESSION, dt_arena, session);
	OFFSET(SESSION_ACTIVITY, dt_session, activity);
	OFFSET(SESSION_NOSHARD, dt_session, drops[DTRACEDROP_NOSHARD]);
}
