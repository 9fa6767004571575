/* SPDX-License-Identifier: MIT */
/*
 * libdtrace: compile D, enable it, consume what it records.
 *
 * The interface is DTrace's: names, arguments and return values are those that
 * consumers on other systems use.
 *
 *   dtrace_open() -> dtrace_setopt() -> dtrace_proc_create() or _grab()
 *     -> dtrace_program_strcompile() -> dtrace_program_exec() -> dtrace_go()
 *     -> { dtrace_sleep(); dtrace_work(); } until DTRACE_WORKSTATUS_DONE
 *     -> dtrace_aggregate_print() -> dtrace_close()
 *
 * What records and aggregations hold, and the numbers of actions, aggregating functions,
 * faults and drops, is in <dtrace/actions.h> and <dtrace/faults.h>.
 *
 * A handle is for one thread at a time. Functions return -1 or NULL on error and
 * dtrace_errno(), dtrace_errmsg() tell which. No function exits or prints except to the
 * FILE that it was given, unless debug messages (_dtrace_debug) or, with -x core, an
 * end at an internal error were requested.
 *
 * Not here, of what other systems' libraries have:
 *   dtrace_vopen           its vector stands for a kernel; a crash dump of one is no
 *                          process, and the engine of processes has no ioctls
 *   dtrace_getopt_dof, dtrace_geterr_dof          dtrace_anon_save() writes all of an
 *                          anonymous enabling
 *   dtrace_stmt_create, _action, _add, _destroy   programs are made from D text
 *   dtrace_sprintf         open_memstream(3) takes what dtrace_fprintf() prints
 *   dtrace_oformat and its kin                    -x format=json is instead of libxo's forms
 *   ctf_file_t, ctf_id_t   type data is DWARF: see dtrace_type_info()
 */
#ifndef DTRACE_H
#define DTRACE_H

#include <elf.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DTRACE_VERSION 3

typedef unsigned int uint_t;
typedef struct dtrace_hdl dtrace_hdl_t;
typedef struct dtrace_prog dtrace_prog_t;
struct ps_prochandle;

typedef uint32_t dtrace_id_t;
typedef uint32_t dtrace_epid_t;
typedef uint32_t dtrace_aggid_t;
typedef int64_t dtrace_aggvarid_t;
typedef uint16_t dtrace_actkind_t;
typedef int64_t dtrace_optval_t;
typedef int processorid_t;

#define DTRACE_IDNONE 0
#define DTRACE_EPIDNONE 0
#define DTRACEOPT_UNSET ((dtrace_optval_t)-2)

/* dtrace_open() flags */
#define DTRACE_O_NODEV 0x01
#define DTRACE_O_NOSYS 0x02
#define DTRACE_O_LP64 0x04
#define DTRACE_O_ILP32 0x08

dtrace_hdl_t* dtrace_open(int version, int flags, int* error);
void dtrace_close(dtrace_hdl_t* dtp);
/* The device's descriptor; -1: there is none, as with DTRACE_O_NODEV elsewhere. */
int dtrace_ctlfd(dtrace_hdl_t* dtp);
/* Looks again at what the traced processes have loaded. */
int dtrace_update(dtrace_hdl_t* dtp);
int dtrace_errno(dtrace_hdl_t* dtp);
const char* dtrace_errmsg(dtrace_hdl_t* dtp, int error);
/* The source line of the last compile error with a caret below, "" when there is none;
 * valid until the next call. */
const char* dtrace_errquote(dtrace_hdl_t* dtp);
const char* dtrace_faultstr(dtrace_hdl_t* dtp, int fault);
const char* dtrace_subrstr(dtrace_hdl_t* dtp, int subr);
extern const char* _dtrace_version;
/* Not 0: all sessions of the process tell on stderr what they do. Set by -x debug, and by
 * dtrace_open() when DTRACE_DEBUG is in the environment. */
extern int _dtrace_debug;

