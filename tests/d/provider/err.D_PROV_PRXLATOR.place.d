/* A probe cannot have more unnamed translated arguments than native arguments. */
provider web { probe go(int) : (int, int); };
BEGIN { exit(0); }
