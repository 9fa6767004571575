// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Contains a kernel function to trace, and measures how long calls to this
 * function take. Parameters in /sys/module/traced/parameters:
 *
 *   calls   Write N to call traced_function() N times with interrupts off.
 *   loop    Write N to run a loop of two instructions N times. This checks
 *           `ticks`.
 *   ticks   The time stamp counter ticks that the last write to `calls` or
 *           `loop` took. With tests/vm/run --count-instructions, one tick is
 *           one instruction.
 *   empty   Write 1 to attach an empty ftrace callback to the function. Write
 *           0 to remove the callback.
 *   text    The first bytes of the function.
 */
#include <linux/compiler.h>
#include <linux/ftrace.h>
#include <linux/irqflags.h>
#include <linux/module.h>
#include <linux/timex.h>

static unsigned long calls, ticks, sum;
static bool empty;

noinline unsigned long traced_function(unsigned long a, unsigned long b);
noinline unsigned long traced_function(unsigned long a, unsigned long b)
{
	barrier();
	return a ^ b;
}

static int set_calls(const char *text, const struct kernel_param *param)
{
	int error = param_set_ulong(text, param);
	unsigned long flags, i, n = calls;

	if (error)
		return error;
	local_irq_save(flags);
	ticks = rdtsc_ordered();
	for (i = 0; i < n; i++)
		sum += traced_function(i, n);
	ticks = rdtsc_ordered() - ticks;
	local_irq_restore(flags);
	return 0;
}

static int set_loop(const char *text, const struct kernel_param *param)
{
	int error = param_set_ulong(text, param);
	unsigned long flags, n = *(unsigned long *)param->arg;

	if (error || !n)
		return error;
	local_irq_save(flags);
	ticks = rdtsc_ordered();
	asm volatile("1: dec %0\n\tjnz 1b" : "+r"(n));
	ticks = rdtsc_ordered() - ticks;
	local_irq_restore(flags);
	return 0;
}

static void nothing(unsigned long ip, unsigned long parent_ip, struct ftrace_ops *ops,
		    struct ftrace_regs *regs)
{
}

static struct ftrace_ops nothing_ops = {.func = nothing, .flags = FTRACE_OPS_FL_RECURSION};

static int set_empty(const char *text, const struct kernel_param *param)
{
	bool was = empty;
	int error = param_set_bool(text, param);

	if (error || empty == was)
		return error;
	if (!empty)
		return unregister_ftrace_function(&nothing_ops);
	error = ftrace_set_filter(&nothing_ops, "traced_function", strlen("traced_function"), 1);
	return error ?: register_ftrace_function(&nothing_ops);
}

static int get_text(char *buffer, const struct kernel_param *param)
{
	const u8 *at = (const u8 *)traced_function;

	OPTIMIZER_HIDE_VAR(at);
	return sprintf(buffer, "%16phN\n", at);
}

static const struct kernel_param_ops calls_ops = {.set = set_calls, .get = param_get_ulong};
static const struct kernel_param_ops loop_ops = {.set = set_loop, .get = param_get_ulong};
static const struct kernel_param_ops empty_ops = {.set = set_empty, .get = param_get_bool};
static const struct kernel_param_ops text_ops = {.get = get_text};
static unsigned long loop;

module_param_cb(calls, &calls_ops, &calls, 0600);
module_param_cb(loop, &loop_ops, &loop, 0600);
module_param_cb(empty, &empty_ops, &empty, 0600);
module_param_cb(text, &text_ops, NULL, 0400);
module_param(ticks, ulong, 0400);

static void __exit traced_end(void)
{
	if (empty)
		unregister_ftrace_function(&nothing_ops);
}

static int __init traced_begin(void)
{
	return 0;
}

module_init(traced_begin);
module_exit(traced_end);
MODULE_LICENSE("Dual MIT/GPL");
MODULE_DESCRIPTION("a function to be traced");
