/* A name that is no type's does not make the next one an integer. */
self nosuch_t *p;
BEGIN { exit(0); }
