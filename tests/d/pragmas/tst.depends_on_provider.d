/*
 * A program may depend on a provider that exists.
 * @flags: -q
 */
#pragma D depends_on provider dtrace
BEGIN { printf("on\n"); exit(0); }
