/* SPDX-License-Identifier: MIT */
/*
 * mallocstat reports which functions call malloc() in a command, how many times, and
 * for how many bytes.
 *
 *   mallocstat [-x opt[=val]]... [-n program]... command [arg]...
 *   mallocstat [-x opt[=val]]... [-n program]... -p pid
 *
 * It also enables the programs given with -n, and prints "| " before each line of their
 * output. A test compares the output of mallocstat, so mallocstat prints a line for
 * everything that the library reports. The file uses only the installed library, and is
 * valid C11 and C++.
 */
#include <dtrace.h>

#include <dtrace/actions.h>
#include <dtrace/faults.h>

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static const char counting[] =
	"pid$target:libc.so.6:malloc:entry"
	"{ @calls[ustack(3)] = count(); @bytes[ustack(3)] = sum(arg0);"
	"  @sizes = quantize(arg0); @mean = avg(arg0); }"
	"pid$target:libc.so.6:malloc:entry /arg0 >= 1000 && !large++/"
	"{ trace(arg0); ustack(3); }";

struct stat {
	dtrace_hdl_t *dtp;
	struct ps_prochandle *proc;
	pid_t pid;
	int ended;
	dtrace_aggvarid_t calls, bytes; /* 0 if no call was counted */
	long n_calls;
	int at_line_start; /* nonzero if the output of the -n programs is at a line start */
};

static volatile sig_atomic_t interrupted;
static dtrace_hdl_t *awake;

static void on_signal(int number)
{
	(void)number;
	interrupted = 1;
	dtrace_wakeup(awake);
}

static void die(struct stat *s, const char *doing)
{
	fprintf(stderr, "mallocstat: %s: %s\n", doing,
		dtrace_errmsg(s->dtp, dtrace_errno(s->dtp)));
	dtrace_close(s->dtp);
	exit(1);
}

/* Prints a program counter without its offset, which depends on the compiler. */
static void print_frame(struct stat *s, uint64_t pc)
{
	char name[256];

	dtrace_uaddr2str(s->dtp, s->pid, pc, name, sizeof name);
	name[strcspn(name, "+")] = '\0';
	printf(" %s", name);
}

/* Prints a record of ustack(). Prints the pid only if it is not the command's pid. */
static void print_stack(struct stat *s, const char *data, const dtrace_recdesc_t *rec)
{
	uint64_t words[1 + 64] = {0};
	size_t n = rec->dtrd_size / sizeof words[0];

	if (rec->dtrd_action != DTRACEACT_USTACK || n > sizeof words / sizeof words[0])
		die(s, "read a stack");
	memcpy(words, data + rec->dtrd_offset, rec->dtrd_size);
	if ((pid_t)words[0] != s->pid)
		printf(" of pid %d", (int)words[0]);
	for (size_t i = 1; i < n && i <= DTRACE_USTACK_NFRAMES(rec->dtrd_arg); i++)
		if (words[i] != 0)
			print_frame(s, words[i]);
}

/* --- handlers and callbacks, called while the command is traced --- */

static void on_started(dtrace_hdl_t *dtp, struct ps_prochandle *proc, void *arg)
{
	struct stat *s = (struct stat *)arg;

	s->pid = dtrace_proc_getpid(dtp, proc);
	printf("started\n");
}

static int on_error(const dtrace_errdata_t *data, void *arg)
{
	(void)arg;
	printf("error in %s: %s%s\n", data->dteda_pdesc->dtpd_name,
	       dtrace_faultstr(data->dteda_handle, data->dteda_fault),
	       data->dteda_fault == DTRACEFLT_DIVZERO ? ", of course" : "");
	return DTRACE_HANDLE_OK;
}

static int on_drop(const dtrace_dropdata_t *data, void *arg)
{
	(void)arg;
	printf("drop of kind %s: %llu\n",
	       data->dtdda_kind == DTRACEDROP_SPECUNAVAIL ? "SPECUNAVAIL" : "another",
	       (unsigned long long)data->dtdda_drops);
	return DTRACE_HANDLE_OK;
}

