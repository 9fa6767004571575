/* A word that says whether an integer has a sign stands once. */
unsigned long unsigned i;
BEGIN { exit(0); }
