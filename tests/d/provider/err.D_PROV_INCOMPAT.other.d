/* A provider that is defined again must have the same probes. */
provider web { probe go(int); };
provider web { probe go(char *); };
BEGIN { exit(0); }
