/*
 * sym, func and mod print an address as a number if it is not in the kernel.
 * @flags: -q
 */
BEGIN { sym(16); printf("|\n"); func(16); printf("|\n"); mod(16); printf("|\n"); exit(0); }
