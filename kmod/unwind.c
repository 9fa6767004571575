// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Keeps the unwind tables of files and the maps of processes (unwind.h).
 *
 * A table is kept until its consumer is closed. Newer maps of a process replace
 * the older ones. Maps may be freed when no task uses the memory of the
 * process. Only probes in threads that use this memory read the maps, and only
 * if RCU is watching.
 *
 * A process may map another file at the address of a map. So maps that are at
 * least one second old are renewed if a probe uses them. The consumer asks this
 * module for processes with such maps, and passes their current maps. Several
 * processes may share one mm. The reported process is one that has used the
 * maps.
 */
#include "kmod/unwind.h"

#include "kmod/consumer.h"
#include "kmod/process.h"

#include <linux/hash.h>
#include <linux/jiffies.h>
#include <linux/pid.h>
#include <linux/pid_namespace.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/uaccess.h>

#define DT_MAX_TABLES 8192u
#define DT_MAX_RULES (1u << 22)	  /* per table */
#define DT_ALL_RULES (1ull << 25) /* per consumer; they use 400 MB */
#define DT_MAX_MAPS (1u << 16)	  /* per process */
#define DT_MAX_PROCESSES (1u << 16)
#define DT_BUCKET_BITS 10
#define DT_STRANGERS 64u

/* The unwind rules of a file. */
struct dt_rules {
	u32 n;
	struct dtk_unwind_rule rules[];
};

struct dt_process {
	struct dt_process *next; /* in its bucket */
	struct dt_process *gone; /* next in the list of removed processes */
	struct mm_struct *mm;
	/*
	 * time in jiffies when the maps were last passed by the consumer, or
	 * last requested from it
	 */
	unsigned long told_at;
	/*
	 * True if the consumer has passed the same maps at least twice in a
	 * row. If a probe then finds an address outside the maps, new maps are
	 * requested through `strangers` at most once per second.
	 */
	bool is_same;
	/*
	 * id, in the initial PID namespace, of a process that has used the maps
	 * since told_at, or 0
	 */
	u32 used_by;
	u32 n;
	struct dtk_unwind_map maps[];
};

struct dt_unwind {
	u32 n_tables, n_processes;
	u64 n_rules;
	struct dt_rules *tables[DT_MAX_TABLES];
	struct dt_process *buckets[1 << DT_BUCKET_BITS];
	/*
	 * ids, in the initial PID namespace, of processes whose maps are
	 * missing or incomplete; the consumer must pass new maps for them; 0 in
	 * a free entry
	 */
	u32 strangers[DT_STRANGERS];
};

bool dt_user_word(unsigned long at, unsigned long *value)
{
	return at < TASK_SIZE_MAX - sizeof(*value) &&
	       !copy_from_user_nofault(value, (const void __user *)at, sizeof(*value));
}

static struct dt_process **dt_bucket(struct dt_unwind *u, const struct mm_struct *mm)
{
	return &u->buckets[hash_ptr(mm, DT_BUCKET_BITS)];
}

static struct dt_process *dt_process_of(struct dt_unwind *u, const struct mm_struct *mm)
{
	struct dt_process *p = READ_ONCE(*dt_bucket(u, mm));

	while (p && p->mm != mm)
		p = READ_ONCE(p->next);
	return p;
}

