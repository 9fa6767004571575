/* A float is not short. */
short float f;
BEGIN { exit(0); }
