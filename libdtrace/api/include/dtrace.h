/* SPDX-License-Identifier: MIT */
/*
 * libdtrace compiles D programs, enables them, and consumes the data that they record.
 * The names, arguments and return values are those of DTrace on other systems.
 *
 *   dtrace_open() -> dtrace_setopt() -> dtrace_proc_create() or _grab()
 *     -> dtrace_program_strcompile() -> dtrace_program_exec() -> dtrace_go()
 *     -> { dtrace_sleep(); dtrace_work(); } until DTRACE_WORKSTATUS_DONE
 *     -> dtrace_aggregate_print() -> dtrace_close()
 *
 * <dtrace/actions.h> and <dtrace/faults.h> describe the contents of records and
 * aggregations, and the numbers of actions, aggregating functions, faults and drops.
 *
 * Only one thread may use a handle at a time. Functions return -1 or NULL on error;
 * dtrace_errno() and dtrace_errmsg() then describe the error. No function ends the
 * process, except that -x core dumps core after an internal error. Functions print only
 * to the FILE that they were given, except debug messages (_dtrace_debug).
 *
 * These functions of DTrace on other systems do not exist here. The right column says
 * what to use instead.
 *
 *   dtrace_vopen           no replacement
 *   dtrace_getopt_dof, dtrace_geterr_dof         use dtrace_anon_save(), which writes a
 *                          complete anonymous enabling
 *   dtrace_stmt_create, _action, _add, _destroy   write the program as D text
 *   dtrace_sprintf         use open_memstream(3) with dtrace_fprintf()
 *   dtrace_oformat and related functions          use -x format=json instead of libxo
 *   ctf_file_t, ctf_id_t   types come from DWARF; use dtrace_type_info()
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
/* Exists for compatibility. Always returns -1. */
int dtrace_ctlfd(dtrace_hdl_t* dtp);
/* Updates the lists of loaded modules of the traced processes and the kernel. */
int dtrace_update(dtrace_hdl_t* dtp);
int dtrace_errno(dtrace_hdl_t* dtp);
const char* dtrace_errmsg(dtrace_hdl_t* dtp, int error);
/*
 * Returns the source line of the last compile error with a caret below it. Returns ""
 * if there was no such error, or if the error is in a D library. The text is valid
 * until the next compilation.
 */
const char* dtrace_errquote(dtrace_hdl_t* dtp);
const char* dtrace_faultstr(dtrace_hdl_t* dtp, int fault);
const char* dtrace_subrstr(dtrace_hdl_t* dtp, int subr);
extern const char* _dtrace_version;
/*
 * If not 0, all sessions of the process print debug messages on stderr. Set by -x
 * debug, and by dtrace_open() if DTRACE_DEBUG is in the environment.
 */
extern int _dtrace_debug;

/* Our own error numbers start here; smaller numbers are errno values. */
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

/* --- options, which have the same names as in dtrace -x --- */
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

#define DTRACE_C_DIFV 0x0001 /* no effect: the DIF is always kept */
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
/*
 * The program will be listed or printed, but not enabled. Other systems do not have
 * this flag.
 */
#define DTRACE_C_NOENABLE 0x100000

dtrace_prog_t* dtrace_program_strcompile(dtrace_hdl_t* dtp, const char* text,
                                         dtrace_probespec_t spec, uint_t cflags,
                                         int argc, char* const argv[]);
dtrace_prog_t* dtrace_program_fcompile(dtrace_hdl_t* dtp, FILE* file, uint_t cflags,
                                       int argc, char* const argv[]);

typedef struct dtrace_attribute {
    uint8_t dtat_name, dtat_data, dtat_class;
} dtrace_attribute_t;

typedef struct dtrace_proginfo {
    /* the weakest attributes of the probe descriptions of all clauses */
    dtrace_attribute_t dpi_descattr;
    /* the weakest attributes of all names that the clauses use */
    dtrace_attribute_t dpi_stmtattr;
    uint_t dpi_aggregates;   /* number of aggregating statements */
    uint_t dpi_recgens;      /* number of statements that record data */
    uint_t dpi_matches;      /* number of pairs of a clause and a matched probe */
    uint_t dpi_speculations; /* number of calls to speculate() */
} dtrace_proginfo_t;

int dtrace_program_exec(dtrace_hdl_t* dtp, dtrace_prog_t* prog,
                        dtrace_proginfo_t* info);
