// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements anonymous tracing, which starts when the module is loaded.
 *
 * dtrace -A writes a file (struct dtk_anonymous in abi/ioctl.h). The module
 * parameter `anonymous` is the file's path, which may be in an initramfs. The
 * module creates a consumer from the file. The consumer fills its buffers until
 * dtrace -a claims it. From then on, the consumer belongs to the file
 * /dev/dtrace that dtrace -a has opened. There is only one anonymous consumer,
 * and it can be claimed only once.
 *
 * Addresses of functions differ after each boot, so the file contains the names
 * of the functions. A probe that cannot be attached is reported in the kernel's
 * log. The module checks the contents of the file like any other input.
 */
#include "kmod/consumer.h"

#include "abi/stable.h"
#include "kmod/symbols.h"

#include <linux/capability.h>
#include <linux/fs.h>
#include <linux/kernel_read_file.h>
#include <linux/module.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/vmalloc.h>

#define DT_MAX_FILE (64u << 20)

static char *anonymous = DTK_ANONYMOUS_FILE;
module_param(anonymous, charp, 0444);
MODULE_PARM_DESC(anonymous, "file that contains the anonymous enabling, written by dtrace -A");

/*
 * Protects the variables below. This lock may be taken while a consumer's mutex
 * is held. Code that holds this lock does not access the memory of processes.
 */
static DEFINE_MUTEX(dt_anonymous_lock);
static struct dt_consumer *dt_unclaimed;
static void *dt_file; /* contents of the file written by dtrace -A */
static size_t dt_file_bytes;
/* The number of claims that are copying the file to the memory of a process. */
static u32 dt_n_copying;

/* Pointers to the parts of the file. All parts are within the file's bounds. */
struct dt_parts {
	const struct dtk_anonymous *head;
	const struct dtk_ecb *ecbs;
	struct dtk_site *sites;
	const char *programs, *names, *texts, *rest;
};

static char *dt_part(char **at, u64 *left, u64 bytes)
{
	char *part = *at;

	if (bytes > *left)
		return NULL;
	*at += bytes;
	*left -= bytes;
	return part;
}

static bool dt_ends(const char *texts, u64 bytes)
{
	return texts && (!bytes || !texts[bytes - 1]);
}

static int dt_take_apart(void *file, u64 left, struct dt_parts *p)
{
	char *at = file;

	p->head = (void *)dt_part(&at, &left, sizeof(*p->head));
	if (!p->head || p->head->magic != DTK_ANONYMOUS_MAGIC)
		return -EINVAL;
	if (p->head->abi != DTK_ABI || p->head->arena_version != DT_ARENA_VERSION ||
	    p->head->n_rows != dt_n_stables)
		return -EPROTO;
	p->ecbs = (void *)dt_part(&at, &left, (u64)p->head->n_ecbs * sizeof(*p->ecbs));
	p->sites = (void *)dt_part(&at, &left, (u64)p->head->n_sites * sizeof(*p->sites));
	p->programs = dt_part(&at, &left, p->head->programs_bytes);
	p->names = dt_part(&at, &left, p->head->names_bytes);
	p->texts = dt_part(&at, &left, p->head->texts_bytes);
	p->rest = dt_part(&at, &left, p->head->rest_bytes);
	return p->ecbs && p->sites && p->programs && p->rest &&
			       dt_ends(p->names, p->head->names_bytes) &&
			       dt_ends(p->texts, p->head->texts_bytes)
		       ? 0
		       : -EINVAL;
}

static int dt_load_all(struct dt_consumer *c, const struct dt_parts *p)
{
	u64 left = p->head->programs_bytes, bytes;
	const char *at = p->programs;
	struct dt_load_error why = {};
	u32 i, first, n;

	for (i = 0; i < p->head->n_programs; i++) {
		if (left < sizeof(bytes))
			return -EINVAL;
		memcpy(&bytes, at, sizeof(bytes));
		if (bytes > left - sizeof(bytes) || round_up(bytes, 8) > left - sizeof(bytes))
			return -EINVAL;
		if (dt_load(c->arena, at + sizeof(bytes), bytes, &first, &n, &why)) {
			pr_err("dtrace: %s: %s\n", anonymous, why.text);
			return -EINVAL;
		}
		at += sizeof(bytes) + round_up(bytes, 8);
		left -= sizeof(bytes) + round_up(bytes, 8);
	}
	return 0;
}

