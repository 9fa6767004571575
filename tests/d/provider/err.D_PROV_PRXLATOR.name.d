/* A probe's argument must be mapped from an argument that the program passes. */
provider web { probe go(int a, int b) : (int b, int c); };
BEGIN { exit(0); }
