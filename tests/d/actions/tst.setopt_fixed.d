/*
 * If setopt names an option that cannot change during tracing, tracing continues.
 * @flags: -q
 */
BEGIN { setopt("bufsize", "1m"); printf("on\n"); exit(0); }