/* Error numbers of our own start here; smaller ones are errno values. */
#define EDT_BASE 1000
enum {
    EDT_VERSION = EDT_BASE,
    EDT_VERSINVAL,
    EDT_VERSUNDEF,
    EDT_VERSREDUCED,
    EDT_CTF,
    EDT_COMPILER,
    EDT_NOTUPREG,
    EDT_NOMEM,
    EDT_INT2BIG,
    EDT_STR2BIG,
    EDT_NOMOD,
    EDT_NOPROV,
    EDT_NOPROBE,
    EDT_NOSYM,
    EDT_NOSYMADDR,
    EDT_NOTYPE,
    EDT_NOVAR,
    EDT_NOAGG,
    EDT_BADSCOPE,
    EDT_BADSPEC,
    EDT_BADSPCV,
    EDT_BADID,
    EDT_NOTLOADED,
    EDT_NOCTF,
    EDT_DATAMODEL,
    EDT_DIFVERS,
    EDT_BADAGG,
    EDT_FIO,
    EDT_DIFINVAL,
    EDT_DIFSIZE,
    EDT_DIFFAULT,
    EDT_BADPROBE,
    EDT_BADPGLOB,
    EDT_NOSCOPE,
    EDT_NODECL,
    EDT_DMISMATCH,
    EDT_DOFFSET,
    EDT_DALIGN,
    EDT_BADOPTNAME,
    EDT_BADOPTVAL,
    EDT_BADOPTCTX,
    EDT_CPPFORK,
    EDT_CPPEXEC,
    EDT_CPPENT,
    EDT_CPPERR,
    EDT_SYMOFLOW,
    EDT_ACTIVE,
    EDT_DESTRUCTIVE,
    EDT_NOANON,
    EDT_ISANON,
    EDT_ENDTOOBIG,
    EDT_NOCONV,
    EDT_BADCONV,
    EDT_BADERROR,
    EDT_ERRABORT,
    EDT_DROPABORT,
    EDT_DIRABORT,
    EDT_BADRVAL,
    EDT_BADNORMAL,
    EDT_BUFTOOSMALL,
    EDT_BADTRUNC,
    EDT_BUSY,
    EDT_ACCESS,
    EDT_NOENT,
    EDT_BRICKED,
    EDT_HARDWIRE,
    EDT_ELFVERSION,
    EDT_NOBUFFERED,
    EDT_UNSTABLE,
    EDT_BADSETOPT,
    EDT_BADSTACKPC,
    EDT_BADAGGVAR,
    EDT_OVERSION,
    EDT_ENABLING_ERR,
    EDT_NOPROBES,
    EDT_CANTLOAD,
};

/* --- options, by the names of dtrace -x --- */
int dtrace_setopt(dtrace_hdl_t* dtp, const char* name, const char* value);
int dtrace_getopt(dtrace_hdl_t* dtp, const char* name, dtrace_optval_t* value);

/* --- programs --- */
typedef enum {
    DTRACE_PROBESPEC_NONE = -1,
    DTRACE_PROBESPEC_PROVIDER = 0,
    DTRACE_PROBESPEC_MOD,
    DTRACE_PROBESPEC_FUNC,
    DTRACE_PROBESPEC_NAME
} dtrace_probespec_t;

#define DTRACE_C_DIFV 0x0001 /* keep DIF for dtrace_program_disasm() */
#define DTRACE_C_EMPTY 0x0002
#define DTRACE_C_ZDEFS 0x0004
#define DTRACE_C_EATTR 0x0008
#define DTRACE_C_CPP 0x0010
#define DTRACE_C_KNODEF 0x0020
#define DTRACE_C_UNODEF 0x0040
#define DTRACE_C_PSPEC 0x0080
#define DTRACE_C_ARGREF 0x0800
#define DTRACE_C_DEFARG 0x1000
#define DTRACE_C_NOLIBS 0x2000
#define DTRACE_C_CTL 0x4000
#define DTRACE_C_SUGAR 0x10000 /* keep the text for dtrace_program_text() */
#define DTRACE_C_NOENABLE 0x100000 /* ours: it will be listed or printed, not enabled */

dtrace_prog_t* dtrace_program_strcompile(dtrace_hdl_t* dtp, const char* text,
                                         dtrace_probespec_t spec, uint_t cflags,
                                         int argc, char* const argv[]);
dtrace_prog_t* dtrace_program_fcompile(dtrace_hdl_t* dtp, FILE* file, uint_t cflags,
                                       int argc, char* const argv[]);

typedef struct dtrace_attribute {
    uint8_t dtat_name, dtat_data, dtat_class;
} dtrace_attribute_t;

typedef struct dtrace_proginfo {
    dtrace_attribute_t dpi_descattr; /* weakest of the matched probes */
    dtrace_attribute_t dpi_stmtattr; /* weakest of what the statements name */
    uint_t dpi_aggregates;   /* aggregating statements */
    uint_t dpi_recgens;      /* statements that record */
    uint_t dpi_matches;      /* probe and clause pairs */
    uint_t dpi_speculations;
} dtrace_proginfo_t;

int dtrace_program_exec(dtrace_hdl_t* dtp, dtrace_prog_t* prog,
                        dtrace_proginfo_t* info);
void dtrace_program_info(dtrace_hdl_t* dtp, dtrace_prog_t* prog,
                         dtrace_proginfo_t* info);
/* A program compiled with DTRACE_C_SUGAR as D text in which each if is clauses; lives as
 * long as the program. */
const char* dtrace_program_text(dtrace_hdl_t* dtp, dtrace_prog_t* prog);
/* Writes the DIF of every object as dtrace -S shows it. */
void dtrace_program_disasm(dtrace_hdl_t* dtp, dtrace_prog_t* prog, FILE* to);

