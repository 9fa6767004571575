/*
 * execargs is the command line of the process.
 * @flags: -q
 */
BEGIN { printf("%d\n", strstr(execargs, "dtrace") != NULL); exit(0); }