void dtrace_program_info(dtrace_hdl_t* dtp, dtrace_prog_t* prog,
                         dtrace_proginfo_t* info);
/*
 * Returns the text of a program compiled with DTRACE_C_SUGAR, in which each if
 * statement has been rewritten as clauses. The text is valid until dtrace_close().
 */
const char* dtrace_program_text(dtrace_hdl_t* dtp, dtrace_prog_t* prog);
/* Prints every DIFO of the program in the format of dtrace -S. */
void dtrace_program_disasm(dtrace_hdl_t* dtp, dtrace_prog_t* prog, FILE* to);

/* Returns the number of provider blocks in the program. */
int dtrace_program_providers(dtrace_hdl_t* dtp, dtrace_prog_t* prog);
/*
 * Writes the header for the provider blocks of all programs (dtrace -h). The header
 * names `source` as its source. Fails with EDT_NOPROV if there are no provider blocks.
 */
int dtrace_program_header(dtrace_hdl_t* dtp, FILE* to, const char* source);
/* omit the definitions that give args[] their types */
#define DTRACE_D_STRIP 0x01
#define DTRACE_D_PROBES 0x02 /* no effect: the provider blocks are always written */
/*
 * Writes the object file for the program's provider blocks (dtrace -G). If prog is
 * null, writes it for the provider blocks of all programs. objv names the objects that
 * the file will be linked with; they are read but not changed. Fails if an object
 * contains a probe that the probe's provider block does not define.
 */
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

/*
 * dtrace_stmt_iter() calls func for each probe description of each clause, with macros
 * expanded. A non-zero result of func ends the iteration and is returned.
 */
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

/* Returns the program as DOF. The caller frees it with dtrace_dof_destroy(). */
void* dtrace_dof_create(dtrace_hdl_t* dtp, dtrace_prog_t* prog, uint_t flags);
size_t dtrace_dof_size(const void* dof);
void dtrace_dof_destroy(dtrace_hdl_t* dtp, void* dof);

/* --- probes --- */
typedef struct dtrace_probeinfo {
    dtrace_attribute_t dtp_attr;  /* attributes of the probe description */
    dtrace_attribute_t dtp_arga;  /* attributes of the probe's arguments */
    /*
     * The C declarations of args[]. The pointers in this struct are valid until the
     * next call to dtrace_probe_info().
     */
    char* const* dtp_argt;
    int dtp_argc;
    /*
     * The reason why the types of the arguments are unknown, or null if they are known.
     */
    const char* dtp_why;
} dtrace_probeinfo_t;

typedef int dtrace_probe_f(dtrace_hdl_t*, const dtrace_probedesc_t*, void*);
int dtrace_probe_iter(dtrace_hdl_t* dtp, const dtrace_probedesc_t* pattern,
                      dtrace_probe_f* func, void* arg);
int dtrace_probe_info(dtrace_hdl_t* dtp, const dtrace_probedesc_t* probe,
                      dtrace_probeinfo_t* info);
/*
 * Visits the sites of a probe in a process, with the patch that would be written to
 * each site. The plan assumes that all probes of the last dtrace_probe_iter() are
 * enabled. The process is not changed. A probe that is not in a process has no sites.
 */
enum { DTRACE_SITE_JUMP, DTRACE_SITE_INT3, DTRACE_SITE_REFUSED };
typedef struct dtrace_sitedesc {
    uint64_t dtsi_addr;
    int64_t dtsi_offset;    /* in bytes from the start of the function */
    int dtsi_mechanism;     /* DTRACE_SITE_* */
    const char* dtsi_text;  /* "a jump", "none: REASON", ... */
} dtrace_sitedesc_t;
typedef int dtrace_site_f(dtrace_hdl_t*, const dtrace_sitedesc_t*, void*);
int dtrace_site_iter(dtrace_hdl_t* dtp, const dtrace_probedesc_t* probe,
                     dtrace_site_f* func, void* arg);

/*
 * Stores the names of at most n_names providers in names. Returns the total number of
 * providers, which may be larger than n_names.
 */
int dtrace_provider_modules(dtrace_hdl_t* dtp, const char** names, int n_names);

int dtrace_str2desc(dtrace_hdl_t* dtp, dtrace_probespec_t spec, const char* text,
                    dtrace_probedesc_t* desc);