static void on_process(struct ps_prochandle *proc, const char *message, void *arg)
{
	struct stat *s = (struct stat *)arg;

	if (message != NULL)
		printf("told: %s\n", message);
	else if (proc == s->proc)
		s->ended = 1;
}

static void print_end(struct stat *s)
{
	int status = s->ended ? dtrace_proc_status(s->dtp, s->proc) : -1;

	if (!s->ended)
		printf("interrupted\n");
	else if (status != -1 && WIFEXITED(status))
		printf("ended with status %d\n", WEXITSTATUS(status));
	else
		printf("ended otherwise\n");
}

static void put_text(struct stat *s, const char *text)
{
	for (; *text != '\0'; text++) {
		if (s->at_line_start && *text != '\n')
			printf("| ");
		putchar(*text);
		s->at_line_start = *text == '\n';
	}
}

static int on_text(const dtrace_bufdata_t *data, void *arg)
{
	struct stat *s = (struct stat *)arg;

	if (data->dtbda_aggdata != NULL && (data->dtbda_flags & DTRACE_BUFDATA_AGGVAL)) {
		put_text(s, "@");
		put_text(s, data->dtbda_aggdata->dtada_desc->dtagd_name);
	}
	put_text(s, data->dtbda_buffered);
	return DTRACE_HANDLE_OK;
}

static int on_setopt(const dtrace_setoptdata_t *data, void *arg)
{
	(void)arg;
	printf("option %s: %lld, was %s\n", data->dtsda_option,
	       (long long)data->dtsda_newval,
	       data->dtsda_oldval == DTRACEOPT_UNSET ? "unset" : "set");
	return DTRACE_HANDLE_OK;
}

static int on_probe(const dtrace_probedata_t *data, void *arg)
{
	(void)arg;
	if (strcmp(data->dtpda_pdesc->dtpd_func, "malloc") == 0)
		printf("first large block, of %s:%s:%s, %d records:",
		       data->dtpda_pdesc->dtpd_mod, data->dtpda_pdesc->dtpd_func,
		       data->dtpda_pdesc->dtpd_name, data->dtpda_edesc->dtepd_nrecs);
	return DTRACE_CONSUME_THIS;
}

static int on_record(const dtrace_probedata_t *data, const dtrace_recdesc_t *rec,
		     void *arg)
{
	struct stat *s = (struct stat *)arg;
	int64_t bytes = 0;

	if (strcmp(data->dtpda_pdesc->dtpd_func, "malloc") != 0)
		return rec == NULL ? DTRACE_CONSUME_NEXT : DTRACE_CONSUME_THIS;
	if (rec == NULL) {
		printf("\n");
	} else if (rec->dtrd_action == DTRACEACT_DIFEXPR) {
		memcpy(&bytes, data->dtpda_data + rec->dtrd_offset, sizeof bytes);
		printf(" %lld bytes from", (long long)bytes);
	} else {
		print_stack(s, data->dtpda_data, rec);
	}
	return DTRACE_CONSUME_NEXT;
}

/* --- aggregations --- */

/* Returns the description of the value, which follows the descriptions of the keys. */
static const dtrace_recdesc_t *value_of(const dtrace_aggdata_t *data)
{
	return &data->dtada_desc->dtagd_rec[data->dtada_desc->dtagd_nrecs - 1];
}

static int64_t word_of(const dtrace_aggdata_t *data, int n)
{
	int64_t word;

	memcpy(&word, data->dtada_data + value_of(data)->dtrd_offset + 8 * n, sizeof word);
	return word;
}

static int find_ids(const dtrace_aggdata_t *data, void *arg)
{
	struct stat *s = (struct stat *)arg;
	const dtrace_aggdesc_t *desc = data->dtada_desc;

	if (strcmp(desc->dtagd_name, "calls") == 0) {
		s->calls = desc->dtagd_varid;
		s->n_calls += (long)word_of(data, 0);
	} else if (strcmp(desc->dtagd_name, "bytes") == 0) {
		s->bytes = desc->dtagd_varid;
	}
	return DTRACE_AGGWALK_NEXT;
}

