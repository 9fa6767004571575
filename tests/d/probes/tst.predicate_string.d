/*
 * A predicate may compare strings.
 * @flags: -q
 */
BEGIN / probename == "END" / { printf("never\n"); }
BEGIN / probename == "BEGIN" && probeprov == "dtrace" / { printf("here\n"); exit(0); }
