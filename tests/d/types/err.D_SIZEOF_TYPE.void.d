/* void has no size. */
BEGIN { exit(sizeof (void)); }
