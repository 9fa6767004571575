/* A provider cannot have two probes with the same name. */
provider web { probe go(); probe go(); };
BEGIN { exit(0); }
