/*
 * An option that is fixed while tracing cannot be set, and tracing continues.
 * @flags: -q
 */
BEGIN { setopt("bufsize", "1m"); printf("on\n"); exit(0); }
