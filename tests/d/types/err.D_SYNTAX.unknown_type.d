/* After self, an unknown type name is a syntax error, not the name of an int variable. */
self nosuch_t *p;
BEGIN { exit(0); }