/* What programs with static probes are built with. How many provider blocks it has: */
int dtrace_program_providers(dtrace_hdl_t* dtp, dtrace_prog_t* prog);
/* Writes the header of the provider blocks of all programs: dtrace -h. source is named in
 * it. EDT_NOPROV: there is none. */
int dtrace_program_header(dtrace_hdl_t* dtp, FILE* to, const char* source);
#define DTRACE_D_STRIP 0x01  /* without the definitions that args[] are typed by */
#define DTRACE_D_PROBES 0x02 /* the provider blocks; always */
/* Writes the object file of the program's provider blocks: dtrace -G. The objects that it
 * will be linked with are looked at and not changed; one that has a probe that its provider
 * does not define is refused. */
int dtrace_program_link(dtrace_hdl_t* dtp, dtrace_prog_t* prog, uint_t dflags,
                        const char* file, int objc, char* const objv[]);

#define DTRACE_PROVNAMELEN 64
#define DTRACE_MODNAMELEN 64
#define DTRACE_FUNCNAMELEN 192
#define DTRACE_NAMELEN 64

typedef struct dtrace_probedesc {
    dtrace_id_t dtpd_id;
    char dtpd_provider[DTRACE_PROVNAMELEN];
    char dtpd_mod[DTRACE_MODNAMELEN];
    char dtpd_func[DTRACE_FUNCNAMELEN];
    char dtpd_name[DTRACE_NAMELEN];
} dtrace_probedesc_t;

/* What a program asks for: once for each probe description of each clause, macros
 * replaced. A non-zero result of func ends the iteration and is returned. */
typedef struct dtrace_ecbdesc {
    dtrace_probedesc_t dted_probe;
} dtrace_ecbdesc_t;
typedef struct dtrace_stmtdesc {
    dtrace_ecbdesc_t* dtsd_ecbdesc;
    dtrace_attribute_t dtsd_descattr, dtsd_stmtattr; /* of the clause */
} dtrace_stmtdesc_t;
typedef int dtrace_stmt_f(dtrace_hdl_t*, dtrace_prog_t*, dtrace_stmtdesc_t*, void*);
int dtrace_stmt_iter(dtrace_hdl_t* dtp, dtrace_prog_t* prog, dtrace_stmt_f* func,
                     void* arg);

/* The program as DOF; dtrace_dof_destroy() frees it. */
void* dtrace_dof_create(dtrace_hdl_t* dtp, dtrace_prog_t* prog, uint_t flags);
size_t dtrace_dof_size(const void* dof);
void dtrace_dof_destroy(dtrace_hdl_t* dtp, void* dof);

/* --- probes --- */
typedef struct dtrace_probeinfo {
    dtrace_attribute_t dtp_attr;  /* of the probe description */
    dtrace_attribute_t dtp_arga;  /* of its arguments */
    char* const* dtp_argt;        /* args[] as C declares them, until the next call */
    int dtp_argc;
} dtrace_probeinfo_t;

typedef int dtrace_probe_f(dtrace_hdl_t*, const dtrace_probedesc_t*, void*);
int dtrace_probe_iter(dtrace_hdl_t* dtp, const dtrace_probedesc_t* pattern,
                      dtrace_probe_f* func, void* arg);
int dtrace_probe_info(dtrace_hdl_t* dtp, const dtrace_probedesc_t* probe,
                      dtrace_probeinfo_t* info);
/* The places where a probe of a process fires, and what would be put there if it were
 * enabled now, together with all that the last dtrace_probe_iter() called for. Nothing is
 * changed in the process. No place: not a probe of a process. */
enum { DTRACE_SITE_JUMP, DTRACE_SITE_INT3, DTRACE_SITE_REFUSED };
typedef struct dtrace_sitedesc {
    uint64_t dtsi_addr;
    int64_t dtsi_offset;    /* from the function's start */
    int dtsi_mechanism;     /* DTRACE_SITE_* */
    const char* dtsi_text;  /* "a jump", "none: REASON", ... */
} dtrace_sitedesc_t;
typedef int dtrace_site_f(dtrace_hdl_t*, const dtrace_sitedesc_t*, void*);
int dtrace_site_iter(dtrace_hdl_t* dtp, const dtrace_probedesc_t* probe,
                     dtrace_site_f* func, void* arg);

/* Names of the providers into names, at most n_names of them; how many there are. */
int dtrace_provider_modules(dtrace_hdl_t* dtp, const char** names, int n_names);

int dtrace_str2desc(dtrace_hdl_t* dtp, dtrace_probespec_t spec, const char* text,
                    dtrace_probedesc_t* desc);
int dtrace_xstr2desc(dtrace_hdl_t* dtp, dtrace_probespec_t spec, const char* text,
                     int argc, char* const argv[], dtrace_probedesc_t* desc);
