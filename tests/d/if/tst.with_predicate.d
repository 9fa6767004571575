/*
 * The predicate of the clause holds for all of it.
 * @flags: -q
 */
BEGIN / 0 / { if (1) { printf("never\n"); } else { printf("never\n"); } }
BEGIN / 1 / { if (1) { printf("here\n"); } exit(0); }
