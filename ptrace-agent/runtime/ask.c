/* SPDX-License-Identifier: MIT */
/*
 * Upcalls: requests to the agent for operations that the runtime cannot do
 * itself. See "Asking the agent" in runtime.h.
 */
#include "ptrace-agent/runtime/host.h"

#define DT_OWNER_DIED 0x40000000u /* FUTEX_OWNER_DIED */
/*
 * The maximum number of writes to the bells for one upcall. Some writes return
 * without a reply (runtime.h). The runtime then writes to the other bell. The
 * limit exceeds the number of threads that can write to a bell at once.
 */
#define DT_RT_RINGS 4096

static int dt_rt_agent_died(void)
{
	return (dt_once32(&dt_rt_config.alive) & DT_OWNER_DIED) != 0;
}

/*
 * Returns whether the runtime may execute an int3, which makes an upcall on a
 * kernel without doorbells. If the session's lease has expired, the agent may
 * be dead, and the int3 would kill the target.
 */
static int dt_rt_may_trap(const struct dt_rt_run *run)
{
	const struct dt_arena *arena = run->host.arena;
	const struct dt_session *session = dt_at(arena, arena->session);
	dt_u64 lease = dt_once64(&session->lease_until);
	const struct dt_shard *shard =
	    dt_at(arena, arena->shards + run->host.shard * arena->shard_bytes);

	/*
	 * The shard's last time is used, because reading the current time may
	 * need the agent.
	 */
	return !lease || shard->last_timestamp <= lease;
}

/*
 * Rings until the agent has replied. `stack` is the number of the stack that
 * contains the upcall.
 */
static void dt_rt_ring(dt_u32 stack, struct dt_rt_upcall *call)
{
	dt_u64 bells =
	    (dt_u64)&dt_rt_config - DT_RT_CONFIG + DT_RT_BELLS;

	if (!dt_rt_config.has_bells) {
		dt_rt_upcall(call);
		return;
	}
	for (dt_u32 i = 0; i < DT_RT_RINGS && !dt_rt_agent_died(); i++) {
		dt_u64 bell = bells + (i & 1) * DT_RT_BELL_BYTES;

		__atomic_store_n(
		    (dt_u32 *)(bell + DT_RT_BELL_WORD(stack)), i,
		    __ATOMIC_SEQ_CST);
		if (__atomic_load_n(&call->answered, __ATOMIC_ACQUIRE))
			return;
	}
}

int dt_rt_ask(struct dt_rt_run *run, dt_u32 op, dt_u64 a0, dt_u64 a1, dt_u64 a2,
	      dt_u64 *value)
{
	struct dt_rt_frame *frame = run->frame;
	const struct dt_rt_session *session =
		&dt_rt_config.sessions[run->site->session];
	/* The upcall is at the lowest address of the shard's stack. */
	struct dt_rt_upcall *call =
		(struct dt_rt_upcall *)(session->stacks +
					frame->shard * DT_RT_STACK_BYTES);

	if (dt_rt_agent_died() ||
	    (!dt_rt_config.has_bells && !dt_rt_may_trap(run)))
		return -1;
	call->op = op;
	call->result = -1;
	call->frame = (dt_u64)frame;
	call->a[0] = a0;
	call->a[1] = a1;
	call->a[2] = a2;
	call->value = 0;
	__atomic_store_n(&call->answered, 0, __ATOMIC_RELEASE);
	dt_rt_ring(session->first_stack + frame->shard, call);
	*value = call->value;
	return call->result == 0 ? 0 : -1;
}
