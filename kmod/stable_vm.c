// SPDX-License-Identifier: MIT OR GPL-2.0
/*
 * Implements the vminfo probes, which fire when a statistic of the memory
 * system increases. arg0 is the increment.
 *
 * A page counts as zero-filled if it is allocated for a process with
 * __GFP_ZERO. A huge page counts as zero-filled when it is cleared. A page
 * counts as copied if a write fault has replaced it with a different page.
 * Paging means the input and output of pages in the page cache and the swap
 * cache.
 */
#include "abi/stable.h"

#include <linux/bio.h>
#include <linux/gfp.h>
#include <linux/mm.h>
#include <linux/pgtable.h>
#include <linux/uaccess.h>

#include <asm/trap_pf.h>

static int dt_by(u64 increment, u64 *out)
{
	out[0] = increment;
	return increment ? 1 : -1;
}

/*
 * @in: arguments of the tracepoint page_fault_user(address, regs, code) or
 * page_fault_kernel()
 */
int dt_choose_vm_as_fault(const u64 *in, u64 *out)
{
	return dt_by(!(in[2] & X86_PF_PROT), out);
}

int dt_choose_vm_prot_fault(const u64 *in, u64 *out)
{
	return dt_by(in[2] & X86_PF_PROT, out);
}

int dt_choose_vm_kernel_asflt(const u64 *in, u64 *out)
{
	return dt_by(in[0] >= TASK_SIZE_MAX && !(in[2] & X86_PF_PROT), out);
}

/* Runs when handle_mm_fault() returns. in[0] is its result. */
int dt_choose_vm_maj_fault(const u64 *in, u64 *out)
{
	u32 result = (u32)in[0];

	return dt_by((result & VM_FAULT_MAJOR) && !(result & VM_FAULT_ERROR), out);
}

#define DT_FOR_PROCESSES (GFP_HIGHUSER_MOVABLE | __GFP_ZERO)

/*
 * @in: arguments of the tracepoint mm_page_alloc(page, order, gfp, migratetype)
 */
int dt_choose_vm_zfod(const u64 *in, u64 *out)
{
	bool filled = in[0] && ((u32)in[2] & DT_FOR_PROCESSES) == DT_FOR_PROCESSES;

	return dt_by(filled ? 1ull << (u32)in[1] : 0, out);
}

/* @in: arguments of clear_huge_page(page, address, pages) */
int dt_choose_vm_zfod_huge(const u64 *in, u64 *out)
{
	return dt_by((u32)in[2], out);
}

/* @in: arguments of folio_zero_user(folio, address) */
int dt_choose_vm_zfod_folio(const u64 *in, u64 *out)
{
	return dt_by(folio_nr_pages((struct folio *)in[0]), out);
}

static bool dt_read_fault(struct vm_fault *to, u64 from)
{
	return !copy_from_kernel_nofault(to, (void *)from, sizeof(*to));
}

/*
 * Runs when do_wp_page(fault) returns. Fires if another page is mapped now and
 * the old page was not the zero page.
 */
int dt_choose_vm_cow_fault(const u64 *in, u64 *out)
{
	struct vm_fault fault;
	pte_t now;

	if ((u32)in[0] & (VM_FAULT_ERROR | VM_FAULT_RETRY) || !dt_read_fault(&fault, in[1]) ||
	    copy_from_kernel_nofault(&now, fault.pte, sizeof(now)))
		return -1;
	return dt_by(pte_present(now) && pte_pfn(now) != pte_pfn(fault.orig_pte) &&
			     !is_zero_pfn(pte_pfn(fault.orig_pte)),
		     out);
}

/*
 * Runs when finish_fault(fault) returns. Fires if the new page was copied from
 * a file's page.
 */
int dt_choose_vm_cow_file(const u64 *in, u64 *out)
{
	struct vm_fault fault;

	return dt_by(!(u32)in[0] && dt_read_fault(&fault, in[1]) && fault.cow_page, out);
}

/*
 * @in: arguments of the tracepoint mm_vmscan_lru_isolate(zone, order,
 * requested, scanned, ...)
 */
int dt_choose_vm_scan(const u64 *in, u64 *out)
{
	return dt_by(in[3], out);
}

int dt_choose_vm_one(const u64 *in, u64 *out)
{
	return dt_by(1, out);
}

enum dt_paged {
	DT_PAGED_NOTHING,
	DT_PAGED_ANON,
	DT_PAGED_FILE,
};

/*
 * Returns whether a bio transfers pages of anonymous memory or of a file.
 * Returns DT_PAGED_NOTHING if the bio's operation is not @op. Direct I/O is not
 * paging, so the result for it is also DT_PAGED_NOTHING.
 */
static enum dt_paged dt_paged(struct bio *bio, enum req_op op)
{
	const struct folio *folio;

	if (bio_op(bio) != op || !bio_has_data(bio))
		return DT_PAGED_NOTHING;
	folio = page_folio(bio_page(bio));
	if (folio_test_swapcache((struct folio *)folio))
		return DT_PAGED_ANON;
	return folio->mapping && !folio_test_anon((struct folio *)folio) ? DT_PAGED_FILE
									 : DT_PAGED_NOTHING;
}

static u64 dt_pages(const struct bio *bio)
{
	return DIV_ROUND_UP(bio->bi_iter.bi_size, PAGE_SIZE);
}

/* @in: arguments of the tracepoint block_bio_queue(bio) */
int dt_choose_vm_pgin(const u64 *in, u64 *out)
{
	return dt_by(dt_paged((void *)in[0], REQ_OP_READ) != DT_PAGED_NOTHING, out);
}

int dt_choose_vm_pgout(const u64 *in, u64 *out)
{
	return dt_by(dt_paged((void *)in[0], REQ_OP_WRITE) != DT_PAGED_NOTHING, out);
}

static int dt_choose_pages(u64 bio, enum req_op op, enum dt_paged what, u64 *out)
{
	enum dt_paged paged = dt_paged((void *)bio, op);

	if (paged == DT_PAGED_NOTHING || (what != DT_PAGED_NOTHING && what != paged))
		return -1;
	return dt_by(dt_pages((void *)bio), out);
}

int dt_choose_vm_pgpgin(const u64 *in, u64 *out)
{
	return dt_choose_pages(in[0], REQ_OP_READ, DT_PAGED_NOTHING, out);
}

int dt_choose_vm_pgpgout(const u64 *in, u64 *out)
{
	return dt_choose_pages(in[0], REQ_OP_WRITE, DT_PAGED_NOTHING, out);
}

int dt_choose_vm_anonpgin(const u64 *in, u64 *out)
{
	return dt_choose_pages(in[0], REQ_OP_READ, DT_PAGED_ANON, out);
}

int dt_choose_vm_anonpgout(const u64 *in, u64 *out)
{
	return dt_choose_pages(in[0], REQ_OP_WRITE, DT_PAGED_ANON, out);
}

int dt_choose_vm_fspgin(const u64 *in, u64 *out)
{
	return dt_choose_pages(in[0], REQ_OP_READ, DT_PAGED_FILE, out);
}

int dt_choose_vm_fspgout(const u64 *in, u64 *out)
{
	return dt_choose_pages(in[0], REQ_OP_WRITE, DT_PAGED_FILE, out);
}
