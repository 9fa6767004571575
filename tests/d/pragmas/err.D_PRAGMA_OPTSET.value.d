/* An option refuses a value of another kind. */
#pragma D option bufsize=quick
BEGIN { exit(0); }