int dtrace_id2desc(dtrace_hdl_t* dtp, dtrace_id_t id, dtrace_probedesc_t* desc);
char* dtrace_desc2str(const dtrace_probedesc_t* desc, char* to, size_t len);

const char* dtrace_stability_name(uint8_t stability);
const char* dtrace_class_name(uint8_t dependency);
/* The weaker and the stronger of each part. */
dtrace_attribute_t dtrace_attr_min(dtrace_attribute_t a, dtrace_attribute_t b);
dtrace_attribute_t dtrace_attr_max(dtrace_attribute_t a, dtrace_attribute_t b);
char* dtrace_attr2str(dtrace_attribute_t attribute, char* to, size_t len);
/* "Stable/Private/Common", in letters of either case; -1: it is malformed. */
int dtrace_str2attr(const char* text, dtrace_attribute_t* attribute);

/* --- processes --- */
typedef void dtrace_proc_f(dtrace_hdl_t*, struct ps_prochandle*, void*);
/* The process waits for dtrace_proc_continue(). func may be null; it is called once with
 * the process, before it is returned. */
struct ps_prochandle* dtrace_proc_create(dtrace_hdl_t* dtp, const char* path,
                                         char* const argv[], dtrace_proc_f* func,
                                         void* arg);
struct ps_prochandle* dtrace_proc_grab(dtrace_hdl_t* dtp, pid_t pid, int flags);
void dtrace_proc_continue(dtrace_hdl_t* dtp, struct ps_prochandle* proc);
void dtrace_proc_release(dtrace_hdl_t* dtp, struct ps_prochandle* proc);
/* As waitpid(2) tells, once it has ended; -1: it is not held any more, and may live. */
int dtrace_proc_status(dtrace_hdl_t* dtp, struct ps_prochandle* proc);
/* Children that are traced because of -x follow=fork, and live. */
int dtrace_proc_followed(dtrace_hdl_t* dtp);

/*
 * Makes text of a target safe for a terminal: control characters, and bytes that are
 * not UTF-8, become \ooo. In a name every control character and backslash is escaped;
 * in other text newlines, tabs and backslashes are kept. Writes at most size bytes
 * including the terminating zero, and returns the length that the complete text has,
 * as snprintf(3) does.
 */
size_t dtrace_printable(const char* text, int is_name, char* to, size_t size);
pid_t dtrace_proc_getpid(dtrace_hdl_t* dtp, struct ps_prochandle* proc);

/* What is in a process: every place where its text is not that of its files, found by
 * reading it, whether or not anybody traces it. */
enum { DTRACE_PATCH_JUMP, DTRACE_PATCH_INT3, DTRACE_PATCH_UNKNOWN };
typedef struct dtrace_patchdesc {
    uint64_t dtpt_addr;
    uint32_t dtpt_bytes;
    int dtpt_kind;           /* DTRACE_PATCH_* */
    int dtpt_live;           /* it fires; an int3: somebody takes it */
    const char* dtpt_mod;
    const char* dtpt_func;   /* "function+0x1f", or an address */
    uint64_t dtpt_trampoline; /* of a jump */
    uint32_t dtpt_firings;   /* of a jump: probes at its places */
    const char* dtpt_text;   /* "a jump to 0x7f0000001000" */
} dtrace_patchdesc_t;
typedef struct dtrace_patchinfo {
    uint32_t dtpi_jumps, dtpi_int3s, dtpi_unknown;
    uint32_t dtpi_live;      /* of the jumps */
    uint64_t dtpi_runtime;   /* where our runtime is mapped, 0: nowhere */
    int dtpi_version;        /* 1: it is this version's, and jumps are explained by it */
    pid_t dtpi_agent;        /* whose the runtime is, while it lives */
    int dtpi_agent_lives;
    pid_t dtpi_tracer;       /* who traces it, 0: nobody */
    const char* const* dtpi_notes; /* what could not be looked at, null at its end */
} dtrace_patchinfo_t;
typedef int dtrace_patch_f(dtrace_hdl_t*, const dtrace_patchdesc_t*, void*);
/* info may be null; what it points to is valid until the next call. */
int dtrace_patch_iter(dtrace_hdl_t* dtp, pid_t pid, dtrace_patch_f* func, void* arg,
                      dtrace_patchinfo_t* info);

/* --- tracing --- */
int dtrace_go(dtrace_hdl_t* dtp);
int dtrace_stop(dtrace_hdl_t* dtp);
/* Instead of dtrace_go(): writes what was executed as an anonymous enabling, which the kernel
 * module takes up from DTRACE_ANON_FILE when it is loaded. With option grabanon dtrace_go()
 * claims it, and nothing may have been executed. EDT_NOANON: there is none. */