int dtrace_xstr2desc(dtrace_hdl_t* dtp, dtrace_probespec_t spec, const char* text,
                     int argc, char* const argv[], dtrace_probedesc_t* desc);
int dtrace_id2desc(dtrace_hdl_t* dtp, dtrace_id_t id, dtrace_probedesc_t* desc);
char* dtrace_desc2str(const dtrace_probedesc_t* desc, char* to, size_t len);

const char* dtrace_stability_name(uint8_t stability);
const char* dtrace_class_name(uint8_t dependency);
/*
 * Return the weaker (min) or the stronger (max) of two attributes, separately for each
 * of the three parts.
 */
dtrace_attribute_t dtrace_attr_min(dtrace_attribute_t a, dtrace_attribute_t b);
dtrace_attribute_t dtrace_attr_max(dtrace_attribute_t a, dtrace_attribute_t b);
char* dtrace_attr2str(dtrace_attribute_t attribute, char* to, size_t len);
/*
 * Parses "Stable/Private/Common", in upper or lower case. Returns -1 if the text is
 * malformed.
 */
int dtrace_str2attr(const char* text, dtrace_attribute_t* attribute);

/* --- processes --- */
typedef void dtrace_proc_f(dtrace_hdl_t*, struct ps_prochandle*, void*);
/*
 * Starts a program in a new process. The process is stopped until
 * dtrace_proc_continue(). If func is not null, it is called with the new process before
 * this function returns.
 */
struct ps_prochandle* dtrace_proc_create(dtrace_hdl_t* dtp, const char* path,
                                         char* const argv[], dtrace_proc_f* func,
                                         void* arg);
struct ps_prochandle* dtrace_proc_grab(dtrace_hdl_t* dtp, pid_t pid, int flags);
void dtrace_proc_continue(dtrace_hdl_t* dtp, struct ps_prochandle* proc);
void dtrace_proc_release(dtrace_hdl_t* dtp, struct ps_prochandle* proc);
/*
 * Returns the status from waitpid(2) if the process has exited, and 0 if it is traced
 * or has been released. An exit with status 0 is also reported as 0. Returns -1 if the
 * session has lost the process, which may still run.
 */
int dtrace_proc_status(dtrace_hdl_t* dtp, struct ps_prochandle* proc);
/* Returns the number of living children that are traced because of -x follow=fork. */
int dtrace_proc_followed(dtrace_hdl_t* dtp);

/*
 * Makes text from a target safe for a terminal. Control characters, and bytes that are
 * not UTF-8, become octal escapes (\ooo). Newlines, tabs and backslashes are escaped
 * only if is_name is not 0. Writes at most size bytes including the terminating zero.
 * Returns the length of the entire text, as snprintf(3) does.
 */
size_t dtrace_printable(const char* text, int is_name, char* to, size_t size);
pid_t dtrace_proc_getpid(dtrace_hdl_t* dtp, struct ps_prochandle* proc);

/*
 * A patch is a place where the code of a process differs from the file from which it
 * was mapped. The process need not be traced, because only its memory is read.
 */
enum { DTRACE_PATCH_JUMP, DTRACE_PATCH_INT3, DTRACE_PATCH_UNKNOWN };
typedef struct dtrace_patchdesc {
    uint64_t dtpt_addr;
    uint32_t dtpt_bytes;
    int dtpt_kind;           /* DTRACE_PATCH_* */
    /* for a jump: whether it fires probes; for an int3: whether a tracer handles it */
    int dtpt_live;
    const char* dtpt_mod;
    const char* dtpt_func;   /* "function+0x1f", or an address */
    uint64_t dtpt_trampoline; /* for a jump */
    uint32_t dtpt_firings;   /* for a jump: number of probes that it fires */
    const char* dtpt_text;   /* "a jump to 0x7f0000001000" */
} dtrace_patchdesc_t;
typedef struct dtrace_patchinfo {
    uint32_t dtpi_jumps, dtpi_int3s, dtpi_unknown;
    uint32_t dtpi_live;      /* number of live jumps */
    /* address of our runtime in the process, or 0 if there is none */
    uint64_t dtpi_runtime;
    /*
     * 1 if the runtime has this library's version. Otherwise the runtime's jumps cannot
     * be listed.
     */
    int dtpi_version;
    /* pid of the runtime's agent; 0 if the agent has died or is not known */
    pid_t dtpi_agent;
    int dtpi_agent_lives;
    pid_t dtpi_tracer;       /* pid of the process's tracer, or 0 if there is none */
    /* a null-terminated list of the files that could not be compared */
    const char* const* dtpi_notes;
} dtrace_patchinfo_t;
typedef int dtrace_patch_f(dtrace_hdl_t*, const dtrace_patchdesc_t*, void*);
/* info may be null. The pointers in *info are valid until the next call. */
int dtrace_patch_iter(dtrace_hdl_t* dtp, pid_t pid, dtrace_patch_f* func, void* arg,
                      dtrace_patchinfo_t* info);

