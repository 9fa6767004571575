/* SPDX-License-Identifier: MIT */
/*
 * ustack() walks the stack with the rules that the agent wrote (struct
 * dt_rt_rule).
 *
 *   pc of the site ─ rule ─▶ CFA ─ word below it ─▶ pc - 1 of the caller ─ rule ─▶ ...
 *
 * The result is always the same as the result of the agent's own walk. The
 * runtime requests the entire stack from the agent in these cases:
 *
 *   - a pc has no rule; the agent then adds the missing rules
 *   - a step does not move up the stack, or leaves the range of readable memory
 *     that contains the stack pointer
 *   - only one frame was found
 *   - the agent removed rules during the walk
 *
 * Each shard has notes (struct dt_rt_notes). They contain the most recent walks
 * on the shard, with the words of the target's stack that each walk has read.
 * If a noted walk began at the same site with the same registers, and its words
 * are unchanged, dt_rt_again() returns its frames, and the stack is not walked
 * again.
 */
#include "ptrace-agent/runtime/host.h"

static const struct dt_rt_rule *dt_rt_rule_of(dt_u64 at)
{
	const struct dt_rt_rule *rules = dt_rt_config.rules;
	dt_u32 slot = dt_rt_rule_slot(at);

	for (dt_u32 i = 0; i < DT_RT_RULE_REACH; i++) {
		const struct dt_rt_rule *r =
		    &rules[(slot + i) & (DT_RT_MAX_RULES - 1)];
		dt_u64 key = __atomic_load_n(&r->at, __ATOMIC_ACQUIRE);

		if (DT_LIKELY(key == at))
			return r;
		if (!key)
			break;
	}
	return DT_NULL;
}

/*
 * A frame's registers, from which a rule finds the caller. Words at `end` or
 * above cannot be read.
 */
struct dt_rt_place {
	dt_u64 sp, bp;
	dt_u64 end;
};

DT_INLINE int dt_rt_stack_word(const struct dt_rt_place *p, dt_u64 addr,
			       dt_u64 *value)
{
	if (DT_UNLIKELY(addr < p->sp || addr >= p->end))
		return -1;
	return dt_rt_peek(addr, value);
}

DT_INLINE int dt_rt_cfa(const struct dt_rt_place *p,
			const struct dt_rt_rule *rule, dt_u64 *cfa)
{
	dt_u64 offset = (dt_u64)(dt_s64)rule->cfa;

	if (rule->from == DT_RT_FROM_RSP)
		*cfa = p->sp + offset;
	else if (DT_LIKELY(rule->from == DT_RT_FROM_RBP))
		*cfa = p->bp + offset;
	else
		return dt_rt_stack_word(p, p->bp + offset, cfa);
	return 0;
}

/*
 * Finds the caller through the frame pointer, for a frame in text without
 * unwind information. Returns -1 if the agent must walk this stack.
 */
DT_INLINE int dt_rt_guess(struct dt_rt_place *p, struct dt_rt_noted *words)
{
	if (!p->bp)
		return 0;
	words->bp_at = p->bp;
	words->pc_at = p->bp + sizeof(words->bp);
	if (p->bp - p->sp > DT_RT_GUESS_REACH ||
	    dt_rt_stack_word(p, words->bp_at, &words->bp) != 0 ||
	    dt_rt_stack_word(p, words->pc_at, &words->pc) != 0)
		return -1;
	p->bp = words->bp;
	p->sp += sizeof(words->bp) + sizeof(words->pc);
	return 0;
}

/*
 * Finds the caller of a frame, and stores in `words` the words that it has
 * read. Sets words->pc to 0 if the frame has no caller. Returns -1 if the agent
 * must walk this stack.
 */
DT_INLINE int dt_rt_caller(struct dt_rt_place *p, const struct dt_rt_rule *rule,
			   struct dt_rt_noted *words)
{
	dt_u64 cfa, base;

	words->pc = 0;
	if (rule->from == DT_RT_FROM_NONE)
		return 0;
	if (DT_UNLIKELY(rule->from == DT_RT_FROM_GUESS))
		return dt_rt_guess(p, words);
	if (dt_rt_cfa(p, rule, &cfa) != 0 || cfa <= p->sp)
		return -1;
	words->pc_at = words->bp_at = cfa - sizeof(words->pc);
	if (dt_rt_stack_word(p, words->pc_at, &words->pc) != 0)
		return -1;
	words->bp = words->pc;
	if (rule->rbp_from != DT_RT_FROM_NONE) {
		base = rule->rbp_from == DT_RT_FROM_CFA ? cfa : p->bp;
		words->bp_at = base + (dt_u64)(dt_s64)rule->rbp;
		if (dt_rt_stack_word(p, words->bp_at, &words->bp) != 0)
			return -1;
		p->bp = words->bp;
	}
	p->sp = cfa;
	return 0;
}

