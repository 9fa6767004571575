/*
 * The predicate of a clause applies to all branches in it.
 * @flags: -q
 */
BEGIN / 0 / { if (1) { printf("never\n"); } else { printf("never\n"); } }
BEGIN / 1 / { if (1) { printf("here\n"); } exit(0); }