/* --- tracing --- */
int dtrace_go(dtrace_hdl_t* dtp);
int dtrace_stop(dtrace_hdl_t* dtp);
/*
 * Writes an anonymous enabling, which contains the programs that were passed to
 * dtrace_program_exec(). Call this function instead of dtrace_go(). The kernel module
 * reads the enabling from DTRACE_ANON_FILE when the module is loaded.
 *
 * In a later session with the option grabanon, dtrace_go() claims the enabling. The
 * call fails with EDT_ISANON if the session has called dtrace_program_exec(), and with
 * EDT_NOANON if there is no enabling.
 */
#define DTRACE_ANON_FILE "/etc/dtrace/anonymous"
int dtrace_anon_save(dtrace_hdl_t* dtp, FILE* to);
void dtrace_sleep(dtrace_hdl_t* dtp);
/* Makes dtrace_sleep() return. May be called from a signal handler. */
void dtrace_wakeup(dtrace_hdl_t* dtp);

enum {
    DTRACE_STATUS_NONE,
    DTRACE_STATUS_OKAY,
    DTRACE_STATUS_EXITED,  /* exit() was called */
    DTRACE_STATUS_FILLED,  /* a buffer is full, with -x bufpolicy=fill */
    DTRACE_STATUS_STOPPED
};
int dtrace_status(dtrace_hdl_t* dtp);
/* Returns the status of the last exit() that was consumed. */
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
    const dtrace_recdesc_t* dtepd_rec; /* array of dtepd_nrecs */
} dtrace_eprobedesc_t;

typedef struct dtrace_probedata {
    dtrace_hdl_t* dtpda_handle;
    const dtrace_eprobedesc_t* dtpda_edesc;
    const dtrace_probedesc_t* dtpda_pdesc;
    processorid_t dtpda_cpu;
    const char* dtpda_data; /* the record, starting with its header */
    dtrace_flowkind_t dtpda_flow;
    const char* dtpda_prefix;
    int dtpda_indent;
    uint64_t dtpda_timestamp;
} dtrace_probedata_t;

enum {
    DTRACE_CONSUME_ERROR = -1,
    DTRACE_CONSUME_THIS = 0, /* print the record */
    /*
     * from a record function: skip the record; from a probe function: skip all records
     * of the firing
     */
    DTRACE_CONSUME_NEXT = 1,
    DTRACE_CONSUME_ABORT = 2
};
typedef int dtrace_consume_probe_f(const dtrace_probedata_t*, void*);
/* Called for each record of a firing, then once with a null record. */
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

/* --- output formats (-x format) --- */
/*
 * Callbacks and handlers are called for every format.
 *
 * With the formats json and folded, the lines for a firing are printed after the
 * callback for its last action. Actions that a callback has skipped are not printed.
 * The standard output of a system() command goes to stderr.
 *
 * With the format json, each fault and each drop is also printed, before its handler is
 * called.
 *
 * The dtrace_aggregate_walk functions and the functions of the section "printing
 * records" ignore -x format.
 */

/* --- printing records --- */
/*
 * These functions are for callbacks that print records themselves.
 *
 * Formats stay valid until dtrace_close(). A null format means the format of the
 * statement that made the record. If this statement is a printa() without a format,
 * dtrace_fprinta() prints in the default form. If fp is null, the text is passed to the
 * handler that dtrace_handle_buffered() has set.
 *
 * recs points to the first record to print, and n_recs counts this record and all
 * records after it. The records' offsets are relative to buf, which has len bytes.
 * Callers pass dtpda_data as buf and dtepd_size as len.
 *
 * The functions return the number n of records that they used. A callback that is
 * called for each record must then ignore the calls for the next n - 1 records. The
 * functions fail with EDT_DMISMATCH if there are too few records.
 */
