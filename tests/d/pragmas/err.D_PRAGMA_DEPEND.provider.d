/* A program depends on providers that are there. */
#pragma D depends_on provider nosuch
BEGIN { exit(0); }