#define DTRACE_ANON_FILE "/etc/dtrace/anonymous"
int dtrace_anon_save(dtrace_hdl_t* dtp, FILE* to);
void dtrace_sleep(dtrace_hdl_t* dtp);
/* Wakes a dtrace_sleep(); safe in a signal handler. */
void dtrace_wakeup(dtrace_hdl_t* dtp);

enum {
    DTRACE_STATUS_NONE,
    DTRACE_STATUS_OKAY,
    DTRACE_STATUS_EXITED,  /* exit() was called */
    DTRACE_STATUS_FILLED,  /* a fill buffer is full */
    DTRACE_STATUS_STOPPED
};
int dtrace_status(dtrace_hdl_t* dtp);
/* Of the last exit() that was consumed. */
int dtrace_exit_status(dtrace_hdl_t* dtp);

typedef enum {
    DTRACEFLOW_ENTRY,
    DTRACEFLOW_RETURN,
    DTRACEFLOW_NONE
} dtrace_flowkind_t;

typedef struct dtrace_recdesc {
    dtrace_actkind_t dtrd_action;
    uint32_t dtrd_size;
    uint32_t dtrd_offset;
    uint16_t dtrd_alignment;
    uint16_t dtrd_format;
    uint64_t dtrd_arg;
    uint64_t dtrd_uarg;
} dtrace_recdesc_t;

typedef struct dtrace_eprobedesc {
    dtrace_epid_t dtepd_epid;
    dtrace_id_t dtepd_probeid;
    uint64_t dtepd_uarg;
    uint32_t dtepd_size;
    int dtepd_nrecs;
    const dtrace_recdesc_t* dtepd_rec; /* dtepd_nrecs of them */
} dtrace_eprobedesc_t;

typedef struct dtrace_probedata {
    dtrace_hdl_t* dtpda_handle;
    const dtrace_eprobedesc_t* dtpda_edesc;
    const dtrace_probedesc_t* dtpda_pdesc;
    processorid_t dtpda_cpu;
    const char* dtpda_data; /* the record, its header first */
    dtrace_flowkind_t dtpda_flow;
    const char* dtpda_prefix;
    int dtpda_indent;
    uint64_t dtpda_timestamp;
} dtrace_probedata_t;

enum {
    DTRACE_CONSUME_ERROR = -1,
    DTRACE_CONSUME_THIS = 0, /* print it */
    DTRACE_CONSUME_NEXT = 1, /* skip this record, or all of this probe */
    DTRACE_CONSUME_ABORT = 2
};
typedef int dtrace_consume_probe_f(const dtrace_probedata_t*, void*);
/* Called with a null record at the end of each probe's. */
typedef int dtrace_consume_rec_f(const dtrace_probedata_t*, const dtrace_recdesc_t*,
                                 void*);
int dtrace_consume(dtrace_hdl_t* dtp, FILE* fp, dtrace_consume_probe_f* pf,
                   dtrace_consume_rec_f* rf, void* arg);

typedef enum {
    DTRACE_WORKSTATUS_ERROR = -1,
    DTRACE_WORKSTATUS_OKAY,
    DTRACE_WORKSTATUS_DONE
} dtrace_workstatus_t;
dtrace_workstatus_t dtrace_work(dtrace_hdl_t* dtp, FILE* fp,
                                dtrace_consume_probe_f* pf, dtrace_consume_rec_f* rf,
                                void* arg);

/* --- forms of -x format --- */
/*
 * Callbacks and handlers are called whatever the form. In json and folded a record is one
 * line, which comes when its last action was asked about: what a callback skips is not in
 * it. In json faults and drops are lines, too, printed before their handlers are called. A
 * command of system() has its standard output on stderr then, so that all lines are ours.
 * Walks and the functions below print as ever.
 */

/* --- printing what was recorded --- */
/*
 * For callbacks that print on their own. Formats live as long as the handle. format null:
 * the record's own, of a printf(), system() or freopen(), and of a printa() perhaps none.
 * recs and n_recs: the records of the statement, or from one on; offsets are from buf, of
 * len bytes: dtpda_data and dtepd_size. They return how many records were used: a callback
 * that gets dtpda_edesc's records one by one passes over the others.
 * FILE null: to the buffered handler. EDT_DMISMATCH: too few records.
 */
void* dtrace_printf_create(dtrace_hdl_t* dtp, const char* format);
void* dtrace_printa_create(dtrace_hdl_t* dtp, const char* format);
/* The text of a format, cut to len; how many bytes it takes with its end. */
size_t dtrace_printf_format(dtrace_hdl_t* dtp, void* format, char* to, size_t len);
int dtrace_fprintf(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len);
/* The aggregations whose ids the records hold. */
int dtrace_fprinta(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len);
/* Runs the text as a command, after fp was flushed. */
int dtrace_system(dtrace_hdl_t* dtp, FILE* fp, void* format,
                  const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                  uint_t n_recs, const void* buf, size_t len);
