/* SPDX-License-Identifier: MIT */
/*
 * Makes the bytes of an ELF shared object that contains the probes of one load
 * (gABI, psABI x86-64; usdt/probe_notes.hpp describes the notes):
 *
 *   page 0     R    file and program headers
 *   text       RX   a stub for each probe
 *   data       RW   .dynamic, token, a struct dtrace_usdt_probe for each probe
 *   the rest   R    .hash .dynsym .dynstr .note.stapsdt .stapsdt.base .eh_frame_hdr
 *                   .eh_frame .symtab .strtab .shstrtab, section headers
 *
 * Each link-time address equals an offset in the file. All sections are loaded,
 * for tools that can only read memory. There are no relocations. provider.c
 * stores the addresses of the stubs after the load.
 *
 * bpftrace searches for semaphores only in a section with the name .probes.
 *
 * A stub is endbr64; nop; nop of 5 bytes; ret. The note gives the address of
 * the first nop. A jump may replace both nops, and the kernel (since 6.18) may
 * replace the second nop with a call. The stub's only argument, in %rdi, is the
 * address of the probe's arguments, one word each.
 *
 * The image is written without libelf, so that programs need no other library.
 */
#include "internal.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { DT_PAGE_BYTES = 4096, DT_N_DYNAMIC = 8, DT_N_SEGMENTS = 7 };

/* clang-format off */
static const unsigned char dt_stub[DT_USDT_STUB_BYTES] = {
	0xf3, 0x0f, 0x1e, 0xfa,       /* endbr64 */
	0x90,                         /* nop, the probe */
	0x0f, 0x1f, 0x44, 0x00, 0x00, /* nopl 0(%rax,%rax,1) */
	0xc3,                         /* ret */
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, /* int3, never executed */
};
enum { DT_STUB_NOP = 4, DT_STUB_END = 11 };

/* One row per section: name, type, flags, entry size, link, info, alignment. */
#define DT_SECTIONS(X)                                                                   \
	X(text, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, 0, 0, 0, 16)           \
	X(data, ".probes", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, 0, 0, 0, 16)               \
	X(dynamic, ".dynamic", SHT_DYNAMIC, SHF_ALLOC | SHF_WRITE, 16, DT_S_dynstr, 0, 8) \
	X(hash, ".hash", SHT_HASH, SHF_ALLOC, 4, DT_S_dynsym, 0, 8)                      \
	X(dynsym, ".dynsym", SHT_DYNSYM, SHF_ALLOC, 24, DT_S_dynstr, 1, 8)               \
	X(dynstr, ".dynstr", SHT_STRTAB, SHF_ALLOC, 0, 0, 0, 1)                          \
	X(notes, ".note.stapsdt", SHT_NOTE, SHF_ALLOC, 0, 0, 0, 4)                       \
	X(base, ".stapsdt.base", SHT_PROGBITS, SHF_ALLOC, 0, 0, 0, 1)                    \
	X(eh_hdr, ".eh_frame_hdr", SHT_PROGBITS, SHF_ALLOC, 0, 0, 0, 4)                  \
	X(eh, ".eh_frame", SHT_PROGBITS, SHF_ALLOC, 0, 0, 0, 8)                          \
	X(symtab, ".symtab", SHT_SYMTAB, SHF_ALLOC, 24, DT_S_strtab, 1, 8)               \
	X(strtab, ".strtab", SHT_STRTAB, SHF_ALLOC, 0, 0, 0, 1)                          \
	X(shstrtab, ".shstrtab", SHT_STRTAB, SHF_ALLOC, 0, 0, 0, 1)
/* clang-format on */

enum dt_section {
	DT_S_none,
#define X(id, ...) DT_S_##id,
	DT_SECTIONS(X)
#undef X
	    DT_N_SECTIONS
};

struct dt_making {
	struct dt_bytes *out;
	const char *provider;
	const struct dt_usdt_wanted *wanted;
	size_t n;
	uint64_t text_at, data_at, probes_at, rest_at;
	uint64_t at[DT_N_SECTIONS], len[DT_N_SECTIONS];
};

static uint64_t dt_page_up(uint64_t at)
{
	return (at + DT_PAGE_BYTES - 1) & ~(uint64_t)(DT_PAGE_BYTES - 1);
}

static uint64_t dt_stub_at(const struct dt_making *m, size_t i)
{
	return m->text_at + i * DT_USDT_STUB_BYTES;
}

static void dt_begin(struct dt_making *m, enum dt_section section,
		     size_t unit_bytes)
{
	dt_bytes_align(m->out, unit_bytes);
	m->at[section] = m->out->len_bytes;
}

static void dt_end(struct dt_making *m, enum dt_section section)
{
	m->len[section] = m->out->len_bytes - m->at[section];
}

