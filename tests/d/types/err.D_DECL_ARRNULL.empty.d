/* An array that is declared says how many elements it has. */
int a[];
BEGIN { exit(0); }
