/*
 * The environment variable DTRACE_OPT_NAME also sets the option NAME.
 * @env: DTRACE_OPT_QUIET=true
 */
BEGIN { printf("quiet\n"); exit(0); }
