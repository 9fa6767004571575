// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the io probes, which fire for block I/O. Their three arguments
 * describe a buffer, its device and its file. All three are the address of the
 * same bio.
 *
 * When a bio is done, its iterator has reached the end. So arg0 of a done probe
 * points to a copy of the bio whose iterator has been reset. The copy is stored
 * after the arguments.
 *
 * The wait probes fire in three functions, but only once for each wait:
 *   submit_bio_wait()   waits for the bio in its argument.
 *   io_schedule()       waits for a page, a buffer or a request. The bio is
 *                       unknown, so the probe shows a bio without a device.
 *   blk_io_schedule()   waits for direct I/O. The bio is unknown here too. If
 *                       blk_io_schedule() calls io_schedule(), the probe fires
 *                       only in io_schedule().
 *
 * io_schedule_timeout() is not probed, because submit_bio_wait() calls it.
 */
#include "abi/stable.h"

#include "kmod/symbols.h"

#include <linux/bio.h>
#include <linux/bvec.h>
#include <linux/string.h>

#define DT_BIO_ARGS 3

static_assert(sizeof(struct bio) <= 8 * (DT_STABLE_ARGS - DT_BIO_ARGS));

static int dt_bio(u64 bio, u64 *out)
{
	out[0] = out[1] = out[2] = bio;
	return DT_BIO_ARGS;
}

/*
 * Returns the number of bytes in all vectors of the bio. Returns 0 if the bio
 * has no vectors of its own or transfers no data.
 */
static u32 dt_bio_bytes(const struct bio *bio)
{
	u32 bytes = 0;
	u16 i;

	for (i = 0; bio->bi_io_vec && i < bio->bi_vcnt && i < BIO_MAX_VECS; i++)
		bytes += bio->bi_io_vec[i].bv_len;
	return bytes;
}

static int dt_bio_done(const struct bio *bio, u64 *out)
{
	struct bio *was = (void *)&out[DT_BIO_ARGS];
	u32 bytes = dt_bio_bytes(bio);

	dt_bio((u64)bio, out);
	if (bio->bi_iter.bi_size || !bytes)
		return DT_BIO_ARGS;
	memcpy(was, bio, sizeof(*was));
	was->bi_iter.bi_size = bytes;
	was->bi_iter.bi_sector -= bytes >> SECTOR_SHIFT;
	was->bi_iter.bi_idx = was->bi_iter.bi_bvec_done = 0;
	out[0] = (u64)was;
	return DT_BIO_ARGS;
}

/*
 * The timeout of the kernel's check for hung tasks, or 0 if the check is off.
 * The pointer is null if the kernel was built without the check.
 */
static const unsigned long *dt_hung_task_timeout_s;

void dt_stable_io_begin(void)
{
	dt_hung_task_timeout_s =
	    (void *)dt_kernel_symbol("sysctl_hung_task_timeout_secs");
}

/*
 * @in: the arguments of the tracepoint block_bio_queue(bio), or of the function
 *      submit_bio_wait(bio)
 */
int dt_choose_io_start(const u64 *in, u64 *out)
{
	return dt_bio(in[0], out);
}

/* @in: the arguments of the tracepoint block_bio_complete(queue, bio) */
int dt_choose_io_done(const u64 *in, u64 *out)
{
	return dt_bio_done((void *)in[1], out);
}

int dt_choose_io_wait_done(const u64 *in, u64 *out)
{
	return dt_bio_done((void *)in[1], out);
}

/* Called for io_schedule(). The bio is not known, so an empty bio is used. */
int dt_choose_io_wait_unknown(const u64 *in, u64 *out)
{
	memset(&out[DT_BIO_ARGS], 0, sizeof(struct bio));
	return dt_bio((u64)&out[DT_BIO_ARGS], out);
}

/*
 * Called for blk_io_schedule(). Returns -1 if blk_io_schedule() will call
 * io_schedule(), because the probe fires there.
 */
int dt_choose_io_wait_direct(const u64 *in, u64 *out)
{
	if (!dt_hung_task_timeout_s || !READ_ONCE(*dt_hung_task_timeout_s))
		return -1;
	return dt_choose_io_wait_unknown(in, out);
}
