/* A void pointer cannot be subtracted from a number. */
int p;
BEGIN { p = 1; p -= alloca(10); }
