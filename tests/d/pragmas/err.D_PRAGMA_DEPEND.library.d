/* A program depends on libraries that are there. */
#pragma D depends_on library nosuch.d
BEGIN { exit(0); }