/* Redirects fp to the file of that name; an empty name restores it. */
int dtrace_freopen(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len);
/* len bytes at data as a value of that type, as D's print() shows it. */
int dtrace_print(dtrace_hdl_t* dtp, FILE* fp, const char* type_name, const void* data,
                 size_t len);

/* --- handlers: one of each; return 0, or -1 to abort --- */
#define DTRACE_HANDLE_ABORT -1
#define DTRACE_HANDLE_OK 0

typedef struct dtrace_errdata {
    dtrace_hdl_t* dteda_handle;
    const dtrace_eprobedesc_t* dteda_edesc;
    const dtrace_probedesc_t* dteda_pdesc;
    processorid_t dteda_cpu;
    int dteda_action;
    int dteda_offset;
    int dteda_fault;
    uint64_t dteda_addr;
    const char* dteda_msg;
} dtrace_errdata_t;
typedef int dtrace_handle_err_f(const dtrace_errdata_t*, void*);
int dtrace_handle_err(dtrace_hdl_t* dtp, dtrace_handle_err_f* func, void* arg);

typedef struct dtrace_dropdata {
    dtrace_hdl_t* dtdda_handle;
    processorid_t dtdda_cpu; /* -1: of no CPU */
    int dtdda_kind;          /* DTRACEDROP_* of <dtrace/faults.h> */
    uint64_t dtdda_drops;    /* since the last report */
    uint64_t dtdda_total;
    const char* dtdda_msg;
} dtrace_dropdata_t;
typedef int dtrace_handle_drop_f(const dtrace_dropdata_t*, void*);
int dtrace_handle_drop(dtrace_hdl_t* dtp, dtrace_handle_drop_f* func, void* arg);

/* A target ended, or something about it must be told; message may be null. Processes that
 * nobody named, followed children and those that began later, are told too: their handle is
 * none any more after the call that says that they ended. */
typedef void dtrace_handle_proc_f(struct ps_prochandle*, const char* message, void*);
int dtrace_handle_proc(dtrace_hdl_t* dtp, dtrace_handle_proc_f* func, void* arg);

#define DTRACE_BUFDATA_AGGKEY 0x0001
#define DTRACE_BUFDATA_AGGVAL 0x0002
#define DTRACE_BUFDATA_AGGFORMAT 0x0004
#define DTRACE_BUFDATA_AGGLAST 0x0008
typedef struct dtrace_bufdata {
    dtrace_hdl_t* dtbda_handle;
    const char* dtbda_buffered; /* text, valid during the call */
    const dtrace_probedata_t* dtbda_probe;
    const dtrace_recdesc_t* dtbda_recdesc;
    const struct dtrace_aggdata* dtbda_aggdata; /* null: of no aggregation */
    uint32_t dtbda_flags;
} dtrace_bufdata_t;
typedef int dtrace_handle_buffered_f(const dtrace_bufdata_t*, void*);
/* Takes all text that is consumed with a null FILE. */
int dtrace_handle_buffered(dtrace_hdl_t* dtp, dtrace_handle_buffered_f* func,
                           void* arg);

typedef struct dtrace_setoptdata {
    dtrace_hdl_t* dtsda_handle;
    const dtrace_probedata_t* dtsda_probe;
    const char* dtsda_option;
    dtrace_optval_t dtsda_oldval, dtsda_newval;
} dtrace_setoptdata_t;
typedef int dtrace_handle_setopt_f(const dtrace_setoptdata_t*, void*);
int dtrace_handle_setopt(dtrace_hdl_t* dtp, dtrace_handle_setopt_f* func, void* arg);

/* --- aggregations --- */
/* The records of dtada_data: the variable's id, the keys, the value. The last one's
 * dtrd_action is the aggregating function, its dtrd_arg that of lquantize(). */
typedef struct dtrace_aggdesc {
    const char* dtagd_name; /* without @ */
    dtrace_aggvarid_t dtagd_varid;
    dtrace_epid_t dtagd_epid; /* of a clause that feeds it */
    uint32_t dtagd_size;      /* bytes of all records */
    int dtagd_nrecs;
    const dtrace_recdesc_t* dtagd_rec; /* dtagd_nrecs of them */
} dtrace_aggdesc_t;

