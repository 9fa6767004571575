/*
 * A D program may declare a provider and its probes.
 * @flags: -q
 */
provider web { probe go__now(int, char *); probe stop(); probe query-return(int); };
BEGIN { printf("on\n"); exit(0); }
