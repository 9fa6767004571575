/*
 * cpu is a number from zero up, and the same in one clause.
 * @flags: -q
 */
BEGIN { printf("%d %d\n", cpu >= 0, cpu == cpu); exit(0); }
