/* A program may depend only on libraries that exist. */
#pragma D depends_on library nosuch.d
BEGIN { exit(0); }
