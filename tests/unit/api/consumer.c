/* SPDX-License-Identifier: MIT */
/*
 * Runs an entire session with only C11, <dtrace.h> and the library. The exit status is
 * 1 if the library reports unexpected values.
 */
#include <dtrace.h>

#include <stdlib.h>
#include <string.h>

static int failures;

static void check(int true_here, const char *what)
{
	if (true_here)
		return;
	fprintf(stderr, "consumer: not so: %s\n", what);
	failures++;
}

static char text[4096];
static int n_probes, n_records, n_ends, n_errors, n_setopts;

static int on_probe(const dtrace_probedata_t *data, void *arg)
{
	check(arg == text, "the probe callback gets its argument");
	check(strcmp(data->dtpda_pdesc->dtpd_provider, "dtrace") == 0 ||
		      strcmp(data->dtpda_pdesc->dtpd_provider, "profile") == 0,
	      "the probe is described");
	n_probes++;
	return DTRACE_CONSUME_THIS;
}

static int on_record(const dtrace_probedata_t *data, const dtrace_recdesc_t *record,
		     void *arg)
{
	(void)data;
	(void)arg;
	if (record == NULL) {
		n_ends++;
		return DTRACE_CONSUME_NEXT;
	}
	n_records++;
	return DTRACE_CONSUME_THIS;
}

static int on_text(const dtrace_bufdata_t *data, void *arg)
{
	(void)arg;
	strncat(text, data->dtbda_buffered, sizeof text - strlen(text) - 1);
	return DTRACE_HANDLE_OK;
}

static int on_error(const dtrace_errdata_t *data, void *arg)
{
	(void)arg;
	check(strstr(data->dteda_msg, "divide-by-zero") != NULL, "the fault has a text");
	n_errors++;
	return DTRACE_HANDLE_OK;
}

static int on_setopt(const dtrace_setoptdata_t *data, void *arg)
{
	(void)arg;
	check(strcmp(data->dtsda_option, "quiet") == 0, "the option is named");
	n_setopts++;
	return DTRACE_HANDLE_OK;
}

static int n_walked;
static dtrace_aggvarid_t sums, maxima;

static int on_aggregation(const dtrace_aggdata_t *data, void *arg)
{
	static const char *const keys[] = {"a", "b"};
	static const int64_t values[] = {1, 5};

	(void)arg;
	if (n_walked < 2) {
		check(strcmp(data->dtada_name, "sums") == 0, "the aggregation's name");
		check(data->dtada_nkeys == 1, "one key");
		check(strcmp(data->dtada_key + data->dtada_keys[0].dtrd_offset,
			     keys[n_walked]) == 0, "keys ascend by value");
		check(data->dtada_value[0] == values[n_walked], "the sum");
	}
	*(n_walked < 2 ? &sums : &maxima) = data->dtada_desc->dtagd_varid;
	n_walked++;
	return DTRACE_AGGWALK_NEXT;
}

/* The columns are the sum, the sum again, and the maximum. Key "b" has no maximum. */
static int on_row(const dtrace_aggdata_t **row, int n, void *arg)
{
	int64_t most = 0;
	int is_a;

	check(n == 4 && row[1]->dtada_desc->dtagd_nrecs == 3, "key and three columns");
	is_a = strcmp(row[0]->dtada_data + row[0]->dtada_desc->dtagd_rec[1].dtrd_offset,
		      "a") == 0;
	memcpy(&most, row[3]->dtada_data + row[3]->dtada_desc->dtagd_rec[2].dtrd_offset,
	       sizeof most);
	check(most == (is_a ? 7 : 0), "a column without the key is zero");
	check(row[2]->dtada_value[0] == (is_a ? 1 : 5), "the sum again");
	check(row[0]->dtada_size >= row[0]->dtada_desc->dtagd_size, "all records are there");
	++*(int *)arg;
	return is_a ? DTRACE_AGGWALK_REMOVE : DTRACE_AGGWALK_NEXT;
}

static int normalize(const dtrace_aggdata_t *data, void *arg)
{
	((dtrace_aggdata_t *)data)->dtada_normal = *(int *)arg;
	return DTRACE_AGGWALK_NORMALIZE;
}

static void walk_rows(dtrace_hdl_t *dtp)
{
	dtrace_aggvarid_t ids[3] = {sums, sums, maxima}, none = 99;
	int n_rows = 0, by = 2, zero = 0;

	check(dtrace_aggregate_walk_joined(dtp, &none, 1, on_row, &n_rows) == -1 &&
		      dtrace_errno(dtp) == EDT_BADAGGVAR, "no such variable");
	check(dtrace_aggregate_walk_joined(dtp, ids, 3, on_row, &n_rows) == 0 &&
		      n_rows == 2, "rows");
	n_walked = 0;
	check(dtrace_aggregate_walk(dtp, normalize, &zero) == -1 &&
		      dtrace_errno(dtp) == EDT_BADRVAL, "normal of zero");
	check(dtrace_aggregate_walk(dtp, normalize, &by) == 0, "normal of two");
}

static int on_listed(dtrace_hdl_t *dtp, const dtrace_probedesc_t *probe, void *arg)
{
	(void)dtp;
	++*(int *)arg;
	return strcmp(probe->dtpd_name, "END") == 0;
}

