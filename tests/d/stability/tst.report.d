/*
 * -v reports the stability of the probes and of the names in the statements.
 * @flags: -e -v
 * @stderr
 */
BEGIN { x = 1; self->y = pid; @[execname] = count(); printf("%d", x); }