static void dt_add_text(struct dt_making *m)
{
	dt_bytes_pad(m->out, m->text_at);
	dt_begin(m, DT_S_text, 16);
	for (size_t i = 0; i < m->n; i++)
		dt_bytes_add(m->out, dt_stub, sizeof dt_stub);
	dt_end(m, DT_S_text);
}

static void dt_add_data(struct dt_making *m, uint64_t token)
{
	dt_bytes_pad(m->out, m->data_at);
	dt_begin(m, DT_S_dynamic, 16);
	dt_bytes_pad(m->out, m->data_at + DT_N_DYNAMIC * sizeof(Elf64_Dyn));
	dt_end(m, DT_S_dynamic);
	dt_begin(m, DT_S_data, 16);
	dt_bytes_add_u64(m->out, token);
	dt_bytes_add_u64(m->out, 0);
	for (size_t i = 0; i < m->n; i++) {
		struct dtrace_usdt_probe probe;

		memset(&probe, 0, sizeof probe);
		probe.n_arguments = (uint16_t)m->wanted[i].n_types;
		dt_bytes_add(m->out, &probe, sizeof probe);
	}
	dt_end(m, DT_S_data);
}

static void dt_add_dynamic_symbols(struct dt_making *m)
{
	static const Elf64_Sym none;

	dt_begin(m, DT_S_hash, 8);
	dt_bytes_add_u32(m->out, 1); /* one bucket */
	dt_bytes_add_u32(m->out, 1); /* one symbol */
	dt_bytes_add_u64(m->out, 0); /* the null symbol */
	dt_end(m, DT_S_hash);
	dt_begin(m, DT_S_dynsym, 8);
	dt_bytes_add(m->out, &none, sizeof none);
	dt_end(m, DT_S_dynsym);
	dt_begin(m, DT_S_dynstr, 1);
	dt_bytes_add_text(m->out, "");
	dt_end(m, DT_S_dynstr);
}

/* Adds the operands for a note, for example "-4@(%rdi) 8f@8(%rdi)". */
static void dt_add_operands(struct dt_bytes *out,
			    const struct dt_usdt_wanted *wanted)
{
	char text[32];

	for (unsigned i = 0; i < wanted->n_types; i++) {
		int n = i == 0 ? snprintf(text, sizeof text, "%s@(%%rdi)",
					  wanted->types[i])
			       : snprintf(text, sizeof text, " %s@%u(%%rdi)",
					  wanted->types[i], 8 * i);
		dt_bytes_add(out, text, (size_t)n);
	}
	dt_bytes_add_text(out, "");
}

static void dt_add_notes(struct dt_making *m)
{
	dt_begin(m, DT_S_base, 1);
	dt_bytes_add(m->out, "", 1);
	dt_end(m, DT_S_base);
	dt_begin(m, DT_S_notes, 4);
	for (size_t i = 0; i < m->n; i++) {
		Elf64_Nhdr header = {sizeof "stapsdt", 0, 3};
		size_t header_at = m->out->len_bytes, at;

		dt_bytes_add(m->out, &header, sizeof header);
		dt_bytes_add_text(m->out, "stapsdt");
		at = m->out->len_bytes;
		dt_bytes_add_u64(m->out, dt_stub_at(m, i) + DT_STUB_NOP);
		dt_bytes_add_u64(m->out, m->at[DT_S_base]);
		dt_bytes_add_u64(
		    m->out, m->probes_at +
				i * sizeof(struct dtrace_usdt_probe) +
				offsetof(struct dtrace_usdt_probe, n_tracers));
		dt_bytes_add_text(m->out, m->provider);
		dt_bytes_add_text(m->out, m->wanted[i].name);
		dt_add_operands(m->out, &m->wanted[i]);
		header.n_descsz = (Elf64_Word)(m->out->len_bytes - at);
		dt_bytes_put(m->out, header_at, &header, sizeof header);
		dt_bytes_align(m->out, 4);
	}
	dt_end(m, DT_S_notes);
}

/*
 * Adds the unwind tables. At every instruction of a stub, the return address is
 * on top of the stack. LSB core, 10.5 and 10.6, defines the encodings of
 * addresses: relative to their own position (0x1b) or to the start of
 * .eh_frame_hdr (0x3b).
 */