static int dt_enable_all(struct dt_consumer *c, const struct dt_parts *p)
{
	const struct dt_arena *arena = c->arena;
	u32 i;

	for (i = 0; i < p->head->n_ecbs; i++) {
		if (!p->ecbs[i].probe || p->ecbs[i].probe > arena->probes.n ||
		    p->ecbs[i].clause >= arena->clauses.n)
			return -EINVAL;
		if (!dt_ecb_add(c->arena, p->ecbs[i].probe, p->ecbs[i].clause))
			return -ENOSPC;
	}
	return 0;
}

/*
 * If the site is in a function, sets the site's address to the address of the
 * function. Returns 0, or -ENOENT if there is no function with this name.
 */
static int dt_place_now(struct dtk_site *site, const char *name)
{
	u64 address = *name ? dt_kernel_symbol(name) : 0;

	switch (site->kind) {
	case DTK_FBT_ENTRY:
	case DTK_FBT_RETURN:
		site->where = address;
		return address ? 0 : -ENOENT;
	case DTK_STABLE_ROW:
		site->more = address;
		return address || !*name ? 0 : -ENOENT;
	default:
		return 0;
	}
}

static void dt_attach_one_named(struct dt_consumer *c, struct dtk_site *site, const char *name)
{
	if (site->kind == DTK_TRACEPOINT && site->probe) {
		site->error = dt_tracepoint_attach_named(c, site, name);
		return;
	}
	site->error = dt_place_now(site, name);
	if (!site->error)
		dt_attach_sites(c, site, 1);
}

static int dt_attach_all(struct dt_consumer *c, const struct dt_parts *p)
{
	const struct dt_arena *arena = c->arena;
	const char *at = p->texts, *name;
	u32 i;

	for (i = 0; i < p->head->n_sites; i++) {
		name = dt_next(&at, p->texts + p->head->texts_bytes);
		if (!name || !p->sites[i].probe || p->sites[i].probe > arena->probes.n)
			return -EINVAL;
		dt_attach_one_named(c, &p->sites[i], name);
		if (p->sites[i].error)
			pr_warn("dtrace: %s: site %u (%s) cannot be probed: error %d\n", anonymous, i,
				name, p->sites[i].error);
	}
	return 0;
}

static void dt_fire_begin(struct dt_consumer *c)
{
	struct dt_context x = {};
	u64 args[1] = {};

	dt_activity_advance(c->arena, DT_ACTIVITY_INACTIVE, DT_ACTIVITY_WARMUP);
	dt_kfire(c, &x, DT_PROBE_BEGIN, args, 1);
	dt_activity_advance(c->arena, DT_ACTIVITY_WARMUP, DT_ACTIVITY_ACTIVE);
}

static int dt_enabling_take(struct dt_consumer *c, void *file, size_t bytes)
{
	struct dtk_arena *a = kzalloc(sizeof(*a), GFP_KERNEL);
	struct dt_parts parts;
	u32 n_done;
	int error;

	if (!a)
		return -ENOMEM;
	error = dt_take_apart(file, bytes, &parts);
	if (!error) {
		a->config = parts.head->config;
		error = dt_arena_make(c, a);
	}
	if (!error)
		error = dt_load_all(c, &parts);
	if (!error)
		error = dt_names_add(c, parts.names, parts.names + parts.head->names_bytes,
				     parts.head->n_probes, &n_done);
	if (!error)
		error = dt_enable_all(c, &parts);
	if (!error)
		error = dt_attach_all(c, &parts);
	if (!error)
		dt_fire_begin(c);
	kfree(a);
	return error;
}

/*
 * Starts anonymous tracing. A missing or invalid file does not prevent the
 * module from being loaded.
 */
