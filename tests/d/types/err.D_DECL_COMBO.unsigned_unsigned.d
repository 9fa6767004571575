/* signed or unsigned may occur only once in a type. */
unsigned long unsigned i;
BEGIN { exit(0); }
