/*
 * An option comes from DTRACE_OPT_NAME, too.
 * @env: DTRACE_OPT_QUIET=true
 */
BEGIN { printf("quiet\n"); exit(0); }
