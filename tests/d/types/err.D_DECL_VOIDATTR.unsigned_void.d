/* void is not unsigned. */
unsigned void *p;
BEGIN { exit(0); }