static int print_caller(const dtrace_aggdata_t **data, int n, void *arg)
{
	struct stat *s = (struct stat *)arg;

	if (n != 3 || data[0]->dtada_desc->dtagd_nrecs != 3)
		return DTRACE_AGGWALK_ERROR;
	printf("%8lld %8lld", (long long)word_of(data[1], 0), (long long)word_of(data[2], 0));
	print_stack(s, data[0]->dtada_data, &data[0]->dtada_desc->dtagd_rec[1]);
	printf("\n");
	return DTRACE_AGGWALK_NEXT;
}

static int print_sizes(const dtrace_aggdata_t *data, void *arg)
{
	(void)arg;
	if (value_of(data)->dtrd_action != DTRACEAGG_QUANTIZE)
		return DTRACE_AGGWALK_NEXT;
	for (int i = DTRACE_QUANTIZE_ZEROBUCKET + 1; i < DTRACE_QUANTIZE_NBUCKETS; i++)
		if (word_of(data, i) != 0)
			printf("%8lld from %lld bytes\n", (long long)word_of(data, i),
			       1LL << (i - DTRACE_QUANTIZE_ZEROBUCKET - 1));
	return DTRACE_AGGWALK_NEXT;
}

/* Removes the entries that were already printed, and normalizes averages by 2. */
static int keep_mean(const dtrace_aggdata_t *data, void *arg)
{
	const char *name = data->dtada_name;

	(void)arg;
	if (value_of(data)->dtrd_action == DTRACEAGG_AVG) {
		((dtrace_aggdata_t *)data)->dtada_normal = 2;
		return DTRACE_AGGWALK_NORMALIZE;
	}
	return strcmp(name, "calls") == 0 || strcmp(name, "bytes") == 0 ||
			       strcmp(name, "sizes") == 0
		       ? DTRACE_AGGWALK_REMOVE
		       : DTRACE_AGGWALK_NEXT;
}

static int print_name(const dtrace_aggdata_t *data, void *arg)
{
	(void)arg;
	printf(" %s", data->dtada_name);
	return DTRACE_AGGWALK_NEXT;
}

static int refuse(const dtrace_aggdata_t *data, void *arg)
{
	(void)data;
	return *(int *)arg;
}

struct order {
	const char *name;
	dtrace_aggregate_walk_f *walk;
};

static void print_orders(struct stat *s)
{
	static const struct order orders[] = {
		{"keysorted", dtrace_aggregate_walk_keysorted},
		{"keyrevsorted", dtrace_aggregate_walk_keyrevsorted},
		{"valsorted", dtrace_aggregate_walk_valsorted},
		{"valrevsorted", dtrace_aggregate_walk_valrevsorted},
		{"keyvarsorted", dtrace_aggregate_walk_keyvarsorted},
		{"keyvarrevsorted", dtrace_aggregate_walk_keyvarrevsorted},
		{"valvarsorted", dtrace_aggregate_walk_valvarsorted},
		{"valvarrevsorted", dtrace_aggregate_walk_valvarrevsorted},
		{"sorted", dtrace_aggregate_walk_sorted},
	};

	for (size_t i = 0; i < sizeof orders / sizeof orders[0]; i++) {
		printf("%s:", orders[i].name);
		if (orders[i].walk(s->dtp, print_name, NULL) != 0)
			die(s, orders[i].name);
		printf("\n");
	}
}

static void print_all(struct stat *s)
{
	dtrace_aggvarid_t ids[2];
	int verdict = DTRACE_AGGWALK_ABORT;

	if (dtrace_aggregate_snap(s->dtp) != 0 ||
	    dtrace_aggregate_walk(s->dtp, find_ids, s) != 0)
		die(s, "look at aggregations");
	ids[0] = s->calls;
	ids[1] = s->bytes;
	printf("%8s %8s callers\n", "calls", "bytes");
	if (s->calls != 0 && dtrace_aggregate_walk_joined(s->dtp, ids, 2, print_caller, s) != 0)
		die(s, "walk over callers");
	printf("%8ld in all\n", s->n_calls);
	if (dtrace_aggregate_walk_valrevsorted(s->dtp, print_sizes, NULL) != 0 ||
	    dtrace_aggregate_walk(s->dtp, keep_mean, NULL) != 0)
		die(s, "walk over sizes");
	print_orders(s);
	if (dtrace_aggregate_print(s->dtp, NULL, NULL) != 0)
		die(s, "print aggregations");
	if (dtrace_aggregate_walk(s->dtp, refuse, &verdict) == 0)
		printf("no walk was ended\n");
	else
		printf("ended walk: %s\n", dtrace_errmsg(s->dtp, dtrace_errno(s->dtp)));
	verdict = 99;
	if (dtrace_aggregate_walk(s->dtp, refuse, &verdict) != 0)
		printf("wrong verdict: %s\n", dtrace_errmsg(s->dtp, dtrace_errno(s->dtp)));
}

