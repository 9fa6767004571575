/*
 * A clause that faults prints nothing, and the next clause runs.
 * @flags: -q
 */
BEGIN { printf("lost\n"); x = *(int *)0; }
BEGIN { printf("next\n"); exit(0); }