typedef struct dtrace_aggdata {
    dtrace_hdl_t* dtada_handle;
    const char* dtada_name;        /* without @ */
    dtrace_aggvarid_t dtada_varid;
    uint32_t dtada_function;       /* DTRACEAGG_* */
    const dtrace_recdesc_t* dtada_keys; /* offsets are from dtada_key */
    int dtada_nkeys;
    const char* dtada_key;
    uint32_t dtada_keysize;
    const int64_t* dtada_value;    /* 64-bit words, as <dtrace/actions.h> lays out */
    uint32_t dtada_valuesize;      /* bytes */
    int64_t dtada_normal;
    /* The same in the form of other systems. */
    dtrace_aggdesc_t* dtada_desc;
    char* dtada_data; /* offsets of dtada_desc are from here */
    size_t dtada_size;
    const dtrace_eprobedesc_t* dtada_edesc; /* of dtagd_epid */
    const dtrace_probedesc_t* dtada_pdesc;
    /* With -x aggpercpu, else null: the values of which dtada_value is the sum (of min and
     * max: the extreme), each of dtada_valuesize bytes. All but the last are those of CPUs,
     * by number; the last is what was counted where no CPU is known. A thread that finds
     * the buffer of its CPU in use takes the next one, and counts as that one's. */
    char** dtada_percpu;
    int dtada_npercpu;
} dtrace_aggdata_t;

enum {
    DTRACE_AGGWALK_ERROR = -1,
    DTRACE_AGGWALK_NEXT = 0,
    DTRACE_AGGWALK_ABORT,
    DTRACE_AGGWALK_CLEAR,
    DTRACE_AGGWALK_NORMALIZE, /* by the dtada_normal that the function has left there */
    DTRACE_AGGWALK_DENORMALIZE,
    DTRACE_AGGWALK_REMOVE
};
typedef int dtrace_aggregate_f(const dtrace_aggdata_t*, void*);
typedef int dtrace_aggregate_walk_f(dtrace_hdl_t*, dtrace_aggregate_f*, void*);
int dtrace_aggregate_snap(dtrace_hdl_t* dtp);
int dtrace_aggregate_walk(dtrace_hdl_t* dtp, dtrace_aggregate_f* func, void* arg);
int dtrace_aggregate_walk_sorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                 void* arg);
int dtrace_aggregate_walk_keysorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                    void* arg);
int dtrace_aggregate_walk_valsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                    void* arg);
int dtrace_aggregate_walk_keyrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg);
int dtrace_aggregate_walk_valrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg);
/* Equal ones in the order of their variables. */
int dtrace_aggregate_walk_keyvarsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg);
int dtrace_aggregate_walk_valvarsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg);
int dtrace_aggregate_walk_keyvarrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                          void* arg);
int dtrace_aggregate_walk_valvarrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                          void* arg);
/* Once for each key of several aggregations, in the order of printa(). The first of the
 * n_ids + 1 is one of those that have the key, the others are theirs in the order of ids:
 * nothing counted where there is none. What func wants done is done to all of the row. */
typedef int dtrace_aggregate_walk_joined_f(const dtrace_aggdata_t**, int, void*);
int dtrace_aggregate_walk_joined(dtrace_hdl_t* dtp, const dtrace_aggvarid_t* ids,
                                 int n_ids, dtrace_aggregate_walk_joined_f* func,
                                 void* arg);
/* Prints every aggregation that printa() did not print; walk is kept for portability
 * and may be null. */
int dtrace_aggregate_print(dtrace_hdl_t* dtp, FILE* fp, dtrace_aggregate_walk_f* walk);
void dtrace_aggregate_clear(dtrace_hdl_t* dtp);

/* --- symbols of a traced process --- */
int dtrace_uaddr2str(dtrace_hdl_t* dtp, pid_t pid, uint64_t addr, char* to, size_t len);
/* Of the kernel: "vmlinux`vfs_read+0x1"; a number when its symbols may not be seen. */
int dtrace_addr2str(dtrace_hdl_t* dtp, uint64_t addr, char* to, int len);

/*
 * An object is a module as D names it: "a.out", "libc.so.6", "pid42`libc.so.6"; the
 * first traced process is meant where none is named. EVERY and UMODS are all modules of
 * it; KMODS are the kernel's, in which dtrace_lookup_by_name() looks for a symbol, and which
 * are not there for all else: EDT_NOMOD. Names that are returned live
 * as long as the handle.
 */
#define DTRACE_OBJ_EXEC ((const char*)0L)
#define DTRACE_OBJ_RTLD ((const char*)1L)
#define DTRACE_OBJ_KMODS ((const char*)-1L)
#define DTRACE_OBJ_UMODS ((const char*)-2L)
#define DTRACE_OBJ_EVERY ((const char*)-3L)

#define DTRACE_OBJ_F_KERNEL 0x1
#define DTRACE_OBJ_F_PRIMARY 0x2 /* the program */
typedef struct dtrace_objinfo {
    const char* dto_name;
    const char* dto_file; /* as the process sees it */
    int dto_id;           /* among its modules, in the order of addresses */
    uint_t dto_flags;
    /* Addresses in the process, 0 and 0 where there is none; sizes in bytes. */
    Elf64_Addr dto_text_va;
    Elf64_Xword dto_text_size;
    Elf64_Addr dto_data_va;
    Elf64_Xword dto_data_size;
    Elf64_Addr dto_bss_va;
    Elf64_Xword dto_bss_size;
} dtrace_objinfo_t;
typedef int dtrace_obj_f(dtrace_hdl_t*, const dtrace_objinfo_t*, void*);
/* The modules of the first traced process; a non-zero result of func is returned. */
int dtrace_object_iter(dtrace_hdl_t* dtp, dtrace_obj_f* func, void* arg);
int dtrace_object_info(dtrace_hdl_t* dtp, const char* object, dtrace_objinfo_t* info);

