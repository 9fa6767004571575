/* A provider has one probe of a name. */
provider web { probe go(); probe go(); };
BEGIN { exit(0); }