static void dt_add_frames(struct dt_making *m)
{
	static const unsigned char cie[] = {
	    0x14, 0,	0,   0, 0,    0, 0, 0, /* 20 bytes; a CIE */
	    1,	  'z',	'R', 0,		       /* version; augmentation */
	    1,	  0x78, 16,  1, 0x1b, /* factors 1 and -8; ra is column 16 */
	    0x0c, 7,	8,	      /* DW_CFA_def_cfa rsp + 8 */
	    0x90, 1,	0,   0, /* DW_CFA_offset ra at cfa - 8; DW_CFA_nop */
	};
	static const unsigned char encodings[] = {1, 0x1b, 0x03, 0x3b};
	const uint64_t fde_bytes = 24;
	uint64_t first_fde;

	dt_begin(m, DT_S_eh_hdr, 8);
	m->len[DT_S_eh_hdr] = 12 + 8 * m->n;
	m->at[DT_S_eh] = (m->at[DT_S_eh_hdr] + m->len[DT_S_eh_hdr] + 7) & ~7ULL;
	first_fde = m->at[DT_S_eh] + sizeof cie;
	dt_bytes_add(m->out, encodings, sizeof encodings);
	dt_bytes_add_u32(m->out,
			 (uint32_t)(m->at[DT_S_eh] - m->out->len_bytes));
	dt_bytes_add_u32(m->out, (uint32_t)m->n);
	for (size_t i = 0; i < m->n; i++) {
		dt_bytes_add_u32(
		    m->out, (uint32_t)(dt_stub_at(m, i) - m->at[DT_S_eh_hdr]));
		dt_bytes_add_u32(m->out, (uint32_t)(first_fde + i * fde_bytes -
						    m->at[DT_S_eh_hdr]));
	}
	dt_begin(m, DT_S_eh, 8);
	dt_bytes_add(m->out, cie, sizeof cie);
	for (size_t i = 0; i < m->n; i++) {
		dt_bytes_add_u32(m->out, fde_bytes - 4);
		dt_bytes_add_u32(
		    m->out, (uint32_t)(m->out->len_bytes - m->at[DT_S_eh]));
		dt_bytes_add_u32(
		    m->out, (uint32_t)(dt_stub_at(m, i) - m->out->len_bytes));
		dt_bytes_add_u32(m->out, DT_STUB_END);
		dt_bytes_add_u64(m->out,
				 0); /* no augmentation data; DW_CFA_nop */
	}
	dt_bytes_add_u32(m->out, 0); /* end of the list */
	dt_end(m, DT_S_eh);
}

static void dt_add_symbols(struct dt_making *m)
{
	uint32_t name_at = 1;
	Elf64_Sym symbol;

	memset(&symbol, 0, sizeof symbol);
	dt_begin(m, DT_S_symtab, 8);
	dt_bytes_add(m->out, &symbol, sizeof symbol);
	for (size_t i = 0; i < m->n; i++) {
		symbol.st_name = name_at;
		symbol.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
		symbol.st_shndx = DT_S_text;
		symbol.st_value = dt_stub_at(m, i);
		symbol.st_size = DT_STUB_END;
		dt_bytes_add(m->out, &symbol, sizeof symbol);
		name_at += (uint32_t)strlen(m->wanted[i].function) + 1;
	}
	dt_end(m, DT_S_symtab);
	dt_begin(m, DT_S_strtab, 1);
	dt_bytes_add_text(m->out, "");
	for (size_t i = 0; i < m->n; i++)
		dt_bytes_add_text(m->out, m->wanted[i].function);
	dt_end(m, DT_S_strtab);
}

static uint64_t dt_add_section_headers(struct dt_making *m)
{
	static const struct {
		const char *name;
		Elf64_Shdr header;
	} rows[DT_N_SECTIONS] = {
#define X(id, name, type, flags, entry, link, info, unit)                      \
	[DT_S_##id] = {name,                                                   \
		       {.sh_type = type,                                       \
			.sh_flags = flags,                                     \
			.sh_entsize = entry,                                   \
			.sh_link = link,                                       \
			.sh_info = info,                                       \
			.sh_addralign = unit}},
	    DT_SECTIONS(X)
#undef X
	};
	uint32_t name_at[DT_N_SECTIONS] = {0};
	uint64_t at;

	dt_begin(m, DT_S_shstrtab, 1);
	dt_bytes_add_text(m->out, "");
	for (int i = 1; i < DT_N_SECTIONS; i++) {
		name_at[i] =
		    (uint32_t)(m->out->len_bytes - m->at[DT_S_shstrtab]);
		dt_bytes_add_text(m->out, rows[i].name);
	}
	dt_end(m, DT_S_shstrtab);
	dt_bytes_align(m->out, 8);
	at = m->out->len_bytes;
	for (int i = 0; i < DT_N_SECTIONS; i++) {
		Elf64_Shdr header = rows[i].header;

		header.sh_name = name_at[i];
		header.sh_addr = header.sh_offset = m->at[i];
		header.sh_size = m->len[i];
		dt_bytes_add(m->out, &header, sizeof header);
	}
	return at;
}

