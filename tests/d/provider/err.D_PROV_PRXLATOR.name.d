/* What a probe shows is one of the arguments that the program passes. */
provider web { probe go(int a, int b) : (int b, int c); };
BEGIN { exit(0); }
