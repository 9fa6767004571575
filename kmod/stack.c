// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Walks the kernel's stack with the kernel's unwinder (ORC). Walks the
 * process's stack with the consumer's tables (unwind.h), or with frame pointers
 * if there are no tables.
 *
 * If x->regs is null, the kernel has called our code to fire the probe. In that
 * case, the following frames of our code and of the kernel's tracing code are
 * omitted:
 *
 *   - If x->frame is set, the innermost frames with stack pointers up to
 *     x->frame.
 *   - Otherwise, the innermost frames in this module or between x->skip_begin
 *     and x->skip_end.
 */
#include "kmod/stack.h"

#include "kmod/consumer.h"
#include "kmod/unwind.h"

#include <linux/module.h>
#include <linux/sched.h>
#include <linux/sched/task_stack.h>
#include <linux/uaccess.h>

#include <asm/unwind.h>

static bool dt_is_ours(const struct dt_context *x, unsigned long pc)
{
	return within_module(pc, THIS_MODULE) ||
	       (pc >= x->skip_begin && pc < x->skip_end);
}

/* The program counters that a walk of the stack has found. */
struct dt_frames {
	u64 *pcs; /* null if frames are only counted */
	u32 n, max;
};

static bool dt_take(struct dt_frames *f, unsigned long pc)
{
	if (f->n >= f->max)
		return false;
	if (f->pcs)
		f->pcs[f->n] = pc;
	f->n++;
	return true;
}

static void dt_walk(const struct dt_context *x, struct dt_frames *f)
{
	struct unwind_state state;
	bool ours = !x->regs && !x->frame;
	unsigned long *first = NULL, pc;

	if (x->regs && user_mode(x->regs))
		return; /* a probe in user code has no kernel stack */
	/*
	 * If the unwinder is started with registers, it begins with the caller
	 * of the interrupted function. So the pc in the interrupted function is
	 * stored here.
	 */
	if (x->regs && !dt_take(f, instruction_pointer(x->regs)))
		return;
	/*
	 * The unwinder skips frames whose stack pointer is below `first`.
	 * Kernels differ in whether they skip a frame at `first` itself.
	 * `first` is odd here, so no stack pointer equals it.
	 */
	if (!x->regs && x->frame)
		first = (unsigned long *)(x->frame + 1);
	for (unwind_start(&state, current, x->regs, first);
	     !unwind_done(&state); unwind_next_frame(&state)) {
		pc = unwind_get_return_address(&state);
		if (!pc)
			break;
		if (ours && dt_is_ours(x, pc))
			continue;
		ours = false;
		if (!dt_take(f, pc))
			break;
	}
}

s64 dt_kernel_stack(const struct dt_context *x, u64 *pcs, u32 max)
{
	struct dt_frames f = {pcs, 0, max};

	dt_walk(x, &f);
	return f.n;
}

u64 dt_stack_depth(const struct dt_context *x)
{
	struct dt_frames f = {NULL, 0, 1024};

	dt_walk(x, &f);
	return f.n;
}

u64 dt_caller(const struct dt_context *x)
{
	u64 pcs[2];

	if (x->caller)
		return x->caller;
	return dt_kernel_stack(x, pcs, 2) > 1 ? pcs[1] : 0;
}

/*
 * Finds the frame of the caller with the frame pointer, and stores it in *f.
 * Returns false if there is no caller. If `first` and x->at_call are set, the
 * return address is still at the stack pointer.
 */
static bool dt_by_pointer(const struct dt_context *x, struct dt_user_frame *f, bool first)
{
	unsigned long at = f->bp;

	if (first && x->at_call && dt_user_word(f->sp, &f->pc)) {
		f->sp += sizeof(f->pc);
		return f->pc;
	}
	if (!at || at & 7 || at < f->sp || !dt_user_word(at, &f->bp) ||
	    !dt_user_word(at + sizeof(at), &f->pc))
		return false;
	f->sp = at + 2 * sizeof(at);
	return f->pc;
}

s64 dt_user_stack(const struct dt_context *x, u64 *pcs, u32 max)
{
	struct pt_regs *regs = task_pt_regs(current);
	struct dt_unwind *unwind = smp_load_acquire(&x->consumer->unwind);
	struct dt_user_frame f = {regs->ip, regs->sp, regs->bp};
	enum dt_unwound how = DT_INTERRUPTED;
	u32 n = 0;

	if (!current->mm || !user_mode(regs) || !max)
		return 0;
	for (;;) {
		pcs[n++] = f.pc;
		if (n == max)
			break;
		how = unwind ? dt_unwind_step(unwind, &f, f.pc - (how != DT_INTERRUPTED))
			     : DT_NO_RULE;
		if (how == DT_OUTERMOST || (how == DT_NO_RULE && !dt_by_pointer(x, &f, n == 1)))
			break;
	}
	return n;
}