void* dtrace_printf_create(dtrace_hdl_t* dtp, const char* format);
void* dtrace_printa_create(dtrace_hdl_t* dtp, const char* format);
/*
 * Copies the text of a format, truncated to len bytes. Returns the size of the entire
 * text, including its terminating zero.
 */
size_t dtrace_printf_format(dtrace_hdl_t* dtp, void* format, char* to, size_t len);
int dtrace_fprintf(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len);
/* Prints the aggregations whose ids are in the records. */
int dtrace_fprinta(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len);
/* Flushes fp, then runs the formatted text as a command. */
int dtrace_system(dtrace_hdl_t* dtp, FILE* fp, void* format,
                  const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                  uint_t n_recs, const void* buf, size_t len);
/* Redirects fp to the named file. An empty name restores the original file. */
int dtrace_freopen(dtrace_hdl_t* dtp, FILE* fp, void* format,
                   const dtrace_probedata_t* data, const dtrace_recdesc_t* recs,
                   uint_t n_recs, const void* buf, size_t len);
/* Prints len bytes at data as a value of this type, in the format of D's print(). */
int dtrace_print(dtrace_hdl_t* dtp, FILE* fp, const char* type_name, const void* data,
                 size_t len);

/* --- handlers (a session has at most one of each kind) --- */
/* The return values of a handler for errors, drops or buffered text. */
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
    processorid_t dtdda_cpu; /* -1 if not specific to a CPU */
    int dtdda_kind;          /* DTRACEDROP_* of <dtrace/faults.h> */
    uint64_t dtdda_drops;    /* since the last report */
    uint64_t dtdda_total;
    const char* dtdda_msg;
} dtrace_dropdata_t;
typedef int dtrace_handle_drop_f(const dtrace_dropdata_t*, void*);
int dtrace_handle_drop(dtrace_hdl_t* dtp, dtrace_handle_drop_f* func, void* arg);

/*
 * Called when a target exits, and for messages about a target or the session. message
 * may be null if a target exits. The handle is null for a message about the session.
 * Followed children, and new processes in which probe descriptions match, are also
 * targets. Their handles are invalid after the call that reports their exit.
 */
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
    /* null if the text is not from an aggregation */
    const struct dtrace_aggdata* dtbda_aggdata;
    uint32_t dtbda_flags;
} dtrace_bufdata_t;
typedef int dtrace_handle_buffered_f(const dtrace_bufdata_t*, void*);
/* The handler receives all text that is printed to a null FILE. */
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
/*
 * Describes the records of dtada_data: the variable's id, the keys and the value. In
 * the record of the value, dtrd_action is the aggregating function. dtrd_arg contains
 * the parameters of lquantize() and llquantize().
 */
typedef struct dtrace_aggdesc {
    const char* dtagd_name; /* without @ */
    dtrace_aggvarid_t dtagd_varid;
    dtrace_epid_t dtagd_epid; /* EPID of a clause that assigns to the aggregation */
    uint32_t dtagd_size;      /* total size of the records in bytes */
    int dtagd_nrecs;
    const dtrace_recdesc_t* dtagd_rec; /* array of dtagd_nrecs */
} dtrace_aggdesc_t;

typedef struct dtrace_aggdata {
    dtrace_hdl_t* dtada_handle;
    const char* dtada_name;        /* without @ */
    dtrace_aggvarid_t dtada_varid;
    uint32_t dtada_function;       /* DTRACEAGG_* */
    const dtrace_recdesc_t* dtada_keys; /* offsets are relative to dtada_key */
    int dtada_nkeys;
    const char* dtada_key;
    uint32_t dtada_keysize;
    /* 64-bit words in the layout of <dtrace/actions.h> */
    const int64_t* dtada_value;
    uint32_t dtada_valuesize;      /* bytes */
    int64_t dtada_normal;
    /* The keys and the value again, in the form that other systems use. */
    dtrace_aggdesc_t* dtada_desc;
    char* dtada_data; /* base of the offsets in dtada_desc */
    size_t dtada_size;
    const dtrace_eprobedesc_t* dtada_edesc; /* the ECB whose EPID is dtagd_epid */
    const dtrace_probedesc_t* dtada_pdesc;
    /*
     * Null without -x aggpercpu. Otherwise the values that were merged into
     * dtada_value, each of dtada_valuesize bytes, in the order of CPU numbers. The last
     * value is for data whose CPU is not known. A value may include data of other CPUs,
     * because a thread uses another CPU's buffer while its own is busy.
     */
    char** dtada_percpu;
    int dtada_npercpu;
} dtrace_aggdata_t;

