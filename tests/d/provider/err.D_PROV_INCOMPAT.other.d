/* A second definition of a provider must have the same probes. */
provider web { probe go(int); };
provider web { probe go(char *); };
BEGIN { exit(0); }
