/* A type has one sign. */
signed unsigned int i;
BEGIN { exit(0); }