enum {
    DTRACE_AGGWALK_ERROR = -1,
    DTRACE_AGGWALK_NEXT = 0,
    DTRACE_AGGWALK_ABORT,
    DTRACE_AGGWALK_CLEAR,
    /* divide the value by dtada_normal, which the callback has set */
    DTRACE_AGGWALK_NORMALIZE,
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
/*
 * These functions sort like the functions without "var" in their names. Entries with
 * equal keys (or values) are sorted by their variables' ids. The ids descend if the
 * function's name contains "rev". Otherwise they ascend.
 */
int dtrace_aggregate_walk_keyvarsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg);
int dtrace_aggregate_walk_valvarsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                       void* arg);
int dtrace_aggregate_walk_keyvarrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                          void* arg);
int dtrace_aggregate_walk_valvarrevsorted(dtrace_hdl_t* dtp, dtrace_aggregate_f* func,
                                          void* arg);
/*
 * Calls func once for each key of several aggregations, in the order in which printa()
 * prints the keys. The first of the n_ids + 1 entries is any entry that has the key.
 * The entries of the aggregations follow in the order of ids. If an aggregation does
 * not have the key, its entry is empty. The result of func applies to the entire row.
 */
typedef int dtrace_aggregate_walk_joined_f(const dtrace_aggdata_t**, int, void*);
int dtrace_aggregate_walk_joined(dtrace_hdl_t* dtp, const dtrace_aggvarid_t* ids,
                                 int n_ids, dtrace_aggregate_walk_joined_f* func,
                                 void* arg);
/* Prints every aggregation that printa() has not printed. walk is ignored. */
int dtrace_aggregate_print(dtrace_hdl_t* dtp, FILE* fp, dtrace_aggregate_walk_f* walk);
void dtrace_aggregate_clear(dtrace_hdl_t* dtp);

/* --- symbols of a traced process --- */
int dtrace_uaddr2str(dtrace_hdl_t* dtp, pid_t pid, uint64_t addr, char* to, size_t len);
/*
 * Formats a kernel address, for example as "vmlinux`vfs_read+0x1", or as a
 * number if its symbol is not known.
 */
int dtrace_addr2str(dtrace_hdl_t* dtp, uint64_t addr, char* to, int len);

/*
 * An object names a module in D's notation: "a.out", "libc.so.6", "pid42`libc.so.6". An
 * object without a process refers to the first traced process. EXEC stands for the
 * program of the first traced process, RTLD for its dynamic linker, and EVERY and UMODS
 * for all its modules. KMODS stands for the kernel's modules. Only
 * dtrace_lookup_by_name() accepts KMODS; all other functions fail with EDT_NOMOD.
 * Returned names stay valid until dtrace_close().
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
    const char* dto_file; /* path as the process sees it */
    /* index among the modules of the process, sorted by address */
    int dto_id;
    uint_t dto_flags;
    /* addresses in the process, sizes in bytes; 0 if the module has no such segment */
    Elf64_Addr dto_text_va;
    Elf64_Xword dto_text_size;
    Elf64_Addr dto_data_va;
    Elf64_Xword dto_data_size;
    Elf64_Addr dto_bss_va;
    Elf64_Xword dto_bss_size;
} dtrace_objinfo_t;
typedef int dtrace_obj_f(dtrace_hdl_t*, const dtrace_objinfo_t*, void*);
/*
 * Visits the modules of the first traced process. A non-zero result of func
 * ends the iteration and is returned.
 */
int dtrace_object_iter(dtrace_hdl_t* dtp, dtrace_obj_f* func, void* arg);
int dtrace_object_info(dtrace_hdl_t* dtp, const char* object, dtrace_objinfo_t* info);

typedef struct dtrace_syminfo {
    const char* dts_object;
    const char* dts_name;
    unsigned long dts_id; /* always 0 */
} dtrace_syminfo_t;
/*
 * Finds a function with this name or, if there is none, a variable. sym and info may be
 * null. st_value is an address in the process. st_size is 0 if the size is not known.
 * Errors: EDT_NOMOD, EDT_NOSYM.
 */
