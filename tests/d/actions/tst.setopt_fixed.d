/*
 * setopt cannot change an option that is fixed during tracing, but tracing continues.
 * @flags: -q
 */
BEGIN { setopt("bufsize", "1m"); printf("on\n"); exit(0); }