/*
 * Stores frames in pcs and returns their number, or 0 if the agent must walk
 * this stack. Records the walk in `to`. In these cases, it is not recorded, and
 * to->at is 0:
 *   - the walk has only one frame, or more than DT_RT_NOTED_FRAMES
 *   - a rule with DT_RT_FROM_AT_RBP was used; it reads the word that contains
 *     the CFA, and the notes have no place for this word
 */
static __attribute__((noinline)) dt_u32 dt_rt_walk(struct dt_rt_run *run,
						   dt_u64 *pcs, dt_u32 max,
						   struct dt_rt_noted_stack *to)
{
	const struct dt_rt_frame *frame = run->frame;
	dt_u32 n = 0, seq = dt_acquire32(&dt_rt_config.rules_seq), plain = 1;
	struct dt_rt_place p = {frame->rsp, frame->rbp, frame->rsp};
	dt_u64 pc = run->site->at, at = pc;

	to->at = 0;
	to->ranges_seq = dt_acquire32(&dt_rt_config.ranges_seq);
	p.end += dt_rt_known(run, p.sp) - (sizeof(pc) - 1);
	while (pc) {
		const struct dt_rt_rule *rule;
		struct dt_rt_noted over, *words = &over;

		pcs[n++] = pc;
		if (n == max)
			break;
		if (DT_LIKELY(n <= DT_RT_NOTED_FRAMES))
			words = &to->frames[n - 1];
		rule = dt_rt_rule_of(at);
		if (!rule || dt_rt_caller(&p, rule, words) != 0)
			return 0;
		plain &= rule->from != DT_RT_FROM_AT_RBP;
		pc = words->pc;
		at = pc - 1;
	}
	/*
	 * If the rules find only one frame, the agent may find more
	 * (ptrace-agent/unwind.hpp).
	 */
	if (DT_UNLIKELY((seq & 1) || (n == 1 && max > 1)))
		return 0;
	__atomic_thread_fence(__ATOMIC_ACQUIRE);
	if (DT_UNLIKELY(dt_once32(&dt_rt_config.rules_seq) != seq))
		return 0;
	if (DT_LIKELY(plain && n > 1 && n <= DT_RT_NOTED_FRAMES)) {
		to->sp = frame->rsp;
		to->bp = frame->rbp;
		to->rules_seq = seq;
		to->max = max;
		to->n = n - 1;
		to->at = run->site->at;
	}
	return n;
}

/*
 * Checks whether `noted` is a walk from the same site with the same registers,
 * and whether all words that this walk read are unchanged. If so, stores the
 * frames of the walk in pcs and returns their number. Otherwise returns 0.
 */
DT_INLINE dt_u32 dt_rt_again(struct dt_rt_run *run, dt_u64 *pcs, dt_u32 max,
			     const struct dt_rt_noted_stack *noted)
{
	const struct dt_rt_config *config = &dt_rt_config;
	const struct dt_rt_frame *frame = run->frame;

	if (noted->at != run->site->at || noted->sp != frame->rsp ||
	    noted->bp != frame->rbp || noted->max != max ||
	    noted->ranges_seq != dt_acquire32(&config->ranges_seq) ||
	    noted->rules_seq != dt_acquire32(&config->rules_seq) ||
	    dt_rt_changed(noted->frames, noted->n, pcs + 1))
		return 0;
	pcs[0] = noted->at;
	return noted->n + 1;
}

dt_s64 dt_rt_ustack(struct dt_host *host, dt_u64 *pcs, dt_u32 max)
{
	struct dt_rt_run *run = dt_rt_run_of(host);
	struct dt_rt_noted_stack *noted =
	    &run->notes->stacks[run->frame->site & (DT_RT_NOTED_STACKS - 1)];
	dt_u64 n = 0;

	if (!max)
		return 0;
	n = dt_rt_again(run, pcs, max, noted);
	if (DT_UNLIKELY(!n))
		n = dt_rt_walk(run, pcs, max, noted);
	if (DT_LIKELY(n))
		return (dt_s64)n;
	if (dt_rt_ask(run, DT_RT_UP_USTACK, (dt_u64)pcs, max, 0, &n) != 0)
		return -1;
	return (dt_s64)(n < max ? n : max);
}
