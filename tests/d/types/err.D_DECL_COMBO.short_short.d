/* A word that says how wide an integer is stands once. */
short short int i;
BEGIN { exit(0); }
