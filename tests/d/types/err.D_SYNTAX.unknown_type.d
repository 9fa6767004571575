/* An unknown type name after self is a syntax error. */
self nosuch_t *p;
BEGIN { exit(0); }
