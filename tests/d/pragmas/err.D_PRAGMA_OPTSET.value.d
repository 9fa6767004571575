/* A size option refuses a value that is not a size. */
#pragma D option bufsize=quick
BEGIN { exit(0); }
