/*
 * setopt cannot set an option that is fixed during tracing; tracing continues.
 * @flags: -q
 */
BEGIN { setopt("bufsize", "1m"); printf("on\n"); exit(0); }
