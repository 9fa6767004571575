/*
 * Subroutines may be used in predicates.
 * @flags: -q
 */
BEGIN / strstr(probename, "EGI") != NULL && strlen(probeprov) == 6 / { printf("1"); }
BEGIN / substr(probename, 0, 1) == "X" / { printf("2"); }
BEGIN / basename("/a/b") == "b" / { printf("3\n"); exit(0); }
