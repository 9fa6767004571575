/*
 * -v tells how stable the probes are and what the statements name.
 * @flags: -e -v
 * @stderr
 */
BEGIN { x = 1; self->y = pid; @[execname] = count(); printf("%d", x); }