/* --- the session --- */

static void set_option(struct stat *s, char *text)
{
	char *equals = strchr(text, '=');

	if (equals != NULL)
		*equals++ = '\0';
	if (dtrace_setopt(s->dtp, text, equals) != 0)
		die(s, text);
}

static void enable(struct stat *s, const char *program)
{
	dtrace_proginfo_t info;
	dtrace_prog_t *prog = dtrace_program_strcompile(s->dtp, program, DTRACE_PROBESPEC_NAME,
							0, 0, NULL);

	if (prog == NULL)
		die(s, "compile");
	if (dtrace_program_exec(s->dtp, prog, &info) != 0)
		die(s, "enable");
	printf("%u probes, %u aggregations, %u recording\n", info.dpi_matches,
	       info.dpi_aggregates, info.dpi_recgens);
}

static void handle_all(struct stat *s)
{
	if (dtrace_handle_err(s->dtp, on_error, s) != 0 ||
	    dtrace_handle_drop(s->dtp, on_drop, s) != 0 ||
	    dtrace_handle_proc(s->dtp, on_process, s) != 0 ||
	    dtrace_handle_buffered(s->dtp, on_text, s) != 0 ||
	    dtrace_handle_setopt(s->dtp, on_setopt, s) != 0)
		die(s, "set handlers");
}

static void run(struct stat *s)
{
	dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;

	if (dtrace_go(s->dtp) != 0)
		die(s, "enable tracing");
	dtrace_proc_continue(s->dtp, s->proc);
	while (status == DTRACE_WORKSTATUS_OKAY) {
		if (!interrupted && !s->ended)
			dtrace_sleep(s->dtp);
		if ((interrupted || s->ended) && dtrace_stop(s->dtp) != 0)
			die(s, "stop");
		status = dtrace_work(s->dtp, NULL, on_probe, on_record, s);
		if (status == DTRACE_WORKSTATUS_ERROR)
			die(s, "consume");
	}
}

int main(int argc, char **argv)
{
	struct stat s = {NULL, NULL, 0, 0, 0, 0, 0, 1};
	const char *programs[8];
	int error = 0, n_programs = 0, i = 1;

	programs[n_programs++] = counting;
	s.dtp = dtrace_open(DTRACE_VERSION, 0, &error);
	if (s.dtp == NULL) {
		fprintf(stderr, "mallocstat: %s\n", dtrace_errmsg(NULL, error));
		return 1;
	}
	awake = s.dtp;
	signal(SIGINT, on_signal);
	for (; i + 1 < argc && argv[i][0] == '-'; i += 2) {
		if (strcmp(argv[i], "-x") == 0) {
			set_option(&s, argv[i + 1]);
		} else if (strcmp(argv[i], "-n") == 0 && n_programs < 8) {
			programs[n_programs++] = argv[i + 1];
		} else if (strcmp(argv[i], "-p") == 0) {
			s.pid = (pid_t)atol(argv[i + 1]);
			s.proc = dtrace_proc_grab(s.dtp, s.pid, 0);
			if (s.proc == NULL)
				die(&s, "grab");
		}
	}
	handle_all(&s);
	if (s.proc == NULL && i < argc)
		s.proc = dtrace_proc_create(s.dtp, argv[i], argv + i, on_started, &s);
	if (s.proc == NULL)
		die(&s, "start a command");
	for (int p = 0; p < n_programs; p++)
		enable(&s, programs[p]);
	run(&s);
	print_end(&s);
	print_all(&s);
	dtrace_proc_release(s.dtp, s.proc);
	dtrace_close(s.dtp);
	return 0;
}