static void dt_put_dynamic(struct dt_making *m)
{
	const Elf64_Dyn entries[DT_N_DYNAMIC] = {
	    {DT_HASH, {m->at[DT_S_hash]}},
	    {DT_SYMTAB, {m->at[DT_S_dynsym]}},
	    {DT_SYMENT, {sizeof(Elf64_Sym)}},
	    {DT_STRTAB, {m->at[DT_S_dynstr]}},
	    {DT_STRSZ, {m->len[DT_S_dynstr]}},
	    {DT_NULL, {0}},
	};

	dt_bytes_put(m->out, m->at[DT_S_dynamic], entries, sizeof entries);
}

static void dt_put_headers(struct dt_making *m, uint64_t section_headers_at)
{
	const Elf64_Ehdr file = {
	    .e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64,
			ELFDATA2LSB, EV_CURRENT},
	    .e_type = ET_DYN,
	    .e_machine = EM_X86_64,
	    .e_version = EV_CURRENT,
	    .e_phoff = sizeof(Elf64_Ehdr),
	    .e_shoff = section_headers_at,
	    .e_ehsize = sizeof(Elf64_Ehdr),
	    .e_phentsize = sizeof(Elf64_Phdr),
	    .e_phnum = DT_N_SEGMENTS,
	    .e_shentsize = sizeof(Elf64_Shdr),
	    .e_shnum = DT_N_SECTIONS,
	    .e_shstrndx = DT_S_shstrtab,
	};
	const uint64_t data_end = m->at[DT_S_data] + m->len[DT_S_data];
	const struct {
		uint32_t type, flags;
		uint64_t begin, end, unit;
	} segments[DT_N_SEGMENTS] = {
	    {PT_LOAD, PF_R, 0, sizeof file + DT_N_SEGMENTS * sizeof(Elf64_Phdr),
	     DT_PAGE_BYTES},
	    {PT_LOAD, PF_R | PF_X, m->text_at, m->text_at + m->len[DT_S_text],
	     DT_PAGE_BYTES},
	    {PT_LOAD, PF_R | PF_W, m->data_at, data_end, DT_PAGE_BYTES},
	    {PT_LOAD, PF_R, m->rest_at, m->out->len_bytes, DT_PAGE_BYTES},
	    {PT_DYNAMIC, PF_R | PF_W, m->data_at,
	     m->data_at + m->len[DT_S_dynamic], 8},
	    {PT_GNU_EH_FRAME, PF_R, m->at[DT_S_eh_hdr],
	     m->at[DT_S_eh_hdr] + m->len[DT_S_eh_hdr], 8},
	    {PT_GNU_STACK, PF_R | PF_W, 0, 0, 16},
	};

	dt_bytes_put(m->out, 0, &file, sizeof file);
	for (size_t i = 0; i < DT_N_SEGMENTS; i++) {
		Elf64_Phdr header = {
		    .p_type = segments[i].type,
		    .p_flags = segments[i].flags,
		    .p_offset = segments[i].begin,
		    .p_vaddr = segments[i].begin,
		    .p_paddr = segments[i].begin,
		    .p_filesz = segments[i].end - segments[i].begin,
		    .p_memsz = segments[i].end - segments[i].begin,
		    .p_align = segments[i].unit,
		};

		dt_bytes_put(m->out, sizeof file + i * sizeof header, &header,
			     sizeof header);
	}
}

int dt_usdt_make_image(struct dt_usdt_image *image, const char *provider,
		       const struct dt_usdt_wanted *wanted, size_t n_wanted,
		       uint64_t token)
{
	struct dt_making making = {.out = &image->bytes,
				   .provider = provider,
				   .wanted = wanted,
				   .n = n_wanted};
	struct dt_making *m = &making;

	memset(image, 0, sizeof *image);
	m->text_at = DT_PAGE_BYTES;
	m->data_at = dt_page_up(m->text_at + n_wanted * DT_USDT_STUB_BYTES);
	image->dynamic_at = m->data_at;
	image->token_at = m->data_at + DT_N_DYNAMIC * sizeof(Elf64_Dyn);
	m->probes_at = image->token_at + 16;
	m->rest_at = dt_page_up(m->probes_at +
				n_wanted * sizeof(struct dtrace_usdt_probe));
	image->probes_at = m->probes_at;
	image->stubs_at = m->text_at;

	dt_add_text(m);
	dt_add_data(m, token);
	dt_bytes_pad(m->out, m->rest_at);
	dt_add_dynamic_symbols(m);
	dt_add_notes(m);
	dt_add_frames(m);
	dt_add_symbols(m);
	uint64_t section_headers_at = dt_add_section_headers(m);
	dt_put_dynamic(m);
	dt_put_headers(m, section_headers_at);
	if (image->bytes.failed) {
		dt_bytes_free(&image->bytes);
		return dt_usdt_fail(
		    ENOMEM, "no memory for the %zu probes of provider %s",
		    n_wanted, provider);
	}
	return 0;
}