int dtrace_lookup_by_name(dtrace_hdl_t* dtp, const char* object, const char* name,
                          Elf64_Sym* sym, dtrace_syminfo_t* info);
/*
 * Finds the function at an address of the first traced process. Errors: EDT_NOMOD,
 * EDT_NOSYMADDR.
 */
int dtrace_lookup_by_addr(dtrace_hdl_t* dtp, Elf64_Addr addr, Elf64_Sym* sym,
                          dtrace_syminfo_t* info);

/* --- types --- */
/*
 * Types come from DWARF instead of the CTF of other systems. A type stays valid until
 * dtrace_close().
 */
typedef struct dtrace_type dtrace_type_t;
#define DTT_FL_USER 0x1 /* belongs to a traced process, not to D */
typedef struct dtrace_typeinfo {
    const char* dtt_object; /* the module; "D" for D's own types */
    const dtrace_type_t* dtt_type;
    uint_t dtt_flags;
} dtrace_typeinfo_t;
/*
 * Finds a type such as "int", "struct foo *" or "foo_t". If object is DTRACE_OBJ_EVERY,
 * searches all modules, then D's own types. Errors: EDT_NOTYPE if there is no such
 * type, EDT_NOCTF if the module has no type data.
 */
int dtrace_lookup_by_type(dtrace_hdl_t* dtp, const char* object, const char* name,
                          dtrace_typeinfo_t* info);
/*
 * Returns the type of a symbol found by dtrace_lookup_by_name() or _by_addr(). sym may
 * be null.
 */
int dtrace_symbol_type(dtrace_hdl_t* dtp, const Elf64_Sym* sym,
                       const dtrace_syminfo_t* symbol, dtrace_typeinfo_t* info);
/* Finds the type that the text denotes in D. Error: EDT_COMPILER. */
int dtrace_type_strcompile(dtrace_hdl_t* dtp, const char* text,
                           dtrace_typeinfo_t* info);
int dtrace_type_fcompile(dtrace_hdl_t* dtp, FILE* file, dtrace_typeinfo_t* info);

enum {
    DTRACE_TYPE_VOID,
    DTRACE_TYPE_INTEGER, /* also characters and booleans */
    DTRACE_TYPE_FLOAT,
    DTRACE_TYPE_POINTER,
    DTRACE_TYPE_ARRAY,
    DTRACE_TYPE_FUNCTION,
    DTRACE_TYPE_STRUCT,
    DTRACE_TYPE_UNION,
    DTRACE_TYPE_ENUM,
    DTRACE_TYPE_TYPEDEF, /* also const and volatile */
    DTRACE_TYPE_STRING,  /* D's string */
    /* a type declared without a body, or D's type of a stack or symbol */
    DTRACE_TYPE_OTHER
};
typedef struct dtrace_typedesc {
    int dtty_kind;
    const char* dtty_name; /* as in messages: "struct foo *" */
    uint64_t dtty_size;    /* bytes */
    int dtty_signed;       /* for an integer */
    /*
     * The element type of a pointer or array, the type that a typedef names, or the
     * result type of a function. Null for other types.
     */
    const dtrace_type_t* dtty_base;
    uint64_t dtty_count; /* for an array: the number of elements */
} dtrace_typedesc_t;
int dtrace_type_info(dtrace_hdl_t* dtp, const dtrace_type_t* type,
                     dtrace_typedesc_t* desc);
typedef struct dtrace_memberdesc {
    const char* dtmb_name;          /* "" if it has no name */
    const dtrace_type_t* dtmb_type; /* null for an enumerator */
    uint64_t dtmb_offset;           /* bits, from the start */
    uint32_t dtmb_bits;             /* width of a bit-field, else 0 */
    int64_t dtmb_value;             /* for an enumerator */
} dtrace_memberdesc_t;
typedef int dtrace_member_f(dtrace_hdl_t*, const dtrace_memberdesc_t*, void*);
/*
 * Visits the members of a struct or union, the enumerators of an enumeration, or the
 * parameters of a function. Follows typedefs. A non-zero result of func ends the
 * iteration and is returned.
 */
int dtrace_type_member_iter(dtrace_hdl_t* dtp, const dtrace_type_t* type,
                            dtrace_member_f* func, void* arg);

#ifdef __cplusplus
}
#endif

#endif