static const struct dtk_unwind_map *dt_map_of(const struct dt_process *p, unsigned long at)
{
	u32 low = 0, high = p ? p->n : 0, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (p->maps[middle].end <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return p && low < p->n && p->maps[low].start <= at ? &p->maps[low] : NULL;
}

/* Returns the last rule that begins at or before the address, or null. */
static const struct dtk_unwind_rule *dt_rule_of(const struct dt_rules *table, u64 at)
{
	u32 low = 0, high = table->n, middle;

	while (low < high) {
		middle = low + (high - low) / 2;
		if (table->rules[middle].at <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &table->rules[low - 1] : NULL;
}

/*
 * Changes @frame from the frame of the code that calls rt_sigreturn() to the
 * frame of the code that the signal interrupted. On entry, the frame's stack
 * pointer is the address of the signal's struct ucontext, which contains the
 * registers of the interrupted code.
 */
static enum dt_unwound dt_out_of_signal(struct dt_user_frame *frame)
{
	enum { GREGS = 40, RBP = GREGS + 10 * 8, RSP = GREGS + 15 * 8, RIP = GREGS + 16 * 8 };
	unsigned long at = frame->sp;

	if (!dt_user_word(at + RBP, &frame->bp) || !dt_user_word(at + RSP, &frame->sp) ||
	    !dt_user_word(at + RIP, &frame->pc))
		return DT_OUTERMOST;
	return DT_INTERRUPTED;
}

static enum dt_unwound dt_by_rule(const struct dtk_unwind_rule *rule, struct dt_user_frame *frame)
{
	unsigned long cfa, base, pc, bp = frame->bp;

	switch (rule->from) {
	case DTK_UNWIND_RSP:
		cfa = frame->sp + rule->cfa;
		break;
	case DTK_UNWIND_RBP:
		cfa = frame->bp + rule->cfa;
		break;
	case DTK_UNWIND_AT_RBP:
		if (!dt_user_word(frame->bp + rule->cfa, &cfa))
			return DT_OUTERMOST;
		break;
	case DTK_UNWIND_SIGNAL:
		return dt_out_of_signal(frame);
	case DTK_UNWIND_OUTERMOST:
		return DT_OUTERMOST;
	default:
		return DT_NO_RULE;
	}
	base = rule->rbp_from == DTK_UNWIND_CFA ? cfa : frame->bp;
	if (cfa <= frame->sp || !dt_user_word(cfa - sizeof(pc), &pc) || !pc ||
	    (rule->rbp_from != DTK_UNWIND_OUTERMOST && !dt_user_word(base + rule->rbp, &bp)))
		return DT_OUTERMOST;
	*frame = (struct dt_user_frame){pc, cfa, bp};
	return DT_UNWOUND;
}

static bool dt_is_new(const struct dt_process *p)
{
	return time_before(jiffies, READ_ONCE(p->told_at) + HZ);
}

enum dt_unwound dt_unwind_step(struct dt_unwind *u, struct dt_user_frame *frame, unsigned long at)
{
	struct dt_process *p = dt_process_of(u, current->mm);
	const struct dtk_unwind_map *map = dt_map_of(p, at);
	const struct dtk_unwind_rule *rule = NULL;

	if (p && !READ_ONCE(p->used_by))
		WRITE_ONCE(p->used_by, current->tgid);
	if (!map && !(p && READ_ONCE(p->is_same) && dt_is_new(p)))
		WRITE_ONCE(u->strangers[(u32)current->tgid % DT_STRANGERS], current->tgid);
	if (map && map->table)
		rule = dt_rule_of(u->tables[map->table - 1], at - map->start + map->offset);
	return rule ? dt_by_rule(rule, frame) : DT_NO_RULE;
}

static int dt_unwind_ready(struct dt_consumer *c)
{
	struct dt_unwind *u;

	if (c->unwind)
		return 0;
	u = dt_make(c, sizeof(*u));
	if (!u)
		return -ENOMEM;
	smp_store_release(&c->unwind, u);
	return 0;
}

static bool dt_are_rules(const struct dtk_unwind_rule *rules, u32 n)
{
	u32 i;

	for (i = 0; i < n; i++) {
		if ((i && rules[i].at <= rules[i - 1].at) || rules[i].from >= DTK_UNWIND_N ||
		    rules[i].rbp_from >= DTK_UNWIND_N)
			return false;
		cond_resched();
	}
	return true;
}

long dt_unwind_table(struct dt_consumer *c, struct dtk_list *list)
{
	struct dt_unwind *u;
	struct dt_rules *table;
	int error = dt_unwind_ready(c);

	if (error)
		return error;
	u = c->unwind;
	if (list->n > DT_MAX_RULES || list->bytes != list->n * sizeof(*table->rules))
		return -E2BIG;
	if (u->n_tables == DT_MAX_TABLES || u->n_rules + list->n > DT_ALL_RULES)
		return -ENOSPC;
	table = dt_make(c, struct_size(table, rules, list->n));
	if (!table)
		return -ENOMEM;
	table->n = list->n;
	if (copy_from_user(table->rules, (void __user *)list->at, list->bytes))
		error = -EFAULT;
	else if (!dt_are_rules(table->rules, table->n))
		error = -EINVAL;
	if (error) {
		dt_free(c, table, struct_size(table, rules, list->n));
		return error;
	}
	u->tables[u->n_tables++] = table; /* no map refers to it yet */
	u->n_rules += table->n;
	list->n_done = u->n_tables;
	return 0;
}

static bool dt_are_maps(const struct dt_unwind *u, const struct dt_process *p)
{
	u32 i;

	for (i = 0; i < p->n; i++)
		if (p->maps[i].start >= p->maps[i].end || p->maps[i].table > u->n_tables ||
		    (i && p->maps[i].start < p->maps[i - 1].end))
			return false;
	return true;
}

static void dt_process_free(struct dt_consumer *c, struct dt_process *p)
{
	if (p->mm)
		mmdrop(p->mm);
	dt_free(c, p, struct_size(p, maps, p->n));
}

/*
 * Removes from a bucket the entries whose mm has no users, and older entries
 * for the mm of @newest. Adds them to the list @gone.
 */
static void dt_bucket_clean(struct dt_unwind *u, struct dt_process **at,
			    const struct dt_process *newest, struct dt_process **gone)
{
	struct dt_process *p;

	while ((p = *at)) {
		if (p != newest && ((newest && p->mm == newest->mm) ||
				    !atomic_read(&p->mm->mm_users))) {
			/* readers that are at p can still follow p->next */
			WRITE_ONCE(*at, p->next);
			p->gone = *gone;
			*gone = p;
			u->n_processes--;
		} else {
			at = &p->next;
		}
	}
}

static void dt_processes_free(struct dt_consumer *c, struct dt_process *gone)
{
	struct dt_process *p;

	if (gone)
		synchronize_rcu();
	while ((p = gone)) {
		gone = p->gone;
		dt_process_free(c, p);
	}
}

static void dt_buckets_clean(struct dt_consumer *c)
{
	struct dt_unwind *u = c->unwind;
	struct dt_process *gone = NULL;
	u32 i;

	for (i = 0; i < ARRAY_SIZE(u->buckets); i++)
		dt_bucket_clean(u, &u->buckets[i], NULL, &gone);
	dt_processes_free(c, gone);
}

/*
 * Returns whether the stored maps are the same as the maps in @newer. If so,
 * marks the stored maps as up to date.
 */
static bool dt_process_refresh(struct dt_unwind *u, const struct dt_process *newer)
{
	struct dt_process *p = dt_process_of(u, newer->mm);

	if (!p || p->n != newer->n || memcmp(p->maps, newer->maps, p->n * sizeof(*p->maps)))
		return false;
	WRITE_ONCE(p->told_at, newer->told_at);
	WRITE_ONCE(p->is_same, true);
	WRITE_ONCE(p->used_by, 0);
	return true;
}

/*
 * Stores p, or frees p if the stored maps are the same as those of p. On
 * failure, the caller still owns p.
 */
static int dt_process_add(struct dt_consumer *c, struct dt_process *p)
{
	struct dt_unwind *u = c->unwind;
	struct dt_process **bucket = dt_bucket(u, p->mm), *gone = NULL;

	if (dt_process_refresh(u, p)) {
		dt_process_free(c, p);
		return 0;
	}
	if (u->n_processes == DT_MAX_PROCESSES)
		dt_buckets_clean(c);
	if (u->n_processes == DT_MAX_PROCESSES)
		return -ENOSPC;
	u->n_processes++;
	p->next = *bucket;
	smp_store_release(bucket, p);
	dt_bucket_clean(u, bucket, p, &gone);
	dt_processes_free(c, gone);
	return 0;
}

long dt_unwind_maps(struct dt_consumer *c, struct dtk_unwind_maps __user *user)
{
	struct dtk_unwind_maps from;
	struct dt_process *p;
	struct pid *pid = NULL;
	int error = dt_unwind_ready(c);

	if (error)
		return error;
	if (copy_from_user(&from, user, sizeof(from)))
		return -EFAULT;
	if (from.n > DT_MAX_MAPS)
		return -E2BIG;
	p = dt_make(c, struct_size(p, maps, from.n));
	if (!p)
		return -ENOMEM;
	p->n = from.n;
	p->told_at = jiffies;
	if (copy_from_user(p->maps, (void __user *)from.at, from.n * sizeof(*p->maps)))
		error = -EFAULT;
	else if (!dt_are_maps(c->unwind, p))
		error = -EINVAL;
	if (!error)
		error = dt_grab_mm(from.pid, &pid, &p->mm);
	put_pid(pid);
	if (!error)
		error = dt_process_add(c, p);
	if (error)
		dt_process_free(c, p);
	return error;
}

static u32 dt_number_here(u32 tgid)
{
	u32 number;

	rcu_read_lock();
	number = pid_vnr(find_pid_ns(tgid, &init_pid_ns));
	rcu_read_unlock();
	return number;
}

static int dt_tell(struct dtk_list *list, u32 pid)
{
	if (put_user(pid, (u32 __user *)list->at + list->n_done))
		return -EFAULT;
	list->n_done++;
	return 0;
}

static int dt_tell_strangers(struct dt_unwind *u, struct dtk_list *list)
{
	int error = 0;
	u32 i, number;

	for (i = 0; i < DT_STRANGERS && list->n_done < list->n && !error; i++) {
		if (!READ_ONCE(u->strangers[i]))
			continue;
		number = dt_number_here(xchg(&u->strangers[i], 0));
		/*
		 * number is 0 if the process has exited or is not visible to
		 * the caller
		 */
		if (number)
			error = dt_tell(list, number);
	}
	return error;
}

/* Reports the processes whose expired maps were used. */
static int dt_tell_used(struct dt_unwind *u, struct dtk_list *list)
{
	struct dt_process *p;
	int error = 0;
	u32 i, number;

	for (i = 0; i < ARRAY_SIZE(u->buckets); i++)
		for (p = u->buckets[i]; p && list->n_done < list->n && !error; p = p->next) {
			if (!READ_ONCE(p->used_by) || dt_is_new(p))
				continue;
			/* prevents another report within a second */
			WRITE_ONCE(p->told_at, jiffies);
			number = dt_number_here(xchg(&p->used_by, 0));
			if (number)
				error = dt_tell(list, number);
		}
	return error;
}

long dt_unwind_strangers(struct dt_consumer *c, struct dtk_list *list)
{
	int error = dt_unwind_ready(c);

	if (!error)
		error = dt_tell_strangers(c->unwind, list);
	if (!error)
		error = dt_tell_used(c->unwind, list);
	return error;
}

void dt_unwind_free(struct dt_consumer *c)
{
	struct dt_unwind *u = c->unwind;
	struct dt_process *p;
	u32 i;

	if (!u)
		return;
	for (i = 0; i < u->n_tables; i++)
		dt_free(c, u->tables[i], struct_size(u->tables[i], rules, u->tables[i]->n));
	for (i = 0; i < ARRAY_SIZE(u->buckets); i++)
		while ((p = u->buckets[i])) {
			u->buckets[i] = p->next;
			dt_process_free(c, p);
		}
	dt_free(c, u, sizeof(*u));
}