int main(void)
{
	static const char program[] =
		"BEGIN { i = 0; @sums[\"a\"] = sum(1); @sums[\"b\"] = sum(5); @most[\"a\"] = max(7);"
		" printf(\"hello %d\\n\", 42); setopt(\"quiet\"); }"
		" BEGIN { trace(1 / i); }"
		" tick-1ms { exit(3); }"
		" END { printf(\"bye\\n\"); }";
	int error = 0, n_listed = 0, rounds = 0;
	dtrace_optval_t value = 0;
	dtrace_typeinfo_t type;
	dtrace_typedesc_t pointer;
	dtrace_proginfo_t info;
	dtrace_workstatus_t status = DTRACE_WORKSTATUS_OKAY;
	dtrace_prog_t *prog;
	dtrace_hdl_t *dtp;

	check(dtrace_open(DTRACE_VERSION + 1, 0, &error) == NULL && error == EDT_VERSION,
	      "a newer client is refused");
	check(dtrace_open(DTRACE_VERSION, 0x4000, NULL) == NULL, "unknown flags");
	dtp = dtrace_open(DTRACE_VERSION, 0, &error);
	if (dtp == NULL)
		return fprintf(stderr, "open: %s\n", dtrace_errmsg(NULL, error)), 1;

	check(dtrace_setopt(dtp, "bufsize", "1m") == 0, "setopt");
	check(dtrace_getopt(dtp, "bufsize", &value) == 0 && value == 1 << 20, "getopt");
	check(dtrace_getopt(dtp, "quiet", &value) == 0 && value == DTRACEOPT_UNSET,
	      "an option that is not set");
	check(dtrace_setopt(dtp, "bufsize", "x") == -1 &&
		      dtrace_errno(dtp) == EDT_BADOPTVAL, "a wrong value");
	check(dtrace_setopt(dtp, "nosuch", "1") == -1 &&
		      dtrace_errno(dtp) == EDT_BADOPTNAME, "a wrong name");
	check(_dtrace_debug == 0, "nobody asked for debug messages");
	check(dtrace_type_strcompile(dtp, "short *", &type) == 0 &&
		      dtrace_type_info(dtp, type.dtt_type, &pointer) == 0 &&
		      pointer.dtty_kind == DTRACE_TYPE_POINTER, "a type");
	check(dtrace_lookup_by_name(dtp, DTRACE_OBJ_EXEC, "main", NULL, NULL) == -1 &&
		      dtrace_errno(dtp) == EDT_NOMOD, "no target, no symbols");
	check(dtrace_printf_create(dtp, "%d") != NULL, "a format");
	check(dtrace_work(dtp, stdout, NULL, NULL, NULL) == DTRACE_WORKSTATUS_ERROR,
	      "no work before go");
	check(dtrace_stop(dtp) == 0, "stop before go does nothing");
	check(dtrace_probe_iter(dtp, NULL, on_listed, &n_listed) == 1 && n_listed == 2,
	      "iteration ends when the callback says so");

	check(dtrace_program_strcompile(dtp, "BEGIN { trace(nothing); }",
					DTRACE_PROBESPEC_NAME, 0, 0, NULL) == NULL &&
		      dtrace_errno(dtp) == EDT_COMPILER &&
		      strstr(dtrace_errmsg(dtp, dtrace_errno(dtp)), "nothing") != NULL,
	      "a compile error is told");
	prog = dtrace_program_strcompile(dtp, program, DTRACE_PROBESPEC_NAME, 0, 0, NULL);
	if (prog == NULL)
		return fprintf(stderr, "compile: %s\n",
			       dtrace_errmsg(dtp, dtrace_errno(dtp))), 1;
	check(dtrace_program_exec(dtp, prog, &info) == 0, "exec");
	check(info.dpi_matches == 4 && info.dpi_aggregates == 3, "what was matched");
	check(info.dpi_recgens == 5, "neither assignments nor keys record anything");

	check(dtrace_handle_err(dtp, on_error, NULL) == 0, "error handler");
	check(dtrace_handle_setopt(dtp, on_setopt, NULL) == 0, "setopt handler");
	check(dtrace_handle_buffered(dtp, on_text, NULL) == 0, "buffered handler");
	if (dtrace_go(dtp) != 0)
		return fprintf(stderr, "go: %s\n",
			       dtrace_errmsg(dtp, dtrace_errno(dtp))), 1;
	check(dtrace_go(dtp) == -1 && dtrace_errno(dtp) == EDT_ACTIVE, "go twice");
	check(dtrace_program_exec(dtp, prog, NULL) == -1, "no exec after go");
	check(dtrace_setopt(dtp, "bufsize", "2m") == -1 &&
		      dtrace_errno(dtp) == EDT_ACTIVE, "sizes are fixed now");
	while (status == DTRACE_WORKSTATUS_OKAY && ++rounds < 1000) {
		dtrace_sleep(dtp);
		status = dtrace_work(dtp, NULL, on_probe, on_record, text);
	}
	check(status == DTRACE_WORKSTATUS_DONE, "exit() ends the work");
	check(dtrace_stop(dtp) == 0, "stop twice");
	check(dtrace_exit_status(dtp) == 3, "exit status");
	check(dtrace_status(dtp) == DTRACE_STATUS_STOPPED, "status");
	check(strstr(text, "hello 42\n") != NULL && strstr(text, "bye\n") != NULL, text);
	check(n_probes >= 3 && n_ends == n_probes, "each probe has its end");
	check(n_records >= 3, "records");
	check(n_errors == 1 && n_setopts == 1, "handlers are called once each");

	check(dtrace_aggregate_snap(dtp) == 0, "snapshot");
	check(dtrace_aggregate_walk_valsorted(dtp, on_aggregation, NULL) == 0 &&
		      n_walked == 3, "walk");
	walk_rows(dtp);
	text[0] = '\0';
	check(dtrace_aggregate_print(dtp, NULL, NULL) == 0 &&
		      strstr(text, "  2\n") != NULL && strstr(text, " a ") == NULL,
	      "what is left goes to the handler, normalized");
	dtrace_close(dtp);
	if (failures == 0)
		printf("%s: all as it must be\n", _dtrace_version);
	return failures != 0;
}