typedef struct dtrace_syminfo {
    const char* dts_object;
    const char* dts_name;
    unsigned long dts_id; /* always 0 */
} dtrace_syminfo_t;
/* A function, or else a variable. sym and info may be null. st_value is an address in the
 * process; st_size 0: not known, as of a variable without type data. EDT_NOSYM. */
int dtrace_lookup_by_name(dtrace_hdl_t* dtp, const char* object, const char* name,
                          Elf64_Sym* sym, dtrace_syminfo_t* info);
/* The function at an address of the first traced process. EDT_NOSYMADDR. */
int dtrace_lookup_by_addr(dtrace_hdl_t* dtp, Elf64_Addr addr, Elf64_Sym* sym,
                          dtrace_syminfo_t* info);

/* --- types --- */
/*
 * Where other systems have CTF, modules have DWARF, and a consumer gets a description
 * that it can walk: kind, size, name, what it is made of. A type lives as long as the handle.
 */
typedef struct dtrace_type dtrace_type_t;
#define DTT_FL_USER 0x1 /* of a traced process, not D's own */
typedef struct dtrace_typeinfo {
    const char* dtt_object; /* the module, "D" of D's own */
    const dtrace_type_t* dtt_type;
    uint_t dtt_flags;
} dtrace_typeinfo_t;
/* "int", "struct foo *", "foo_t". EVERY: of a module, or else D's own. EDT_NOTYPE;
 * EDT_NOCTF: the module has no type data. */
int dtrace_lookup_by_type(dtrace_hdl_t* dtp, const char* object, const char* name,
                          dtrace_typeinfo_t* info);
/* Of what dtrace_lookup_by_name() or _by_addr() found; sym may be null. */
int dtrace_symbol_type(dtrace_hdl_t* dtp, const Elf64_Sym* sym,
                       const dtrace_syminfo_t* symbol, dtrace_typeinfo_t* info);
/* A type as D writes it. EDT_COMPILER. */
int dtrace_type_strcompile(dtrace_hdl_t* dtp, const char* text,
                           dtrace_typeinfo_t* info);
int dtrace_type_fcompile(dtrace_hdl_t* dtp, FILE* file, dtrace_typeinfo_t* info);

enum {
    DTRACE_TYPE_VOID,
    DTRACE_TYPE_INTEGER, /* characters and booleans, too */
    DTRACE_TYPE_FLOAT,
    DTRACE_TYPE_POINTER,
    DTRACE_TYPE_ARRAY,
    DTRACE_TYPE_FUNCTION,
    DTRACE_TYPE_STRUCT,
    DTRACE_TYPE_UNION,
    DTRACE_TYPE_ENUM,
    DTRACE_TYPE_TYPEDEF, /* also const and volatile */
    DTRACE_TYPE_STRING,  /* D's */
    DTRACE_TYPE_OTHER    /* only declared, or a stack or symbol of D */
};
typedef struct dtrace_typedesc {
    int dtty_kind;
    const char* dtty_name; /* as messages have it: "struct foo *" */
    uint64_t dtty_size;    /* bytes */
    int dtty_signed;       /* of an integer */
    /* Pointer, array: of what; typedef: for what; function: its result; else null. */
    const dtrace_type_t* dtty_base;
    uint64_t dtty_count; /* of an array: elements */
} dtrace_typedesc_t;
int dtrace_type_info(dtrace_hdl_t* dtp, const dtrace_type_t* type,
                     dtrace_typedesc_t* desc);
typedef struct dtrace_memberdesc {
    const char* dtmb_name;          /* "" when it has none */
    const dtrace_type_t* dtmb_type; /* null of an enumerator */
    uint64_t dtmb_offset;           /* bits, from the start */
    uint32_t dtmb_bits;             /* of a bit-field, else 0 */
    int64_t dtmb_value;             /* of an enumerator */
} dtrace_memberdesc_t;
typedef int dtrace_member_f(dtrace_hdl_t*, const dtrace_memberdesc_t*, void*);
/* Members of a struct or union, enumerators, or parameters of a function, behind typedefs;
 * others have none. A non-zero result of func is returned. */
int dtrace_type_member_iter(dtrace_hdl_t* dtp, const dtrace_type_t* type,
                            dtrace_member_f* func, void* arg);

#ifdef __cplusplus
}
#endif

#endif
