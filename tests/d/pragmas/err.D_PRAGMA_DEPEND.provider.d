/* A program may depend only on providers that exist. */
#pragma D depends_on provider nosuch
BEGIN { exit(0); }