void dt_anonymous_begin(void)
{
	ssize_t bytes = kernel_read_file_from_path(anonymous, 0, &dt_file, DT_MAX_FILE, NULL,
						   /*
						    * The kernel warns about
						    * other values.
						    */
						   READING_FIRMWARE);
	struct dt_consumer *c;
	int error = -ENOMEM;

	if (bytes < 0) {
		if (bytes != -ENOENT)
			pr_err("dtrace: %s cannot be read: error %zd\n", anonymous, bytes);
		return;
	}
	c = dt_consumer_make();
	if (c) {
		mutex_lock(&c->lock);
		error = dt_enabling_take(c, dt_file, bytes);
		mutex_unlock(&c->lock);
	}
	if (!error) {
		dt_file_bytes = bytes;
		dt_unclaimed = c;
		pr_info("dtrace: anonymous tracing with %s has started\n", anonymous);
		return;
	}
	pr_err("dtrace: anonymous tracing with %s cannot be started: error %d\n", anonymous, error);
	if (c) {
		dt_detach_all(c);
		dt_consumer_free(c);
	}
	vfree(dt_file);
	dt_file = NULL;
}

void dt_anonymous_end(void)
{
	if (dt_unclaimed) {
		dt_detach_all(dt_unclaimed);
		dt_consumer_free(dt_unclaimed);
	}
	vfree(dt_file);
}

/*
 * Frees the file if it is no longer needed. It is needed until the consumer is
 * claimed, and while a claim is copying it. The caller holds dt_anonymous_lock.
 */
static void dt_drop_file(void)
{
	if (dt_unclaimed || dt_n_copying)
		return;
	vfree(dt_file);
	dt_file = NULL;
}

static bool dt_is_destructive(const struct dt_consumer *c)
{
	const struct dt_arena *arena = c->arena;

	return arena->options[DTRACEOPT_destructive];
}

/*
 * Describes the unclaimed consumer in *claim, and keeps the file until
 * dt_claim_end() is called. Returns 0 or a negative errno.
 */
static long dt_claim_begin(struct dtk_claim *claim, u64 file_room)
{
	long error = 0;

	mutex_lock(&dt_anonymous_lock);
	if (!dt_unclaimed)
		error = -ENOENT;
	else if (claim->file && dt_is_destructive(dt_unclaimed) && !capable(CAP_SYS_ADMIN))
		error = -EPERM;
	else if (claim->file && file_room < dt_file_bytes)
		error = -EFAULT;
	if (!error) {
		claim->file_bytes = dt_file_bytes;
		claim->program_bytes = dt_unclaimed->program_bytes;
		claim->total_bytes = dt_unclaimed->total_bytes;
		dt_n_copying++;
	}
	mutex_unlock(&dt_anonymous_lock);
	return error;
}

/*
 * Ends a claim. If `wanted` is set, takes the unclaimed consumer. Returns
 * -ENOENT if another process has taken it since dt_claim_begin().
 */
static long dt_claim_end(bool wanted, struct dt_consumer **claimed)
{
	long error = 0;

	mutex_lock(&dt_anonymous_lock);
	dt_n_copying--;
	if (wanted && !dt_unclaimed) {
		error = -ENOENT;
	} else if (wanted) {
		*claimed = dt_unclaimed;
		dt_unclaimed = NULL;
	}
	dt_drop_file();
	mutex_unlock(&dt_anonymous_lock);
	return error;
}

long dt_anonymous_claim(struct dtk_claim __user *user, struct dt_consumer **claimed)
{
	struct dtk_claim claim;
	bool copied;
	long error;

	if (copy_from_user(&claim, user, sizeof(claim)))
		return -EFAULT;
	error = dt_claim_begin(&claim, claim.file_bytes);
	if (error)
		return error;
	copied = (!claim.file || !copy_to_user((void __user *)claim.file, dt_file, dt_file_bytes)) &&
		 !copy_to_user(user, &claim, sizeof(claim));
	error = dt_claim_end(claim.file && copied, claimed);
	return copied ? error : -EFAULT;
}
