/* A pointer to nothing in particular is not subtracted from a number. */
int p;
BEGIN { p = 1; p -= alloca(10); }
