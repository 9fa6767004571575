/* A declaration cannot contain short twice. */
short short int i;
BEGIN { exit(0); }
