/* The name of a provider must not end in a digit. */
provider web1 { probe go(); };
BEGIN { exit(0); }
