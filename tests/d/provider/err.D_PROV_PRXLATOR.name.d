/* The name of a translated argument must be the name of a native argument of the probe. */
provider web { probe go(int a, int b) : (int b, int c); };
BEGIN { exit(0); }
