/*
 * sym, func and mod print an address that is not in the kernel as a number.
 * @flags: -q
 */
BEGIN { sym(16); printf("|\n"); func(16); printf("|\n"); mod(16); printf("|\n"); exit(0); }
