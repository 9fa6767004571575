/* An option takes a value of its kind. */
#pragma D option bufsize=quick
BEGIN { exit(0); }
