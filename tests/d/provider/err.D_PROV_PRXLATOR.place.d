/* A probe shows no more arguments without names than the program passes. */
provider web { probe go(int) : (int, int); };
BEGIN { exit(0); }
