// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * io: block input and output. A bio is the buffer, tells its device, and has the pages of
 * its file: it is all three arguments.
 */
#include "kmod/stable.h"

static int dt_bio(u64 bio, u64 *out)
{
	out[0] = out[1] = out[2] = bio;
	return 3;
}

/* block_bio_queue(bio), submit_bio_wait(bio) */
int dt_choose_io_start(const u64 *in, u64 *out)
{
	return dt_bio(in[0], out);
}

/* block_bio_complete(queue, bio) */
int dt_choose_io_done(const u64 *in, u64 *out)
{
	return dt_bio(in[1], out);
}

int dt_choose_io_wait_done(const u64 *in, u64 *out)
{
	return dt_bio(in[1], out);
}
