/* void cannot be unsigned. */
unsigned void *p;
BEGIN { exit(0); }
